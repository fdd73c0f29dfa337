package gamer.album

import gamer.common.AlbumError
import gamer.tokens.IntList
import java.nio.ByteBuffer
import java.nio.ByteOrder

/** Integer bounds on (latitude e7, longitude e7, wall time ms), inclusive. */
class Box(val low: LongArray, val high: LongArray)

/**
 * The result of a box query. [rows]: the points inside; [boxes]: for each of them the index of a box that
 * holds it; [visited]: the number of comparisons of a point with a box.
 */
class KdHits(val rows: IntArray, val boxes: IntArray, val visited: Int)

/**
 * An implicit, balanced K-D tree over (latitude, longitude, time): a permutation, without pointers
 * (FORMAT.md, segment `kdtree`). [order]: rows in tree order. [columns]: the points in tree order, one array
 * for each axis.
 */
class KdTree(val order: IntArray, val columns: Array<LongArray>, private val leaf: Int) {
    val size: Int get() = order.size

    fun hits(boxes: List<Box>): KdHits {
        val rows = IntList()
        val owners = IntList()
        var visited = 0
        for ((number, box) in boxes.withIndex()) {
            walk(box) { at, inside ->
                visited++
                if (inside) {
                    rows.add(order[at])
                    owners.add(number)
                }
            }
        }
        return KdHits(rows.toArray(), owners.toArray(), visited)
    }

    /** Ascending rows of the points in any of the boxes. */
    fun range(boxes: List<Box>): IntArray = hits(boxes).rows.distinct().sorted().toIntArray()

    /**
     * The rows of the [k] nearest points and their distances, nearest first, ties in order of row. [unit]:
     * the distance of one step on each axis; 0 ignores the axis. [period]: the length of the second axis if
     * it is circular (longitude), else 0. A point that is unknown on an axis in use is left out.
     */
    fun nearest(point: LongArray, unit: DoubleArray, k: Int, period: Long): List<Pair<Int, Double>> {
        if (k < 1 || unit.all { it <= 0 }) return emptyList()
        val known = (0 until size).filter { at -> (0..2).all { unit[it] <= 0 || columns[it][at] != Long.MIN_VALUE } }
        return known.map { order[it] to distance(it, point, unit, period) }.sortedWith(compareBy({ it.second }, { it.first })).take(k)
    }

    private fun distance(at: Int, point: LongArray, unit: DoubleArray, period: Long): Double {
        var total = 0.0
        for (axis in 0..2) {
            if (unit[axis] <= 0) continue
            var apart = Math.abs(columns[axis][at].toDouble() - point[axis])
            if (axis == 1 && period > 0) apart = minOf(apart, Math.abs(period - apart))
            total += (apart * unit[axis]) * (apart * unit[axis])
        }
        return Math.sqrt(total)
    }

    private inline fun walk(box: Box, visit: (Int, Boolean) -> Unit) {
        val stack = ArrayList<IntArray>()
        stack.add(intArrayOf(0, size, 0))
        while (stack.isNotEmpty()) {
            val (lo, hi, axis) = stack.removeAt(stack.size - 1)
            if (hi - lo <= leaf) {
                for (at in lo until hi) visit(at, holds(box, at))
                continue
            }
            val mid = (lo + hi) / 2
            visit(mid, holds(box, mid))
            val value = columns[axis][mid]
            // Equal values may lie on both sides of the middle, so both comparisons include equality.
            if (box.low[axis] <= value) stack.add(intArrayOf(lo, mid, (axis + 1) % 3))
            if (box.high[axis] >= value) stack.add(intArrayOf(mid + 1, hi, (axis + 1) % 3))
        }
    }

    private fun holds(box: Box, at: Int): Boolean =
        columns[0][at] in box.low[0]..box.high[0] && columns[1][at] in box.low[1]..box.high[1] && columns[2][at] in box.low[2]..box.high[2]

    /**
     * The segment, little-endian: header, then latitude, longitude, time (int64 each, tree order), then the
     * permutation (int32).
     */
    fun toBytes(): ByteArray {
        val out = ByteBuffer.allocate(HEADER + 28 * size).order(ByteOrder.LITTLE_ENDIAN)
        out.put(MAGIC.toByteArray()).putShort(VERSION.toShort()).putShort(leaf.toShort()).putLong(size.toLong())
        for (column in columns) column.forEach { out.putLong(it) }
        order.forEach { out.putInt(it) }
        return out.array()
    }

    companion object {
        const val VERSION = 1
        const val LEAF = 32
        private const val MAGIC = "GKDT"
        private const val HEADER = 16

        fun fromBytes(blob: ByteArray): KdTree {
            if (blob.size < HEADER) throw AlbumError("K-D tree segment: shorter than its header; rebuild the segment")
            val bytes = ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN)
            val magic = String(ByteArray(4).also { bytes.get(it) }, Charsets.ISO_8859_1)
            val version = bytes.short.toInt()
            val leaf = bytes.short.toInt() and 0xFFFF
            val n = bytes.long
            if (magic != MAGIC || version != VERSION) {
                throw AlbumError("K-D tree segment: magic '$magic', version $version, expected '$MAGIC', $VERSION; rebuild the segment")
            }
            if (n < 0 || n > blob.size / 28 || blob.size.toLong() != HEADER + n * 28 || leaf < 1) {
                throw AlbumError("K-D tree segment: ${blob.size} bytes do not hold $n points; rebuild the segment")
            }
            val columns = Array(3) { LongArray(n.toInt()) { bytes.long } }
            val order = IntArray(n.toInt()) { bytes.int }
            if (order.any { it < 0 || it >= n }) throw AlbumError("K-D tree segment: a row number out of range; rebuild the segment")
            return KdTree(order, columns, leaf)
        }

        /** Builds a tree. [points]: (latitude, longitude, time), in order of row. */
        fun build(points: Array<LongArray>, leaf: Int = LEAF): KdTree {
            val order = Array(points.size) { it }
            val stack = ArrayList<IntArray>()
            stack.add(intArrayOf(0, points.size, 0))
            while (stack.isNotEmpty()) {
                val (lo, hi, axis) = stack.removeAt(stack.size - 1)
                if (hi - lo <= leaf) continue
                java.util.Arrays.sort(order, lo, hi) { a, b -> points[a][axis].compareTo(points[b][axis]) }
                val mid = (lo + hi) / 2
                stack.add(intArrayOf(lo, mid, (axis + 1) % 3))
                stack.add(intArrayOf(mid + 1, hi, (axis + 1) % 3))
            }
            return KdTree(IntArray(points.size) { order[it] }, Array(3) { axis -> LongArray(points.size) { points[order[it]][axis] } }, leaf)
        }
    }
}
