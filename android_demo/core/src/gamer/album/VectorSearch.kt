package gamer.album

/**
 * An exact scan without the planner: every vector that passes the filter is scored, and the best are
 * re-ranked with the residues.
 */
object VectorSearch {
    /** The k best photos. [rows]: the filter, ascending, or null. */
    fun exact(vectors: VectorSet, query: FloatArray, k: Int, rows: IntArray?): VectorResult = Nearest(vectors, null, IntArray(0)).find(Query(query), k, rows, "exact")
}
