package gamer.models

import gamer.bundle.Language
import gamer.bundle.Prefix
import gamer.common.RuntimeFailure

/** A place of a cache whose token is not known. */
private const val NO_TOKEN = -1

/** The positions that [BoundDecoder.isAlike] computes at once and apart. */
private const val PROBE = 3

/**
 * Runs the ONNX decoder. The past and present caches of each layer are the same memory, so that no token
 * copies the cache. The binding of the one-token step is created once.
 */
class BoundDecoder(private val session: Session, private val language: Language) : AutoCloseable {
    init {
        if (session.artifact.inputs.any { it.name == "past_key.0" && it.dtype != "float32" }) {
            throw RuntimeFailure("${session.artifact.role}: its cache is not float32, which the app reads: export the bundle with --kv-cache fp32")
        }
    }

    private val slots = language.maxSeq
    private val cache: Map<String, Tensor> = (0 until language.layers).flatMap { listOf("key.$it", "value.$it") }
        .associateWith { Tensor.of(Tensor.Type.FLOAT32, 1, language.kvHeads.toLong(), slots.toLong(), language.headDim.toLong()) }
    private val vocabulary: Int = session.artifact.outputs.first { it.name == "logits" }.shape.last() as Int
    private val lengths = Tensor.of(Tensor.Type.INT32, 1)
    private val total = Tensor.of(Tensor.Type.INT32, 1)
    private val stepLast = Tensor.of(Tensor.Type.INT64, 1) // stays 0, the place of the only token
    private val stepLogits = Tensor.of(Tensor.Type.FLOAT32, 1, 1, vocabulary.toLong())
    private val stepEmbed = Tensor.of(Tensor.Type.FLOAT32, 1, 1, language.hidden.toLong())
    private val stepHidden = Tensor.of(Tensor.Type.FLOAT32, 1, 1, language.hidden.toLong())
    private val step: Binding = bound(stepEmbed, stepLast, stepLogits, stepHidden)

    /** The hidden states of the tokens of the last [forward], [1, S, H]; valid until the next one. */
    var hidden: Tensor = stepHidden
        private set

    /** The token of each used slot of the cache. */
    val held = ArrayList<Int>()

    /** The slots before this one hold the very numbers that a prompt of the same tokens would get, computed at once. */
    val sure: Int get() = if (alike == true) past else together

    /** The number of tokens in the cache. */
    val past: Int get() = held.size

    /**
     * Whether a token gets the very same numbers alone and in one call with others. Measured once, on [PROBE]
     * positions behind those of the cache; false while there is no room for them. A product of one row is often
     * another kernel's than that of several, and adds up in another order.
     */
    val isAlike: Boolean
        get() {
            if (alike == null && past + PROBE < slots) alike = probe()
            return alike == true
        }

    private var alike: Boolean? = null
    private var together = 0

    private fun bound(embeds: Tensor, last: Tensor, logits: Tensor, hidden: Tensor): Binding = session.bind(
        mapOf("embeds" to embeds, "seqlens_k" to lengths, "total_seq_len" to total, "last" to last) + cache.mapKeys { "past_${it.key}" },
        mapOf("logits" to logits, "hidden" to hidden) + cache.mapKeys { "present_${it.key}" },
    )

    /** Forgets the slots from [tokens] on. They need not be cleared: those beyond [past] are never read. */
    fun cut(tokens: Int) {
        held.subList(tokens, past).clear()
        together = minOf(together, tokens)
    }

    /**
     * Replaces the cache by the first [tokens] of a stored one. Raises [RuntimeFailure] if its shape does not
     * fit.
     */
    fun restore(prefix: Prefix, tokens: Int) {
        val (layers, two, heads, stored, size) = prefix.cache.shape.toList()
        if (layers != language.layers || two != 2 || heads != language.kvHeads || size != language.headDim || stored > slots) {
            throw RuntimeFailure("a prefix cache of shape ${prefix.cache.shape.toList()} does not fit the decoder: export the bundle again")
        }
        val from = prefix.cache.bytes.duplicate().order(java.nio.ByteOrder.LITTLE_ENDIAN).asFloatBuffer()
        val block = FloatArray(tokens * size)
        for ((layer, tensor) in cache.values.withIndex()) {
            for (head in 0 until heads) {
                from.position((layer * heads + head) * stored * size)
                from.get(block)
                tensor.floats.let { it.position(head * slots * size).let { _ -> it.put(block) } }
            }
        }
        held.clear()
        prefix.ids.take(tokens).toCollection(held)
        together = tokens
    }

    /**
     * Embeddings [S][H], row by row, for the positions from past on → logits of the [last] last tokens, [V] each;
     * [past] grows by S. [ids]: the tokens, where they are tokens. Raises [RuntimeFailure] if the cache has no
     * room for them.
     */
    fun forward(embeds: FloatArray, ids: List<Int>? = null, last: Int = 1): List<FloatArray> {
        val count = embeds.size / language.hidden
        if (past + count > slots) throw RuntimeFailure("${past + count} tokens do not fit the decoder's $slots cache slots: shorten the prompt")
        lengths.ints.put(0, past + count - 1)
        total.ints.put(0, past + count)
        var logits = stepLogits
        if (count == 1) {
            stepEmbed.floats.put(embeds)
            step.run()
            hidden = stepHidden
        } else {
            logits = Tensor.of(Tensor.Type.FLOAT32, 1, last.toLong(), vocabulary.toLong())
            hidden = Tensor.of(Tensor.Type.FLOAT32, 1, count.toLong(), language.hidden.toLong())
            val places = Tensor.longs(LongArray(last) { (count - last + it).toLong() }, last.toLong())
            bound(Tensor.floats(embeds, 1, count.toLong(), language.hidden.toLong()), places, logits, hidden).use { it.run() }
        }
        if (together == past && count > 1) together += count
        held.addAll(ids ?: List(count) { NO_TOKEN })
        val values = logits.toFloats()
        return List(last) { values.copyOfRange(it * vocabulary, (it + 1) * vocabulary) }
    }

    private fun probe(): Boolean {
        val (begin, before) = past to together
        val rows = FloatArray(PROBE * language.hidden) { kotlin.math.sin(it.toFloat() * it) }
        fun run(from: Int, to: Int) = forward(rows.copyOfRange(from * language.hidden, to * language.hidden), last = to - from).flatMap { it.asList() } to hidden.toFloats().asList()
        val (logits, states) = run(0, PROBE)
        cut(begin)
        val (first, rest) = run(0, 1) to run(1, PROBE)
        cut(begin)
        together = before
        return logits == first.first + rest.first && states == first.second + rest.second
    }

    override fun close() = step.close()
}
