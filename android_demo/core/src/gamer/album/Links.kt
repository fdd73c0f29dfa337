package gamer.album

/**
 * Compressed sparse rows (CSR): row i's neighbours are `targets[offsets[i] until offsets[i + 1]]`, ascending.
 */
class Links private constructor(private val offsets: IntArray, private val targets: IntArray) {
    fun of(row: Int): IntArray = targets.copyOfRange(offsets[row], offsets[row + 1])

    fun count(row: Int): Int = offsets[row + 1] - offsets[row]

    /** The neighbours of all the rows, ascending without repeats. */
    fun of(rows: IntArray): IntArray {
        val found = IntArray(rows.sumOf { count(it) })
        var at = 0
        for (row in rows) {
            targets.copyInto(found, at, offsets[row], offsets[row + 1])
            at += count(row)
        }
        return Rows.unique(found)
    }

    companion object {
        /** Builds the links from pairs in any order; [n]: the number of source rows. */
        fun of(sources: IntArray, targets: IntArray, n: Int): Links {
            val pairs = LongArray(sources.size) { (sources[it].toLong() shl 32) or targets[it].toLong() }.also { it.sort() }
            val offsets = IntArray(n + 1)
            for (s in sources) offsets[s + 1]++
            for (i in 0 until n) offsets[i + 1] += offsets[i]
            return Links(offsets, IntArray(pairs.size) { pairs[it].toInt() })
        }

        /**
         * The nodes from which a depth-first search over edges from parent to child reaches [node], and
         * itself, ascending. [parents]: of each node. At most [depth] edges are followed, whatever the
         * similarity of the nodes on the way.
         */
        fun above(node: Int, parents: Links, depth: Int): IntArray {
            val found = sortedSetOf(node)
            var frontier = intArrayOf(node)
            for (step in 0 until depth) {
                frontier = parents.of(frontier).filter { found.add(it) }.toIntArray()
                if (frontier.isEmpty()) break
            }
            return found.toIntArray()
        }
    }
}
