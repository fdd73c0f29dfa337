package gamer.album

/** The planner's exact path alone: every vector that the filter leaves is scored, the best are ranked again with the finer digits. */
object VectorSearch {
    /** [rows]: the filter, ascending, or null. */
    fun exact(vectors: VectorSet, query: FloatArray, k: Int, rows: IntArray?): VectorResult = Nearest(vectors, null, IntArray(0)).find(Query(query), k, rows, "exact")
}
