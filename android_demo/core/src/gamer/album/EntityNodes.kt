package gamer.album

import gamer.common.AlbumError

/** [vectors]: their owners are entity rows, at most one vector each. [roots]: the entity that each row was merged into. */
internal class NodeVectors(val vectors: VectorSet, val roots: IntArray)

/**
 * Finds the entity nodes near a query vector, by scan or, from [GRAPH_FROM] nodes on, by a graph over them
 * (index/entities/entity_vectors.py). The vector of a merged name counts for the entity that the name was merged into.
 */
internal class EntityNodes private constructor(private val found: NodeVectors, private val graph: Hnsw?, private val late: IntArray) {
    val dim: Int get() = found.vectors.dim

    /** Each root's best cosine where it reaches [delta], -∞ elsewhere. */
    fun similar(query: Query, delta: Float): FloatArray {
        val vectors = found.vectors
        val near = graph?.let { it.candidates(query, IN_VIEW) + late }?.filter { vectors.dot(query, it) >= delta }?.toIntArray()
        // If so many candidates pass, the graph may have missed others.
        val at = if (near == null || near.size * 2 > IN_VIEW) Rows.keep(IntArray(vectors.size) { it }) { vectors.mayReach(query, it, delta) } else near
        val best = FloatArray(found.roots.size) { Float.NEGATIVE_INFINITY }
        for (node in at) {
            val score = vectors.dot(query, node)
            val root = found.roots[vectors.owners[node]]
            if (score >= delta) best[root] = maxOf(best[root], score)
        }
        return best
    }

    companion object {
        const val SEGMENT = "entities"
        const val GRAPH_FROM = 10_000 // nodes
        private const val IN_VIEW = 256 // candidates of a graph search

        /** [blob]: the segment's bytes, or null; a segment that does not fit the nodes is ignored. */
        fun of(found: NodeVectors, blob: ByteArray?): EntityNodes {
            if (blob == null) return EntityNodes(found, null, IntArray(0))
            return try {
                val known = Hnsw.countsOf(blob)
                val rows = maxOf(known.size, found.roots.size)
                val now = IntArray(rows)
                for (owner in found.vectors.owners) now[owner]++
                val behind = (0 until rows).filter { now[it] != known.getOrElse(it) { 0 } }
                val isLate = Rows.mask(behind.toIntArray(), rows)
                val owners = found.vectors.owners
                EntityNodes(found, Hnsw.load(blob, found.vectors, behind.toIntArray()), owners.indices.filter { isLate[owners[it]] }.toIntArray())
            } catch (error: AlbumError) {
                EntityNodes(found, null, IntArray(0))
            }
        }
    }
}
