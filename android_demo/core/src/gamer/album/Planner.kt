package gamer.album

import kotlin.math.ceil
import kotlin.math.sqrt

/**
 * The query planner: estimates whether an exact scan or a graph search is faster for a filtered query. [left]
 * of [total] vectors pass the filter; [chunks]: the average number of vectors per photo. The constants are
 * microseconds, those of index/vectors/planner.py.
 */
class Estimate(private val total: Int, private val left: Int, private val dim: Int, k: Int, chunks: Double = 1.0) {
    /** The candidate-list size (ef) that a graph search would use. */
    val width: Int = minOf(
        total.toLong(), maxOf(ceil(MIN_WALK * sqrt(maxOf(total.toDouble() / OF_VECTORS, 1.0))).toLong(), 2L * k, ceil(PER_WANTED * k * chunks * total / maxOf(left, 1)).toLong()),
    ).toInt()

    val exactUs: Double
        get() {
            val gathered = left < total
            return 45.0 + left * (if (gathered) 0.00017 else 0.00009) * dim
        }

    val graphUs: Double get() = 80.0 + width * (0.5 + 0.0005 * dim)

    val plan: String get() = if (left > 0 && maxOf(graphUs, LITTLE_US) < exactUs) "hnsw" else "exact"

    companion object {
        const val MIN_WALK = 76 // of so many vectors; with the root of their number for more
        const val OF_VECTORS = 100_000
        const val PER_WANTED = 1.6
        private const val LITTLE_US = 500.0 // what a scan may take where a walk would take less: it misses nothing
    }
}
