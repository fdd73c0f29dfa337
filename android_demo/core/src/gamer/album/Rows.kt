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
    fun without(rows: IntArray, gone: IntArray): IntArray = if (gone.isEmpty()) rows else keep(rows) { gone.binarySearch(it) < 0 }

    /** Those of [rows] that fit, in their order. */
    inline fun keep(rows: IntArray, fits: (Int) -> Boolean): IntArray {
        val out = IntArray(rows.size)
        var count = 0
        for (row in rows) if (fits(row)) out[count++] = row
        return out.copyOf(count)
    }

    /** All positions, by descending value; equal values in order of position. */
    fun descending(values: FloatArray): IntArray = best(values, values.size)

    /** The first [k] of [descending], without putting the others in order. */
    fun best(values: FloatArray, k: Int): IntArray {
        val kept = LongHeap()
        var least = Long.MIN_VALUE // of those that are kept, once there are k
        for (at in values.indices) {
            val key = key(values[at], at)
            if (key <= least) continue
            kept.add(key)
            if (kept.size > k) kept.poll()
            if (kept.size == k) least = if (k > 0) kept.least() else Long.MAX_VALUE
        }
        val out = IntArray(kept.size)
        for (place in out.indices.reversed()) out[place] = kept.poll().toInt().inv()
        return out
    }

    /** A number that is greater for a greater value and, of equal ones, for the lower position. */
    private fun key(value: Float, at: Int): Long {
        val bits = (value + 0f).toBits() // -0 counts as 0
        return ((bits xor ((bits shr 31) and Int.MAX_VALUE)).toLong() shl 32) or (at.inv().toLong() and 0xFFFFFFFFL)
    }

    /** Positions of the [k] greatest scores above -∞, best first; equal scores in order of position. */
    fun top(scores: FloatArray, k: Int): IntArray = keep(best(scores, maxOf(k, 0))) { scores[it] > Float.NEGATIVE_INFINITY }
}
