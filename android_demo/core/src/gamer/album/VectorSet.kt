package gamer.album

import kotlin.math.abs

/** A query vector as two int8 layers: `floats` ≈ scale · (first + second / [DEPTH]). */
class Query(val floats: FloatArray) {
    val scale: Double
    val first: ByteArray
    val second: ByteArray

    init {
        var low = Float.POSITIVE_INFINITY
        var high = Float.NEGATIVE_INFINITY
        for (x in floats) {
            if (x < low) low = x
            if (x > high) high = x
        }
        scale = if (high < low) 0.0 else maxOf(high.toDouble(), -low.toDouble()) / 127.0
        val by = if (scale > 0) (1.0 / scale).toFloat() else 0f
        first = ByteArray(floats.size)
        second = ByteArray(floats.size)
        for (i in floats.indices) {
            val step = floats[i] * by
            first[i] = Math.rint(step.toDouble()).toInt().toByte()
            second[i] = ((step - first[i]) * DEPTH.toFloat()).toInt().toByte()
        }
    }

    companion object {
        const val DEPTH = 254.0 // one step of a query's first byte is this many steps of its second
    }
}

/**
 * One channel's vectors in memory (FORMAT.md, Vectors). Component i is `scale · code`; the residues in [fine]
 * (two bits each) make it more precise for re-ranking. [codes]: int8 [n · dim]; [scales]: [n]; [owners]: the
 * photo row of each, ascending; [fine]: uint8 [n · ceil(dim / 4)] or null.
 */
class VectorSet(val dim: Int, val codes: ByteArray, val scales: FloatArray, val owners: IntArray, val fine: ByteArray?) {
    val size: Int get() = owners.size

    /** The vectors of photo p are starts[p] until starts[p + 1]. */
    val starts: IntArray by lazy {
        val rows = if (size == 0) 0 else owners[size - 1] + 1
        val out = IntArray(rows + 1)
        for (owner in owners) out[owner + 1]++
        for (i in 0 until rows) out[i + 1] += out[i]
        out
    }

    /** Whether every photo has exactly one vector, so that photo rows equal vector positions. */
    val oneEach: Boolean by lazy { owners.indices.all { owners[it] == it } }

    /** The dot product of the codes of vector [at] with the query. For unit vectors this is the cosine. */
    fun dot(query: Query, at: Int): Float {
        val products = product(at, query.first) + product(at, query.second) / Query.DEPTH
        return products.toFloat() * scales[at] * query.scale.toFloat()
    }

    /** [dot] with the query's first layer only, without its scale, to choose what [fineDot] re-ranks. */
    fun rough(query: Query, at: Int): Float = product(at, query.first).toFloat() * scales[at]

    /** Whether [dot] can reach [least]: by the first layer, and the most that the second one can add to it. */
    fun mayReach(query: Query, at: Int, least: Float): Boolean = rough(query, at) * query.scale + abs(scales[at]) * query.scale * (most / 2.0) >= least - SLACK

    /** The greatest sum of the codes' sizes of any vector. */
    private val most: Int by lazy {
        var most = 0
        for (at in 0 until size) {
            var sum = 0
            for (i in at * dim until (at + 1) * dim) sum += abs(codes[i].toInt())
            most = maxOf(most, sum)
        }
        most
    }

    /** The dot product of codes plus residues with the query's floats: the most precise score. */
    fun fineDot(query: Query, at: Int): Float {
        var sum = 0.0
        for (i in 0 until dim) sum += step(at, i) * query.floats[i]
        return sum.toFloat() * scales[at]
    }

    /** The mean of a photo's vectors, of length 1; null for a row without one. */
    fun mean(row: Int): FloatArray? {
        val at = of(row)
        if (at.isEmpty()) return null
        val mean = FloatArray(dim) { i -> at.map { step(it, i) * scales[it] }.sum() / at.count() }
        val length = Math.sqrt(mean.sumOf { it.toDouble() * it }).toFloat()
        return if (length > 0) FloatArray(dim) { mean[it] / length } else null
    }

    /** Component [i] of vector [at] in steps: its code, with its residue. */
    private fun step(at: Int, i: Int): Float {
        val code = codes[at * dim + i].toFloat()
        return if (fine == null) code else code + ((fine[at * ((dim + 3) / 4) + i / 4].toInt() shr (2 * (i % 4))) and 3) / 4f - 3 / 8f
    }

    private fun product(at: Int, query: ByteArray): Int {
        val begin = at * dim
        var sum = 0
        for (i in 0 until dim) sum += codes[begin + i] * query[i]
        return sum
    }

    /** Positions of all vectors of a photo row; empty for a row without a vector. */
    fun of(row: Int): IntRange = if (row >= starts.size - 1) IntRange.EMPTY else starts[row] until starts[row + 1]

    /** A photo's best chunk score, -∞ for a photo without a vector. */
    fun best(query: Query, row: Int): Float {
        var best = Float.NEGATIVE_INFINITY
        for (at in of(row)) best = maxOf(best, dot(query, at))
        return best
    }

    /** For each of [rows] the best chunk's score, -∞ for a photo without a vector. [isRough]: by the query's first layer alone. */
    fun scores(query: Query, rows: IntArray, isRough: Boolean): FloatArray {
        val (scale, starts) = query.scale.toFloat() to this.starts
        return FloatArray(rows.size) {
            val row = rows[it]
            var best = Float.NEGATIVE_INFINITY
            if (row < starts.size - 1) for (at in starts[row] until starts[row + 1]) best = maxOf(best, if (isRough) rough(query, at) * scale else dot(query, at))
            best
        }
    }

    /** As [best], by [fineDot]. */
    fun finest(query: Query, row: Int): Float {
        var best = Float.NEGATIVE_INFINITY
        for (at in of(row)) best = maxOf(best, fineDot(query, at))
        return best
    }

    companion object {
        private const val SLACK = 1e-4 // more than what is lost by rounding to float32

        // Residues of +1/8 and -1/8 of a step in turn, for a vector stored without residues.
        const val NO_FINE: Byte = 0x99.toByte()

        /** A vector's codes, scale and residues (in quarters of a step). A zero vector has scale 0. */
        fun quantize(vector: FloatArray): Quantized {
            var most = 0f
            for (x in vector) most = maxOf(most, abs(x))
            val scale = (most / 127.0f)
            val safe = if (scale > 0) scale else 1f
            val codes = ByteArray(vector.size)
            val fine = ByteArray((vector.size + 3) / 4)
            for (i in vector.indices) {
                val step = vector[i] / safe
                codes[i] = Math.rint(step.toDouble()).coerceIn(-127.0, 127.0).toInt().toByte()
                val quarter = Math.floor(((step - codes[i]) * 4 + 2).toDouble()).coerceIn(0.0, 3.0).toInt()
                fine[i / 4] = (fine[i / 4].toInt() or (quarter shl (2 * (i % 4)))).toByte()
            }
            return Quantized(scale, codes, fine)
        }
    }
}

/** One vector as the album stores it. */
class Quantized(val scale: Float, val codes: ByteArray, val fine: ByteArray)
