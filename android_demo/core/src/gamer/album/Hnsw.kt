package gamer.album

import gamer.common.AlbumError
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The HNSW segment (FORMAT.md): links over the vectors of one channel, without the vectors. It proposes
 * candidates; the caller ranks them.
 */
class Hnsw private constructor(private val graph: UsearchGraph, private val places: IntArray?, private val codes: ByteArray, private val dim: Int) {
    private val norms = FloatArray(graph.size) { at ->
        var sum = 0
        for (i in at * dim until (at + 1) * dim) sum += codes[i] * codes[i]
        sum.toFloat()
    }

    /**
     * VectorSet positions of at most [count] near vectors, nearest first by the cosine of their int8 codes.
     */
    fun candidates(query: Query, count: Int): IntArray {
        if (count < 1 || graph.size == 0) return IntArray(0)
        var own = 0
        for (x in query.first) own += x * x
        val found = graph.nearest(minOf(count, graph.size), UsearchGraph.Distance { vector -> distance(query.first, own.toFloat(), vector) })
        return if (places == null) found else found.map { places[it] }.filter { it >= 0 }.toIntArray()
    }

    private fun distance(query: ByteArray, own: Float, vector: Int): Float {
        var sum = 0
        val begin = vector * dim
        for (i in 0 until dim) sum += codes[begin + i] * query[i]
        if (own == 0f && norms[vector] == 0f) return 0f
        if (sum == 0) return 1f
        return maxOf(0f, (1.0 - sum / (Math.sqrt(own.toDouble()) * Math.sqrt(norms[vector].toDouble()))).toFloat())
    }

    companion object {
        const val VERSION = 2
        private const val MAGIC = "GHNS"
        private const val HEADER = 40
        private const val ENGINE = "usearch"

        /** The segment's bytes for an album of [photos] rows; null if [isStopped] ended it. */
        fun build(vectors: VectorSet, photos: Int, isStopped: () -> Boolean = { false }): ByteArray? {
            val links = HnswBuilder(vectors.codes, vectors.dim).build(isStopped) ?: return null
            val counts = ShortArray(photos)
            for (owner in vectors.owners) counts[owner]++
            val out = ByteBuffer.allocate(HEADER + 2 * photos + links.size).order(ByteOrder.LITTLE_ENDIAN)
            out.put(MAGIC.toByteArray()).putShort(VERSION.toShort()).putShort(vectors.dim.toShort()).putLong(vectors.size.toLong()).putLong(photos.toLong())
            out.put(ENGINE.toByteArray())
            out.position(HEADER)
            counts.forEach { out.putShort(it) }
            return out.put(links).array()
        }

        /** How many vectors each row had when the graph was built. Raises [AlbumError]. */
        fun countsOf(blob: ByteArray): IntArray {
            if (blob.size < HEADER || String(blob, 0, 4, Charsets.ISO_8859_1) != MAGIC) throw AlbumError("HNSW segment: not a graph; rebuild the segment")
            val head = ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN)
            val photos = head.getLong(16)
            if (photos < 0 || photos > blob.size || blob.size < HEADER + 2 * photos) {
                throw AlbumError("HNSW segment: shorter than its number of photos; rebuild the segment")
            }
            return IntArray(photos.toInt()) { head.getShort(HEADER + 2 * it).toInt() and 0xFFFF }
        }

        /**
         * Opens a segment. [behind]: the photo rows that changed since it was built. Raises [AlbumError] if
         * the bytes are not a graph over the vectors of the other rows.
         */
        fun load(blob: ByteArray, vectors: VectorSet, behind: IntArray): Hnsw {
            val counts = countsOf(blob)
            val head = ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN)
            val version = head.getShort(4).toInt()
            val dim = head.getShort(6).toInt() and 0xFFFF
            val n = head.getLong(8)
            if (version != VERSION || dim != vectors.dim) {
                throw AlbumError("HNSW segment: version $version of $dim dimensions, expected $VERSION of ${vectors.dim}; rebuild the segment")
            }
            if (counts.sumOf { it.toLong() } != n) throw AlbumError("HNSW segment: ${counts.sumOf { it.toLong() }} chunks where $n were promised; rebuild the segment")
            val engine = String(blob, 24, 16, Charsets.ISO_8859_1).trimEnd('\u0000')
            if (engine != ENGINE) throw AlbumError("HNSW segment: a graph of $engine, this program walks usearch's; rebuild the segment")
            val places = places(counts, vectors, behind)
            val codes = if (places == null) vectors.codes else codes(vectors, places)
            return Hnsw(UsearchGraph.parse(blob, HEADER + 2 * counts.size, n.toInt()), places, codes, dim)
        }

        /**
         * The VectorSet position of each graph node, -1 where the photo has changed since; null if node
         * numbers and positions are the same.
         */
        private fun places(counts: IntArray, vectors: VectorSet, behind: IntArray): IntArray? {
            val now = IntArray(counts.size)
            for (owner in vectors.owners) if (owner < now.size) now[owner]++
            val changed = Rows.mask(behind.filter { it < counts.size }.toIntArray(), counts.size)
            val stale = BooleanArray(counts.size) { now[it] != counts[it] }
            if (stale.none { it } && changed.none { it }) return null
            val known = vectors.size > 0 && vectors.owners[vectors.size - 1] >= counts.size - 1
            if (known && stale.indices.any { stale[it] && !changed[it] }) {
                throw AlbumError("HNSW segment: its photos have other vectors than the rows; rebuild the segment")
            }
            val out = IntArray(counts.sum())
            var at = 0
            var begin = 0
            for (row in counts.indices) {
                for (chunk in 0 until counts[row]) out[at++] = if (stale[row] || changed[row]) -1 else begin + chunk
                begin += now[row]
            }
            return out
        }

        /**
         * The codes in node order; a node without a current vector gets zeros, which are near to no query.
         */
        private fun codes(vectors: VectorSet, places: IntArray): ByteArray {
            val out = ByteArray(places.size * vectors.dim)
            for ((at, place) in places.withIndex()) if (place >= 0) vectors.codes.copyInto(out, at * vectors.dim, place * vectors.dim, (place + 1) * vectors.dim)
            return out
        }
    }
}
