package gamer.models

import gamer.bundle.Language
import gamer.bundle.Prefix
import gamer.common.RuntimeFailure

/**
 * A request: the prompt's [ids], preceded by the [soft] prompts if given ([P][H], row by row). At most
 * [maxNew] tokens are generated; a stop string ends the generation and is cut off. [constraint]: the grammar
 * of the text, or null. [prefix]: used if the ids begin with its ids and there are no soft prompts.
 * [cancelled]: called before each token.
 */
class Generate(
    val ids: IntArray,
    val maxNew: Int,
    val stop: List<String> = emptyList(),
    val soft: FloatArray? = null,
    val constraint: Constraint? = null,
    val prefix: Prefix? = null,
    val cancelled: () -> Boolean = { false },
)

/**
 * The result of a generation: token [ids] without the end token, their [text] up to a stop string, why it
 * [ended] (end, stop, length, full, cancelled, grammar), and times in ns. [computed]: the prompt positions
 * that were computed rather than taken from a prefix.
 */
class Generated(
    val ids: IntArray,
    val text: String,
    val ended: String,
    val promptTokens: Int,
    val computed: Int,
    val firstNs: Long,
    val decodeNs: Long,
)

/**
 * Token table and decoder together: greedy decoding of a prompt. There is one cache, so only one generation
 * may run at a time.
 */
class LanguageModel(private val table: Session, private val decoder: BoundDecoder, private val language: Language, private val decode: (IntArray) -> String) {
    private val one: Boolean = table.artifact.inputs[0].shape[0] == 1

    /** Ids → embeddings [S][H], row by row. */
    fun embed(ids: IntArray): FloatArray {
        if (one && ids.size > 1) return ids.map { embed(intArrayOf(it)) }.fold(FloatArray(0)) { a, b -> a + b }
        return rows(table, LongArray(ids.size) { ids[it].toLong() })
    }

    /** Runs a request to its end. [told]: called with each token's id when it is generated. */
    fun generate(request: Generate, told: (Int) -> Unit = {}): Generated {
        val begin = System.nanoTime()
        if (request.ids.isEmpty() && request.soft == null) throw RuntimeFailure("nothing to go on from: the prompt is empty")
        decoder.reset()
        val known = restored(request)
        val rest = request.ids.copyOfRange(known, request.ids.size)
        val prompt = (request.soft ?: FloatArray(0)) + if (rest.isEmpty()) FloatArray(0) else embed(rest)
        var logits = decoder.forward(prompt)
        val computed = prompt.size / language.hidden
        val said = ArrayList<Int>()
        var text = ""
        var ended = ""
        var first = 0L
        while (ended.isEmpty() && said.size < request.maxNew) {
            if (request.cancelled()) {
                ended = "cancelled"
                break
            }
            if (said.isNotEmpty()) {
                if (decoder.past >= language.maxSeq) {
                    ended = "full"
                    break
                }
                logits = decoder.forward(embed(intArrayOf(said.last())))
            }
            val token = choose(request.constraint, logits)
            if (first == 0L) first = System.nanoTime()
            if (token == null || token in language.eosIds) {
                ended = if (token == null) "grammar" else "end"
                break
            }
            said.add(token)
            told(token)
            text = decode(said.toIntArray())
            val at = request.stop.map { text.indexOf(it) }.filter { it >= 0 }.minOrNull()
            if (at != null) {
                text = text.substring(0, at)
                ended = "stop"
            }
        }
        val done = System.nanoTime()
        if (first == 0L) first = done
        return Generated(said.toIntArray(), text, ended.ifEmpty { "length" }, known + computed, computed, first - begin, done - first)
    }

    /**
     * Restores the prefix's cache and returns its number of tokens; 0 if it cannot be used. At least one
     * position of the prompt is always computed, because the answer begins from its logits.
     */
    private fun restored(request: Generate): Int {
        val prefix = request.prefix ?: return 0
        val size = prefix.ids.size
        if (request.soft != null || size >= request.ids.size || !request.ids.copyOf(size).contentEquals(prefix.ids)) return 0
        decoder.restore(prefix.cache)
        return size
    }

    /** The likeliest token allowed, or null if the grammar is complete and allows no more. */
    private fun choose(constraint: Constraint?, logits: FloatArray): Int? {
        if (constraint == null) return logits.indices.maxByOrNull { logits[it] }
        val allowed = constraint.allowed()
        val choices = if (constraint.isComplete && allowed.isNotEmpty()) allowed + language.eosIds else allowed
        val token = choices.maxByOrNull { logits[it] } ?: return null
        if (token !in language.eosIds) constraint.advance(token)
        return token
    }

    companion object {
        /** The rows of the token table for these ids, [S][H], row by row. */
        internal fun rows(table: Session, ids: LongArray): FloatArray =
            table.run(mapOf("ids" to Tensor.longs(ids, ids.size.toLong()))).getValue("embeds").toFloats()
    }
}
