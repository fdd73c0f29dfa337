package gamer.search

import gamer.common.PyText
import kotlin.math.exp
import kotlin.math.ln

/**
 * How likely each hit is one of the photos that a query means, of which there may be one or many (runtime/search/confidence.py, which
 * tells how it was fitted). The engine shares one unit of probability out among all photos: of seven cats the first then seems certain.
 */
object Confidence {
    private const val SHARE = 1.02
    private const val SCORE = 0.11
    private const val BEHIND = 0.12
    private const val NONE = 0.92
    private const val LEAST = 1e-6 // share of the probability below which all are alike

    /** For each hit of an answer, best first, the probability to be shown. */
    fun of(answer: Answer): List<Double> = judged(answer.hits.map { it.score }, answer.hits.map { it.probability }, answer.presence)

    fun judged(scores: List<Double>, probabilities: List<Double>, presence: Double): List<Double> {
        val doubt = if (presence < 0.5) presence else 1.0
        return scores.indices.map { n ->
            val share = (probabilities[n] / maxOf(presence, 1e-9)).coerceIn(LEAST, 1 - LEAST)
            val odds = SHARE * ln(share / (1 - share)) + SCORE * scores[n] + BEHIND * (scores[n] - scores[0]) + NONE
            PyText.round(doubt / (1 + exp(-odds)), 4)
        }
    }
}
