package gamer.search

import gamer.album.Album
import gamer.album.Rows
import gamer.album.Words
import gamer.bundle.Ranking
import kotlin.math.exp

/**
 * Which of a search's hits belong to the set that a query means ("cherry blossoms", "every cat"): a ranking says what comes first,
 * a set needs an end (runtime/search/membership.py, which tells how it was fitted).
 */
internal object Membership {
    const val PRESENT = 0.47 // probability below which nothing in the album is said to fit
    private const val ALL_WORDS = 0.99 // share of the query's words that a member's memories hold

    /** The probability that an album of so many photos holds what is meant; the search's own if the best hit has no text. */
    fun presence(answer: Answer, weights: Ranking, photos: Int): Double {
        val parts = (answer.hits.firstOrNull() ?: return 0.0).parts
        fun feature(name: String) = weights.weight(name).let { if (it == 0.0) 0.0 else (parts[name] ?: 0.0) / it }
        if (feature("text") == 0.0) return answer.presence
        val cosine = maxOf(feature("text"), feature("image")) + Ranker.ofFewer(photos)
        val odds = 11.4 * cosine + 1.43 * feature("coverage") + 1.31 * feature("context_coverage") + 0.45 * feature("cue") - 5.5
        return 1 / (1 + exp(-odds))
    }

    /** The rows of the hits that belong to the set, best first; the best one does, and whatever holds all the words. */
    fun members(album: Album, answer: Answer, weights: Ranking): List<Int> {
        val trace = answer.trace
        val fits = if (trace.cubes.isEmpty() || trace.widened) null else Rows.mask(album.inCubes(trace.cubes).rows, album.size)
        val hits = answer.hits.filter { fits == null || fits[it.row] }
        val best = (hits.firstOrNull() ?: return answer.hits.take(1).map { it.row }).score
        val least = 1.6 + 0.4 * (Words.queryTerms(trace.refined).size - 1).coerceAtLeast(0) // chance grows with the query's words
        return hits.filterIndexed { n, hit ->
            n == 0 || 0.8 * hit.score + (hit.score - best) >= least ||
                weights.coverage != 0.0 && (hit.parts["coverage"] ?: 0.0) / weights.coverage >= ALL_WORDS
        }.map { it.row }
    }
}
