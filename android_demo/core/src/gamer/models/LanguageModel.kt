package gamer.models

import gamer.bundle.Language
import gamer.bundle.Prefix
import gamer.common.RuntimeFailure

/** The tokens of a prompt that are always computed: a product of one row may add up in another order than one of several. */
private const val LEAST_COMPUTED = 2

/**
 * A request: the prompt's [ids]. At most [maxNew] tokens are generated; a stop string ends the generation and is
 * cut off. [constraint]: the grammar of the text, or null. [prefix]: used as far as the ids begin with its ids.
 * [isPlain]: computes every position of the prompt, and one token a step: the reference for what is faster.
 */
class Generate(
    val ids: IntArray,
    val maxNew: Int,
    val stop: List<String> = emptyList(),
    val constraint: Constraint? = null,
    val prefix: Prefix? = null,
    val isPlain: Boolean = false,
)

/**
 * The result of a generation: token [ids] without the end token, their [text] up to a stop string, why it
 * [ended] (end, stop, length, full, grammar), and times in ns. [computed]: the prompt positions that were not known
 * from an earlier request or a prefix. [drafted]: tokens that were guessed and read ahead; [right]: those of them
 * that were then chosen.
 */
class Generated(
    val ids: IntArray,
    val text: String,
    val ended: String,
    val computed: Int,
    val firstNs: Long,
    val decodeNs: Long,
    val drafted: Int,
    val right: Int,
)

/**
 * Token table and decoder together: greedy decoding of a prompt. There is one cache, so only one generation
 * may run at a time. What the last request computed of a prompt is not computed again, and several tokens may come
 * of one step: neither changes a token.
 */
class LanguageModel(private val table: Session, private val decoder: BoundDecoder, private val language: Language, private val decode: (IntArray) -> String) {
    private val one: Boolean = table.artifact.inputs[0].shape[0] == 1

    /** Ids → embeddings [S][H], row by row. */
    fun embed(ids: IntArray): FloatArray {
        if (one && ids.size > 1) return ids.map { embed(intArrayOf(it)) }.fold(FloatArray(0)) { a, b -> a + b }
        return rows(table, LongArray(ids.size) { ids[it].toLong() })
    }

    /** Forgets what earlier requests computed. */
    fun forget() = decoder.cut(0)

    /** Runs a request to its end. */
    fun generate(request: Generate): Generated {
        val begin = System.nanoTime()
        if (request.ids.isEmpty()) throw RuntimeFailure("nothing to go on from: the prompt is empty")
        val known = known(request)
        val rest = request.ids.drop(known)
        val logits = decoder.forward(embed(rest.toIntArray()), rest).single()
        val ahead = Ahead(decoder, language.maxSeq, ::embed, logits, if (request.isPlain) null else Drafts(request.ids.asList()))
        val said = ArrayList<Int>()
        var text = ""
        var ended = ""
        var first = 0L
        while (ended.isEmpty() && said.size < request.maxNew) {
            if (!ahead.hasRoom(said.size)) {
                ended = "full"
                break
            }
            val token = choose(request, ahead, said)
            if (first == 0L) first = System.nanoTime()
            if (token == null || token in language.eosIds) {
                ended = if (token == null) "grammar" else "end"
                break
            }
            request.constraint?.advance(token)
            said.add(token)
            text = decode(said.toIntArray())
            val at = request.stop.map { text.indexOf(it) }.filter { it >= 0 }.minOrNull()
            if (at != null) {
                text = text.substring(0, at)
                ended = "stop"
            }
        }
        ahead.end(said)
        val done = System.nanoTime()
        if (first == 0L) first = done
        return Generated(said.toIntArray(), text, ended.ifEmpty { "length" }, rest.size, first - begin, done - first, ahead.drafted, ahead.right)
    }

    /**
     * Makes the decoder hold the longest known beginning of the prompt, its own cache's or the prefix's, and nothing
     * else; returns its length. Only slots with the very numbers that the request would compute itself are taken.
     */
    private fun known(request: Generate): Int {
        val ids = request.ids.asList()
        val most = if (request.isPlain) 0 else maxOf(0, ids.size - LEAST_COMPUTED)
        var own = minOf(common(ids, decoder.held), most)
        if (own > decoder.sure && !decoder.isAlike) own = decoder.sure
        val stored = minOf(request.prefix?.let { common(ids, it.ids.asList()) } ?: 0, most)
        if (stored > own) decoder.restore(request.prefix!!, stored) else decoder.cut(own)
        return maxOf(stored, own)
    }

    /** The likeliest token allowed, or null if the grammar is complete and allows no more. */
    private fun choose(request: Generate, ahead: Ahead, said: List<Int>): Int? {
        val constraint = request.constraint
        if (constraint == null) return ahead.logits(said).let { logits -> logits.indices.maxByOrNull { logits[it] } }
        val allowed = constraint.allowed()
        val choices = if (constraint.isComplete && allowed.isNotEmpty()) allowed + language.eosIds else allowed
        if (choices.isEmpty()) return null
        // Where the grammar leaves one, its logits do not matter: it is read with the tokens after it.
        if (choices.size == 1 && !request.isPlain && decoder.isAlike) return choices.single()
        val logits = ahead.logits(said)
        return choices.maxByOrNull { logits[it] }
    }

    companion object {
        /** The rows of the token table for these ids, [S][H], row by row. */
        internal fun rows(table: Session, ids: LongArray): FloatArray =
            table.run(mapOf("ids" to Tensor.longs(ids, ids.size.toLong()))).getValue("embeds").toFloats()
    }
}
