package gamer.album

import kotlin.math.ceil

/**
 * Chooses between scoring every vector that a filter leaves and walking the graph past those that it does not. [left] of [total] vectors pass the
 * filter; [chunks]: vectors a photo, on average. Constants are microseconds, the reference's (index/vectors/planner.py).
 */
class Estimate(private val total: Int, private val left: Int, private val dim: Int, k: Int, private val hasGraph: Boolean, chunks: Double = 1.0) {
    /** Vectors that a walk would keep in view. */
    val width: Int = minOf(
        total.toLong(), maxOf(MIN_WALK.toLong(), 2L * k, ceil(PER_WANTED * k * chunks * total / maxOf(left, 1)).toLong()),
    ).toInt()

    val exactUs: Double
        get() {
            val gathered = left < total
            return 45.0 + left * (0.02 + (if (gathered) 0.03 else 0.0) + (0.00012 + (if (gathered) 0.00008 else 0.0)) * dim)
        }

    val graphUs: Double get() = 80.0 + width * (0.5 + 0.0022 * dim)

    val plan: String get() = if (hasGraph && left > 0 && graphUs < exactUs) "hnsw" else "exact"

    companion object {
        const val MIN_WALK = 76
        const val PER_WANTED = 1.6
    }
}
