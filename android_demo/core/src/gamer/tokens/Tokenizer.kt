package gamer.tokens

import gamer.common.RuntimeFailure
import java.io.File
import org.json.JSONException
import org.json.JSONObject

/** The tokenizer's model: pieces of text → token ids. Implemented by [WordPiece] and [Bpe]. */
interface Model {
    /** Appends the ids of one piece to [out]. */
    fun encode(piece: String, out: IntList)

    fun idOf(token: String): Int?

    fun tokenOf(id: Int): String?

    /** Every token with its id. */
    fun tokens(): Sequence<Pair<String, Int>>
}

/**
 * A tokenizer read from `tokenizer.json` (the format of Hugging Face's tokenizers): text → ids as the models
 * were trained with, and ids → text. Added tokens are cut out first; then each part is normalised and split
 * into pieces, and the model encodes each piece.
 *
 * Not thread-safe: the model has a cache.
 */
class Tokenizer internal constructor(
    private val model: Model,
    private val added: AddedTokens,
    private val normalizer: Normalizer,
    private val splitter: Splitter,
    private val template: Template,
    private val decoder: Decoder,
    private val maxLength: Int?,
) {
    /** Token ids of [text], with the special tokens around it that the file prescribes. */
    fun encode(text: String, special: Boolean = true): IntArray {
        var ids = body(text)
        val around = if (special) template.size else 0
        if (maxLength != null && ids.size + around > maxLength) ids = ids.copyOf(maxOf(0, maxLength - around))
        return if (special) template.apply(ids) else ids
    }

    private fun body(text: String): IntArray {
        val out = IntList()
        for (part in added.cut(text)) {
            if (part.id >= 0) {
                out.add(part.id)
                continue
            }
            for (piece in splitter.split(normalizer.apply(part.text))) model.encode(piece, out)
        }
        return out.toArray()
    }

    /** The text of [ids], without special tokens. Incomplete UTF-8 sequences become U+FFFD. */
    fun decode(ids: IntArray): String =
        decoder.decode(ids.filter { it !in added.special }.mapNotNull { added.contentOf(it) ?: model.tokenOf(it) })

    fun idOf(token: String): Int? = added.idOf(token) ?: model.idOf(token)

    /** Every token with its id, those that were added too. */
    fun tokens(): Sequence<Pair<String, Int>> = model.tokens() + added.tokens()

    companion object {
        fun read(file: File): Tokenizer = parse(file.readText(), file.path)

        /**
         * [json]: the text of a tokenizer.json. Raises [RuntimeFailure], naming the part that is not
         * supported.
         */
        fun parse(json: String, where: String = "tokenizer.json"): Tokenizer =
            try {
                TokenizerJson(JSONObject(json)).tokenizer()
            } catch (error: JSONException) {
                throw RuntimeFailure("$where: not a tokenizer.json (${error.message?.take(80)}): export the bundle again")
            } catch (error: UnknownPart) {
                throw RuntimeFailure("$where: ${error.message}: this program does not know it")
            }
    }
}

/** A part of a tokenizer.json that is not supported. */
internal class UnknownPart(what: String) : RuntimeException(what)
