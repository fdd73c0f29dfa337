package gamer.album

import gamer.common.AlbumError
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * usearch's links as the album stores them (FORMAT.md, `hnsw:CHANNEL`), and the search of an HNSW graph:
 * greedily from the entry down to level 1, then the best candidates on the lowest level (Malkov and Yashunin
 * 2016). Every link is checked when the graph is read.
 */
internal class UsearchGraph private constructor(
    private val blob: ByteArray,
    val size: Int,
    private val top: Int,
    private val entry: Int,
    private val vectorOf: IntArray?,
    private val lowest: Int,
    private val upper: Int,
    private val levels: IntArray,
    private val firstUpper: IntArray,
) {
    private val words = ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN)

    /** How far a vector is; not a function type, whose numbers would be objects. */
    fun interface Distance {
        fun to(vector: Int): Float
    }

    private fun Distance.at(slot: Int): Float = to(if (vectorOf == null) slot else vectorOf[slot])

    /** The vectors for which [distance] is least, nearest first. [count]: the candidate-list size (ef). */
    fun nearest(count: Int, distance: Distance): IntArray {
        var at = entry
        var least = distance.at(at)
        for (level in top downTo 1) {
            do {
                var moved = false
                val from = at
                for (n in 0 until countAt(from, level)) {
                    val next = linkAt(from, level, n)
                    val d = distance.at(next)
                    if (d < least) {
                        least = d
                        at = next
                        moved = true
                    }
                }
            } while (moved)
        }
        return around(at, least, count, distance)
    }

    private fun around(start: Int, far: Float, count: Int, distance: Distance): IntArray {
        val seen = BooleanArray(size).also { it[start] = true }
        // The nearest candidate, and the furthest of those that are kept, come first.
        val next = LongHeap()
        val kept = LongHeap()
        next.add(near(far, start))
        kept.add(-near(far, start))
        while (next.size > 0) {
            val candidate = next.poll()
            if (farOf(candidate) > farOf(-kept.least()) && kept.size >= count) break
            val from = candidate.toInt()
            for (n in 0 until countAt(from, 0)) {
                val slot = linkAt(from, 0, n)
                if (seen[slot]) continue
                seen[slot] = true
                val d = distance.at(slot)
                if (kept.size >= count && d >= farOf(-kept.least())) continue
                next.add(near(d, slot))
                kept.add(-near(d, slot))
                if (kept.size > count) kept.poll()
            }
        }
        val found = IntArray(kept.size)
        for (place in found.indices.reversed()) found[place] = (-kept.poll()).toInt().let { vectorOf?.get(it) ?: it }
        return found
    }

    /** A slot and how far it is, at least 0, as one number, which is less for a nearer one. */
    private fun near(far: Float, slot: Int): Long = (far.toBits().toLong() shl 32) or slot.toLong()

    private fun farOf(near: Long): Float = Float.fromBits((near shr 32).toInt())

    /** The number of links of a slot on a level; none above its own. */
    private fun countAt(slot: Int, level: Int): Int = when {
        level == 0 -> blob[lowest + slot * PACKED].toInt() and 0xFF
        levels[slot] < level -> 0
        else -> words.getInt(upper + (firstUpper[slot] + level - 1) * UPPER)
    }

    private fun linkAt(slot: Int, level: Int, n: Int): Int =
        if (level == 0) three(lowest + slot * PACKED + 1 + 3 * n) else words.getInt(upper + (firstUpper[slot] + level - 1) * UPPER + 4 + 4 * n)

    private fun three(at: Int): Int = (blob[at].toInt() and 0xFF) or ((blob[at + 1].toInt() and 0xFF) shl 8) or ((blob[at + 2].toInt() and 0xFF) shl 16)

    private fun check() {
        for (slot in 0 until size) {
            if ((blob[lowest + slot * PACKED].toInt() and 0xFF) > WIDE_0) nowhere()
            for (level in 0..levels[slot]) {
                if (level > 0 && words.getInt(upper + (firstUpper[slot] + level - 1) * UPPER) !in 0..WIDE) nowhere()
                for (n in 0 until countAt(slot, level)) {
                    val link = linkAt(slot, level, n)
                    if (link < 0 || link >= size) nowhere()
                    if (levels[link] < level) throw AlbumError("HNSW segment: links to nodes that are not that high; rebuild the segment")
                }
            }
        }
    }

    private fun nowhere(): Nothing = throw AlbumError("HNSW segment: links that lead nowhere; rebuild the segment")

    companion object {
        private const val HEADS = 64 + 40
        private const val WIDE = 16
        private const val WIDE_0 = 32
        private const val PACKED = 1 + 3 * WIDE_0
        private const val UPPER = 4 * (1 + WIDE)

        /** Reads the links of [n] vectors from [blob], from [begin] to its end. Raises [AlbumError]. */
        fun parse(blob: ByteArray, begin: Int, n: Int): UsearchGraph {
            fun no(why: String): Nothing = throw AlbumError("HNSW segment: $why; rebuild the segment")
            val left = blob.size - begin
            if (left < HEADS + 1 + n || String(blob, begin, 7, Charsets.ISO_8859_1) != "usearch" || blob[begin + HEADS] !in 0..1) no("not a graph of usearch")
            val words = ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN)
            val inOrder = blob[begin + HEADS].toInt() == 1
            val levels = IntArray(n) { blob[begin + HEADS + 1 + it].toInt() and 0xFF }
            val firstUpper = IntArray(n)
            for (i in 1 until n) firstUpper[i] = firstUpper[i - 1] + levels[i - 1]
            val high = levels.sumOf { it.toLong() }
            val keys = begin + HEADS + 1 + n
            val lowest = keys + if (inOrder) 0 else 4 * n
            val wanted = (lowest - begin).toLong() + n.toLong() * PACKED + high * UPPER
            if (left.toLong() != wanted) no("$left bytes where $wanted were promised")
            val (nodes, wide, wide0, top, entry) = List(5) { words.getLong(begin + 64 + 8 * it) }
            val fits = nodes == n.toLong() && wide == WIDE.toLong() && wide0 == WIDE_0.toLong()
            if (!fits || (n > 0 && (entry !in 0 until n || top != levels.max().toLong() || top != levels[entry.toInt()].toLong()))) {
                no("its head does not fit its nodes")
            }
            val vectorOf = if (inOrder) null else IntArray(n) { words.getInt(keys + 4 * it) }
            if (vectorOf != null && !vectorOf.sortedArray().contentEquals(IntArray(n) { it })) no("keys that are not 0..n-1")
            return UsearchGraph(blob, n, top.toInt(), entry.toInt(), vectorOf, lowest, lowest + n * PACKED, levels, firstUpper).also { it.check() }
        }
    }
}

/** A binary heap of unboxed numbers, the least one first. */
internal class LongHeap {
    private var items = LongArray(64)
    var size = 0
        private set

    fun least(): Long = items[0]

    fun add(item: Long) {
        if (size == items.size) items = items.copyOf(2 * size)
        var at = size++
        while (at > 0 && item < items[(at - 1) / 2]) {
            items[at] = items[(at - 1) / 2]
            at = (at - 1) / 2
        }
        items[at] = item
    }

    /** Takes the least number away, and returns it. */
    fun poll(): Long {
        val least = items[0]
        val item = items[--size]
        var at = 0
        while (true) {
            var child = 2 * at + 1
            if (child >= size) break
            if (child + 1 < size && items[child + 1] < items[child]) child++
            if (items[child] >= item) break
            items[at] = items[child]
            at = child
        }
        items[at] = item
        return least
    }
}
