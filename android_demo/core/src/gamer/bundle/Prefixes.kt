package gamer.bundle

import gamer.common.BundleError
import gamer.common.Patterns
import gamer.common.found
import gamer.tokens.Tokenizer
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.security.MessageDigest

/**
 * The decoder's cache of the token [ids]: float32 [layers, 2 (key, value), KV, P, Dh], computed by the
 * bundle's decoder.
 */
class Prefix(val ids: IntArray, val cache: Npy)

/** A prompt's token ids: [fixed], its fixed beginning, then [rest]. */
class PromptIds(val fixed: IntArray, val rest: IntArray) {
    val all: IntArray get() = fixed + rest
}

/**
 * The shipped prefix cache: the decoder's keys and values for a prompt's fixed beginning, so that a query
 * computes only its own tokens. A cache made from other weights, another prompt or another tokenizer is
 * refused, because it would not be the cache of this prompt.
 */
object Prefixes {
    private val PLACE = Patterns.of("\\{(query|notes)\\}")

    /**
     * A prompt template → (its fixed beginning, the rest from the first placeholder on). Raises [BundleError]
     * for one without {query}.
     */
    fun split(prompt: String): Pair<String, String> {
        val first = PLACE.found(prompt)
        if (first == null || "{query}" !in prompt) throw BundleError("the bundle's prompt '${prompt.take(40)}' has no {query}: export it again")
        return prompt.substring(0, first.start()) to prompt.substring(first.start())
    }

    /**
     * A prompt's token ids. The two parts are always tokenized apart, so a cache changes no token.
     * Placeholders are filled in one pass: the name of one inside a value is not replaced.
     */
    fun encode(tokenizer: Tokenizer, prompt: String, query: String, notes: String = ""): PromptIds {
        val (fixed, rest) = split(prompt)
        val m = PLACE.matcher(rest)
        val filled = StringBuilder()
        var last = 0
        while (m.find()) {
            filled.append(rest, last, m.start()).append(if (m.group(1) == "query") query else notes)
            last = m.end()
        }
        return PromptIds(tokenizer.encode(fixed), tokenizer.encode(filled.append(rest, last, rest.length).toString()))
    }

    /**
     * SHA-256 over all inputs of a cache: the decoder's file, the token table's file, the token ids (int64,
     * little-endian).
     */
    fun madeFrom(manifest: Manifest, target: String, ids: IntArray): String {
        val sha = MessageDigest.getInstance("SHA-256")
        for (role in listOf("llm_decoder", "llm_embed")) sha.update(Hex.bytes(manifest.artifact(role, target).sha256))
        val bytes = ByteBuffer.allocate(8 * ids.size).order(ByteOrder.LITTLE_ENDIAN)
        ids.forEach { bytes.putLong(it.toLong()) }
        sha.update(bytes.array())
        return Hex.of(sha.digest())
    }

    /**
     * The prefix of the prompt called [prompt], whose fixed ids are [ids]; null if the bundle has none for
     * this target. Raises [BundleError].
     */
    fun load(bundle: Bundle, target: String, prompt: String, ids: IntArray): Prefix? {
        val manifest = bundle.manifest
        val entry = manifest.prefixes.firstOrNull { it.prompt == prompt && it.target == target } ?: return null
        val path = bundle.inside(entry.path)
        if (entry.madeFrom != madeFrom(manifest, target, ids)) {
            throw BundleError("$path: made from other weights or another prompt than the bundle's: export the bundle again")
        }
        val cache = Npy.map(bundle.checked(entry))
        val s = manifest.decoder()
        val want = intArrayOf(s.layers, 2, s.kvHeads, ids.size, s.headDim)
        if (cache.dtype != "<f4" || !cache.shape.contentEquals(want)) {
            throw BundleError("$path: ${cache.dtype} ${cache.shape.toList()}, the decoder wants float32 ${want.toList()}: export the bundle again")
        }
        return Prefix(ids, cache)
    }
}
