package gamer.album

/** Small operations on arrays of row numbers. */
object Rows {
    /** Ascending positions of the set bits. */
    fun where(mask: BooleanArray): IntArray {
        val out = IntArray(mask.count { it })
        var at = 0
        for (i in mask.indices) if (mask[i]) out[at++] = i
        return out
    }

    fun mask(rows: IntArray, size: Int): BooleanArray = BooleanArray(size).also { mask -> rows.forEach { mask[it] = true } }

    /** Ascending, each once. */
    fun unique(rows: IntArray): IntArray {
        if ((1 until rows.size).all { rows[it] > rows[it - 1] }) return rows
        val sorted = rows.sortedArray()
        var count = 0
        for (i in sorted.indices) if (i == 0 || sorted[i] != sorted[i - 1]) sorted[count++] = sorted[i]
        return sorted.copyOf(count)
    }

    /** [rows] without those in [gone]; both ascending. */
    fun without(rows: IntArray, gone: IntArray): IntArray =
        if (gone.isEmpty()) rows else rows.filter { gone.binarySearch(it) < 0 }.toIntArray()

    /** Positions of the greatest values first; equal ones in order of position. */
    fun descending(values: FloatArray): IntArray =
        values.indices.sortedWith { a, b -> java.lang.Float.compare(values[b] + 0f, values[a] + 0f) }.toIntArray()

    /** Positions of the [k] greatest finite scores, best first; equal ones in order of position. */
    fun top(scores: FloatArray, k: Int): IntArray {
        val order = scores.indices.filter { scores[it] > Float.NEGATIVE_INFINITY }
        return order.sortedWith { a, b -> java.lang.Float.compare(scores[b] + 0f, scores[a] + 0f) }.take(maxOf(k, 0)).toIntArray()
    }
}
