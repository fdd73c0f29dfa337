package gamer.models

import gamer.bundle.Language
import gamer.bundle.Prefix
import gamer.common.RuntimeFailure

/**
 * What to generate: prompt [ids] after [soft] prompts ([P][H] row by row, if any); at most [maxNew] tokens; stop strings end it and are cut off.
 * [constraint]: what may be said at all. [prefix]: used when the ids begin with its ids and no soft prompt stands before them. [cancelled] is
 * asked before each token.
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
 * What was generated: token [ids] without the end token, their [text] up to a stop string, why it [ended] (end, stop, length, full, cancelled,
 * grammar), and times in ns. [computed]: prompt positions that were computed rather than taken from a prefix.
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

/** Token table and decoder together: token ids in, text out, the likeliest token each time. Owns one cache: one generation at a time. */
class LanguageModel(private val table: Session, private val decoder: BoundDecoder, private val language: Language, private val decode: (IntArray) -> String) {
    private val one: Boolean = table.artifact.inputs[0].shape[0] == 1

    /** Ids → [S][H] row by row. */
    fun embed(ids: IntArray): FloatArray {
        if (one && ids.size > 1) return ids.map { embed(intArrayOf(it)) }.fold(FloatArray(0)) { a, b -> a + b }
        return rows(table, LongArray(ids.size) { ids[it].toLong() })
    }

    /** Runs a request to its end; [told] gets each token's id as it comes. */
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

    /** Tokens taken from the prefix. At least one position is always computed: its logits are where the answer begins. */
    private fun restored(request: Generate): Int {
        val prefix = request.prefix ?: return 0
        val size = prefix.ids.size
        if (request.soft != null || size >= request.ids.size || !request.ids.copyOf(size).contentEquals(prefix.ids)) return 0
        decoder.restore(prefix.cache)
        return size
    }

    /** The likeliest token that may come, or null when the grammar is complete and leaves nothing to say. */
    private fun choose(constraint: Constraint?, logits: FloatArray): Int? {
        if (constraint == null) return logits.indices.maxByOrNull { logits[it] }
        val allowed = constraint.allowed()
        val choices = if (constraint.isComplete && allowed.isNotEmpty()) allowed + language.eosIds else allowed
        val token = choices.maxByOrNull { logits[it] } ?: return null
        if (token !in language.eosIds) constraint.advance(token)
        return token
    }

    companion object {
        /** The rows of the token table for these ids, [S][H] row by row. */
        internal fun rows(table: Session, ids: LongArray): FloatArray =
            table.run(mapOf("ids" to Tensor.longs(ids, ids.size.toLong()))).getValue("embeds").toFloats()
    }
}
