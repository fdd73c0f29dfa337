package gamer.album

/**
 * Compressed sparse rows (CSR): row i's neighbours are `targets[offsets[i] until offsets[i + 1]]`, ascending.
 */
class Links private constructor(private val offsets: IntArray, private val targets: IntArray) {
    fun of(row: Int): IntArray = targets.copyOfRange(offsets[row], offsets[row + 1])

    /** The neighbours of all the rows, ascending without repeats. */
    fun of(rows: IntArray): IntArray {
        val seen = java.util.TreeSet<Int>()
        for (row in rows) for (at in offsets[row] until offsets[row + 1]) seen.add(targets[at])
        return seen.toIntArray()
    }

    companion object {
        /** Builds the links from pairs in any order; [n]: the number of source rows. */
        fun of(sources: IntArray, targets: IntArray, n: Int): Links {
            val order = sources.indices.sortedWith(compareBy({ sources[it] }, { targets[it] }))
            val offsets = IntArray(n + 1)
            for (s in sources) offsets[s + 1]++
            for (i in 0 until n) offsets[i + 1] += offsets[i]
            return Links(offsets, IntArray(order.size) { targets[order[it]] })
        }

        /**
         * The nodes with similarity ≥ [delta] that are reachable from the activated ones through such nodes.
         * [edges] holds each relation in both directions. The result is sorted by similarity, best first;
         * equal similarities in order of row.
         */
        fun traverse(activated: IntArray, similarity: FloatArray, edges: Links, delta: Double): IntArray {
            val kept = BooleanArray(similarity.size)
            val least = delta.toFloat()
            var frontier = activated.filter { similarity[it] >= least }
            while (frontier.isNotEmpty()) {
                frontier.forEach { kept[it] = true }
                frontier = edges.of(frontier.toIntArray()).filter { similarity[it] >= least && !kept[it] }
            }
            val rows = Rows.where(kept)
            return rows.sortedWith { a, b -> java.lang.Float.compare(similarity[b], similarity[a]) }.toIntArray()
        }
    }
}
