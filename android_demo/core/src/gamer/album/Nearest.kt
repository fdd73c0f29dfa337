package gamer.album

/**
 * The k nearest photos in one channel, by exact scan or by graph search, as the planner chooses. Both rank by
 * int8 codes first, then re-rank the best with the residues. If a graph search leaves too few photos within
 * the filter, an exact scan replaces it: the vectors that the graph finds nearest may all lie outside a
 * narrow filter.
 */
internal class Nearest(private val vectors: VectorSet, private val graph: Hnsw?, private val behind: IntArray) {
    /**
     * The k best photos. [rows]: the filter, ascending without repeats, or null. [plan]: auto, exact or hnsw.
     */
    fun find(query: Query, k: Int, rows: IntArray?, plan: String): VectorResult {
        var filter = rows
        var chunks = 1.0
        if (!vectors.oneEach) chunks = vectors.size.toDouble() / maxOf(vectors.owners[vectors.size - 1] + 1, 1)
        else if (filter != null && filter.isNotEmpty() && filter.last() >= vectors.size) filter = filter.filter { it < vectors.size }.toIntArray()
        val left = if (filter == null) vectors.size else (filter.size * chunks).toInt()
        val costs = Estimate(vectors.size, left, vectors.dim, k, chunks)
        if (filter != null && filter.size <= again(k) && plan == "auto") return ranked(query, filter, k, "exact")
        if (graph != null && (if (plan == "auto") costs.plan else plan) == "hnsw") {
            walk(query, k, filter, costs.width)?.let { return ranked(query, it, k, "hnsw") }
        }
        return ranked(query, scan(query, k, filter), k, "exact")
    }

    private fun again(k: Int): Int = k + maxOf(AGAIN, k / 2)

    /** The rows of the photos to re-rank. */
    private fun scan(query: Query, k: Int, rows: IntArray?): IntArray {
        if (rows != null && rows.size <= again(k)) return rows
        val all = rows ?: Rows.unique(vectors.owners)
        val scores = if (vectors.oneEach) FloatArray(all.size) { vectors.rough(query, all[it]) } else FloatArray(all.size) { vectors.best(query, all[it]) }
        val best = Rows.top(scores, again(k))
        return IntArray(best.size) { all[best[it]] }.also { it.sort() }
    }

    private fun walk(query: Query, k: Int, rows: IntArray?, width: Int): IntArray? {
        val at = graph!!.candidates(query, width)
        var found = if (vectors.oneEach) at else IntArray(at.size) { vectors.owners[at[it]] }
        if (rows != null) found = Rows.keep(found) { rows.binarySearch(it) >= 0 }
        if (!vectors.oneEach || behind.isNotEmpty()) found = Rows.unique(found)
        if (found.size < minOf(k, rows?.size ?: vectors.size)) return null
        if (vectors.oneEach && behind.isEmpty()) found = found.take(maxOf(again(k), 0)).toIntArray()
        if (behind.isEmpty()) return found
        val late = if (rows == null) behind else behind.filter { rows.binarySearch(it) >= 0 }.toIntArray()
        return Rows.unique(found + scan(query, k, late))
    }

    private fun ranked(query: Query, found: IntArray, k: Int, plan: String): VectorResult {
        val scores = FloatArray(found.size) { vectors.finest(query, found[it]) }
        val order = Rows.top(scores, k)
        return VectorResult(IntArray(order.size) { found[order[it]] }, FloatArray(order.size) { scores[order[it]] }, plan)
    }

    private companion object {
        const val AGAIN = 6 // k + max(AGAIN, k / 2) photos are re-ranked
    }
}
