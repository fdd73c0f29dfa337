package gamer.search

import gamer.album.Rows
import gamer.album.WordScores
import gamer.bundle.Ranking
import gamer.search.Conversations.Companion.NEAR
import kotlin.math.exp
import kotlin.math.ln

/**
 * A cue and the photos of one album that fit it. By row: [known], whether the field is known, and [inside],
 * whether the photo fits. [trust]: the share of meant photos that lie inside such a cue (cue_rules.json, from
 * the development data).
 */
class Clue(private val known: BooleanArray, val inside: BooleanArray, private val trust: Double) {
    /**
     * For each of [rows] the log likelihood ratio. 0 where the field is unknown, and for all rows if [trust]
     * is not above the cue's share of the album.
     */
    fun evidence(rows: IntArray): FloatArray {
        val count = known.count { it }
        if (count == 0) return FloatArray(rows.size)
        val base = minOf(maxOf(inside.count { it }, 1).toDouble() / (count + 1), 1 - 1.0 / (count + 1))
        val most = minOf(trust, 0.98)
        if (most <= base) return FloatArray(rows.size)
        val fits = ln(most / base).toFloat()
        val not = ln((1 - most) / (1 - base)).toFloat()
        return FloatArray(rows.size) { if (!known[rows[it]]) 0f else if (inside[rows[it]]) fits else not }
    }
}

/**
 * Which rows are chat messages ([said]), and which follow each other in time ([times], ms) without a long
 * silence.
 */
class Conversations(private val times: LongArray, private val said: BooleanArray) {
    private val order: IntArray = times.indices.sortedBy { times[it] }.toIntArray()
    private val place = IntArray(times.size)
    private val session = IntArray(times.size)

    init {
        for (at in order.indices) {
            place[order[at]] = at
            if (at == 0) continue
            val before = times[order[at - 1]]
            // An unknown time is the least long: a difference with it would overflow.
            val silent = before == Long.MIN_VALUE || times[order[at]] - before > SESSION_MS
            session[at] = session[at - 1] + if (silent) 1 else 0
        }
    }

    /** Whether any row is a message. */
    val any: Boolean = said.any { it }

    /**
     * The row [step] places later (earlier if negative) in time order, if both are messages of the same
     * conversation, else -1.
     */
    fun neighbour(row: Int, step: Int): Int {
        val there = place[row] + step
        if (there !in order.indices || session[there] != session[place[row]]) return -1
        val other = order[there]
        return if (said[row] && said[other]) other else -1
    }

    companion object {
        const val SESSION_MS = 3 * 3_600_000L // a conversation ends at a gap longer than this
        val NEAR = intArrayOf(-2, -1, 1, 2) // offsets of the messages that count as a message's context
    }
}

/**
 * The default ranking: the features of all layers as weighted summands of one score per photo. A score is a
 * log-odds: among the ranked photos, softmax(score) is the probability that a photo is meant.
 */
object Ranker {
    // Bounds of the cues' evidence, so that cues cannot outweigh all other features.
    private const val LEAST = -4f
    private const val MOST = 6f

    /** For each of [rows] the sum of all clues, as if independent, clipped to LEAST..MOST. */
    fun evidence(clues: List<Clue>, rows: IntArray): FloatArray {
        val total = FloatArray(rows.size)
        for (clue in clues) clue.evidence(rows).forEachIndexed { i, value -> total[i] += value }
        return FloatArray(rows.size) { total[it].coerceIn(LEAST, MOST) }
    }

    /**
     * How the messages around a message match the query's words, for each of [rows]: (BM25, coverage). BM25
     * is summed over the neighbours in [Conversations.NEAR]; coverage is the share of the words that the
     * message and its neighbours hold together, weighted by rarity. Both are 0 for photos that are not
     * messages.
     */
    fun context(words: WordScores, conversations: Conversations, rows: IntArray): Pair<FloatArray, FloatArray> {
        val around = FloatArray(rows.size)
        val held = FloatArray(rows.size)
        if (words.words.isEmpty() || !conversations.any) return around to held
        val bm25 = words.bm25()
        val whole = words.words.sumOf { it.rarity }
        val has = words.words.map { Rows.mask(it.rows, words.photos) }
        for (i in rows.indices) {
            if (conversations.neighbour(rows[i], 0) < 0) continue
            val near = Rows.keep(IntArray(NEAR.size) { conversations.neighbour(rows[i], NEAR[it]) }) { it >= 0 }
            for (other in near) around[i] += bm25[other]
            for ((word, mask) in words.words.zip(has)) if (mask[rows[i]] || near.any { mask[it] }) held[i] += (word.rarity / whole).toFloat()
        }
        return around to held
    }

    /** Each feature times its weight: the summands of the score, by name. */
    fun weighted(features: Map<String, FloatArray>, ranking: Ranking): Map<String, FloatArray> =
        features.mapValues { (name, values) -> ranking.weight(name).toFloat().let { w -> FloatArray(values.size) { values[it] * w } } }

    /**
     * The summands for a query of cues only: all but "cue" are zeroed. They would only measure how much a
     * photo resembles the word "photo".
     */
    fun byCues(parts: Map<String, FloatArray>): Map<String, FloatArray> =
        parts.mapValues { (name, values) -> if (name == "cue") values else FloatArray(values.size) }

    /** The scores: the sum of the summands for each row, in float32 and in their order, as in Python. */
    fun total(parts: Map<String, FloatArray>): FloatArray {
        val lists = parts.values.toList()
        val out = lists.firstOrNull()?.copyOf() ?: FloatArray(0)
        for (list in lists.drop(1)) for (i in out.indices) out[i] += list[i]
        return out
    }

    /** Softmax of the scores: each photo's probability given that one of them is meant. */
    fun likelihoods(parts: Map<String, FloatArray>): FloatArray {
        val size = parts.values.firstOrNull()?.size ?: 0
        val total = DoubleArray(size)
        for (part in parts.values) for (i in total.indices) total[i] += part[i].toDouble()
        val most = total.maxOrNull() ?: return FloatArray(0)
        val odds = DoubleArray(size) { exp(total[it] - most) }
        val sum = maxOf(odds.sum(), 1e-300)
        return FloatArray(size) { (odds[it] / sum).toFloat() }
    }

    /** What the best cosine among so many photos lacks of the best among 600, where neither is meant (runtime/search/hits.py). */
    fun ofFewer(photos: Int): Double = 0.022 * ln(600.0 / photos.coerceIn(20, 600))

    /**
     * The probability that the album holds what is meant, by logistic regression. From the best hit's text
     * cosine, word coverage and cue evidence.
     */
    fun presence(ranking: Ranking, cosine: Double, coverage: Double, evidence: Double): Double =
        1 / (1 + exp(-(ranking.here + ranking.hereCosine * cosine + ranking.hereCoverage * coverage + ranking.hereCue * evidence)))
}
