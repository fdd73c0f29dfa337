package gamer.album

/** Operations on arrays of row numbers. */
object Rows {
    /** The positions of the true values, ascending. */
    fun where(mask: BooleanArray): IntArray {
        val out = IntArray(mask.count { it })
        var at = 0
        for (i in mask.indices) if (mask[i]) out[at++] = i
        return out
    }

    fun mask(rows: IntArray, size: Int): BooleanArray = BooleanArray(size).also { mask -> rows.forEach { mask[it] = true } }

    /** The rows in ascending order without repeats. */
    fun unique(rows: IntArray): IntArray {
        if ((1 until rows.size).all { rows[it] > rows[it - 1] }) return rows
        val sorted = rows.sortedArray()
        var count = 0
        for (i in sorted.indices) if (i == 0 || sorted[i] != sorted[i - 1]) sorted[count++] = sorted[i]
        return sorted.copyOf(count)
    }

    /** [rows] without those in [gone]; both are ascending. */
    fun without(rows: IntArray, gone: IntArray): IntArray =
        if (gone.isEmpty()) rows else rows.filter { gone.binarySearch(it) < 0 }.toIntArray()

    /** All positions, by descending value; equal values in order of position. */
    fun descending(values: FloatArray): IntArray =
        values.indices.sortedWith { a, b -> java.lang.Float.compare(values[b] + 0f, values[a] + 0f) }.toIntArray()

    /** Positions of the [k] greatest scores above -∞, best first; equal scores in order of position. */
    fun top(scores: FloatArray, k: Int): IntArray {
        val order = scores.indices.filter { scores[it] > Float.NEGATIVE_INFINITY }
        return order.sortedWith { a, b -> java.lang.Float.compare(scores[b] + 0f, scores[a] + 0f) }.take(maxOf(k, 0)).toIntArray()
    }
}
