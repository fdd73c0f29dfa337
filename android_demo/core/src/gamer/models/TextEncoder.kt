package gamer.models

import gamer.bundle.TextPrompts
import gamer.common.PyText
import gamer.tokens.Tokenizer
import kotlin.math.max
import kotlin.math.sqrt

/**
 * Text → unit vectors, with the bundle's tokenizer and text tower. Long texts become several chunks. [prompts]:
 * words that the tower gets before a query, and before a memory or a name.
 */
class TextEncoder(private val session: Session, private val tokenizer: Tokenizer, private val prompts: TextPrompts) {
    private val maxTokens: Int = fixed(session) ?: MAX_TOKENS

    /**
     * The vector of a memory or a name: float32 [D] of length 1; the text is cut at the tower's maximum of
     * tokens. One text per run, because int8 activations are scaled per run.
     */
    fun encode(text: String): FloatArray = vector(prompts.memory + text)

    /** The vector of a query; with an [adapter] its v_Q, near to the photos that are meant. */
    fun encodeQuery(query: String, adapter: QueryAdapter? = null): FloatArray = vector(prompts.query + query, adapter)

    /** The tokenizer's tokens with their ids: the commoner, the less. */
    fun vocabulary(): Sequence<Pair<String, Int>> = tokenizer.tokens()

    /** The whole words of the vocabulary in lower case, with their ids. */
    val words: Map<String, Int> by lazy { wholeWords(vocabulary()) }

    private fun vector(text: String, adapter: QueryAdapter? = null): FloatArray =
        embed(session, tokenizer.encode(text).let { if (it.size > maxTokens) it.copyOf(maxTokens) else it }, adapter)

    /** A long text as overlapping windows of words, each of which fits the tower; a short text unchanged. */
    fun chunks(text: String): List<String> {
        val parts = PyText.split(text)
        if (parts.size <= WORDS) return listOf(text)
        return (0 until max(1, parts.size - OVERLAP) step WORDS - OVERLAP).map { parts.subList(it, minOf(it + WORDS, parts.size)).joinToString(" ") }
    }

    companion object {
        private const val MAX_TOKENS = 128
        private const val WORDS = 80
        private const val OVERLAP = 16

        /** The whole words of a tokenizer's tokens in lower case, with their ids: the commoner, the less. */
        fun wholeWords(vocabulary: Sequence<Pair<String, Int>>): Map<String, Int> {
            val ids = HashMap<String, Int>()
            for ((token, id) in vocabulary) {
                val word = token.removeSuffix("</w>").trimStart('\u0120', '\u2581').lowercase()
                if (word.isNotEmpty() && word.all(Char::isLetter) && id < (ids[word] ?: Int.MAX_VALUE)) ids[word] = id
            }
            return ids
        }

        private val nothing = java.util.concurrent.ConcurrentHashMap<List<Int>, Tensor>() // by shape: zeros, which are never written

        private fun fixed(session: Session): Int? = session.artifact.inputs[0].shape[1] as? Int

        /** Token ids → unit vector [D]. For a tower of fixed shape they are padded, and cut at its length. */
        internal fun embed(session: Session, ids: IntArray, adapter: QueryAdapter? = null): FloatArray {
            val width = fixed(session) ?: max(1, ids.size)
            val tokens = LongArray(width) { if (it < ids.size) ids[it].toLong() else 0L }
            val mask = LongArray(width) { if (it < ids.size) 1L else 0L }
            val shape = longArrayOf(1, width.toLong())
            val inputs = mutableMapOf("input_ids" to Tensor.longs(tokens, *shape), "attention_mask" to Tensor.longs(mask, *shape))
            // Zeros read a text as a memory.
            QueryAdapter.shapeOf(session.artifact)?.let { taken ->
                inputs[QueryAdapter.INPUT] = adapter?.values ?: nothing.getOrPut(taken) { Tensor.of(Tensor.Type.FLOAT32, *taken.map(Int::toLong).toLongArray()) }
            }
            val out = session.run(inputs)
            return unit(out.getValue("embedding").toFloats())
        }

        fun unit(vector: FloatArray): FloatArray {
            var sum = 0.0
            for (x in vector) sum += x.toDouble() * x
            val norm = max(sqrt(sum), 1e-12).toFloat()
            return FloatArray(vector.size) { vector[it] / norm }
        }
    }
}
