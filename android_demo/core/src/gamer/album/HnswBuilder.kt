package gamer.album

import java.nio.ByteBuffer
import java.nio.ByteOrder
import kotlin.math.ln
import kotlin.math.sqrt

/**
 * Builds an HNSW graph over int8 codes (Malkov and Yashunin 2016, arXiv 1603.09320, algorithms 1, 2 and 4), with
 * usearch's parameters and cosine distance, and writes it as the album stores it (FORMAT.md, `hnsw:CHANNEL`). The levels
 * are drawn from the vectors' numbers, so the same vectors give the same graph. [codes]: int8 [n · dim].
 */
internal class HnswBuilder(private val codes: ByteArray, private val dim: Int) {
    private val size = if (dim == 0) 0 else codes.size / dim
    private val levels = IntArray(size) { levelOf(it) }
    private val lowest = IntArray(size * (1 + WIDE_0)) // of each node a count, then its links
    private val upper = Array(size) { IntArray(levels[it] * (1 + WIDE)) }
    private val inverse = FloatArray(size) { at ->
        var sum = 0
        for (i in at * dim until (at + 1) * dim) sum += codes[i] * codes[i]
        if (sum == 0) 0f else (1.0 / sqrt(sum.toDouble())).toFloat()
    }
    private var entry = 0
    private var top = -1
    private val stamps = IntArray(size)
    private var stamp = 0

    /** The links with usearch's heads; null if [isStopped] ended it. */
    fun build(isStopped: () -> Boolean = { false }): ByteArray? {
        for (node in 0 until size) {
            if (node % STOP_EVERY == 0 && isStopped()) return null
            insert(node)
        }
        return toBytes()
    }

    private fun insert(node: Int) {
        val level = levels[node]
        if (top < 0) {
            entry = node
            top = level
            return
        }
        var at = entry
        var least = far(node, at)
        for (above in top downTo level + 1) {
            do {
                var moved = false
                each(at, above) { next ->
                    val d = far(node, next)
                    if (d < least) {
                        least = d
                        at = next
                        moved = true
                    }
                }
            } while (moved)
        }
        for (on in minOf(level, top) downTo 0) {
            val near = around(node, at, on)
            at = near[0]
            val chosen = diverse(node, near, WIDE)
            setLinks(node, on, chosen)
            for (other in chosen) link(other, node, on)
        }
        if (level > top) {
            entry = node
            top = level
        }
    }

    /** The [EXPANSION] nodes of a level that are nearest to [node], as far as they are found from [start]; nearest first. */
    private fun around(node: Int, start: Int, level: Int): IntArray {
        stamp++
        stamps[start] = stamp
        val next = FarHeap(nearestFirst = true)
        val kept = FarHeap(nearestFirst = false)
        far(node, start).let { next.add(start, it); kept.add(start, it) }
        while (next.size > 0) {
            if (next.far > kept.far && kept.size >= EXPANSION) break
            each(next.take(), level) { slot ->
                if (stamps[slot] != stamp) {
                    stamps[slot] = stamp
                    val d = far(node, slot)
                    if (kept.size < EXPANSION || d < kept.far) {
                        next.add(slot, d)
                        kept.add(slot, d)
                        if (kept.size > EXPANSION) kept.take()
                    }
                }
            }
        }
        val out = IntArray(kept.size)
        for (i in out.indices) out[i] = kept.take()
        return sorted(node, out)
    }

    /**
     * Of candidates, nearest first, at most [most]: each is nearer to [node] than to any that was chosen before it, so that
     * links lead into all directions.
     */
    private fun diverse(node: Int, candidates: IntArray, most: Int): IntArray {
        if (candidates.size <= 1) return candidates
        val chosen = IntArray(most)
        var count = 0
        for (candidate in candidates) {
            if (count == most) break
            val d = far(node, candidate)
            if ((0 until count).all { far(chosen[it], candidate) >= d }) chosen[count++] = candidate
        }
        return chosen.copyOf(count)
    }

    /** Links [from] to [to]; where it has no room, the most diverse of all stay. */
    private fun link(from: Int, to: Int, level: Int) {
        val links = links(from, level)
        val begin = begin(from, level)
        val room = if (level == 0) WIDE_0 else WIDE
        val count = links[begin]
        if (count < room) {
            links[begin] = count + 1
            links[begin + 1 + count] = to
            return
        }
        val all = IntArray(count + 1) { if (it < count) links[begin + 1 + it] else to }
        setLinks(from, level, diverse(from, sorted(from, all), room))
    }

    /**
     * By distance from [node]; equal ones (copies of a photo) in an order that differs from node to node, or all of them
     * would link to the same few, and the rest would not be found.
     */
    private fun sorted(node: Int, others: IntArray): IntArray {
        val keys = LongArray(others.size) { at ->
            // Distances are not negative, but for rounding: their bits are in their order.
            val bits = maxOf(0f, far(node, others[at])).toRawBits().toLong()
            (bits shl 32) or (mixed(others[at].toLong() * size + node) ushr 32)
        }
        return others.indices.sortedBy { keys[it] }.map { others[it] }.toIntArray()
    }

    private fun setLinks(node: Int, level: Int, to: IntArray) {
        val links = links(node, level)
        val begin = begin(node, level)
        links[begin] = to.size
        to.copyInto(links, begin + 1)
    }

    /** Where a node's count and links of a level are: in this array, from [begin] on. */
    private fun links(node: Int, level: Int): IntArray = if (level == 0) lowest else upper[node]

    private fun begin(node: Int, level: Int): Int = if (level == 0) node * (1 + WIDE_0) else (level - 1) * (1 + WIDE)

    private inline fun each(node: Int, level: Int, use: (Int) -> Unit) {
        val links = links(node, level)
        val begin = begin(node, level)
        for (i in begin + 1..begin + links[begin]) use(links[i])
    }

    private fun far(a: Int, b: Int): Float {
        var sum = 0
        val one = a * dim
        val other = b * dim
        for (i in 0 until dim) sum += codes[one + i] * codes[other + i]
        return 1f - sum * inverse[a] * inverse[b]
    }

    private fun toBytes(): ByteArray {
        val head = 64 + 40
        val out = ByteBuffer.allocate(head + 1 + size + size * PACKED + upper.sumOf { 4 * it.size }).order(ByteOrder.LITTLE_ENDIAN)
        out.put(HEAD).putLong(size.toLong()).putLong(0).putLong(dim.toLong())
        out.position(64)
        for (number in listOf(size, WIDE, WIDE_0, top, entry)) out.putLong(number.toLong())
        out.put(1)
        for (level in levels) out.put(level.toByte())
        for (node in 0 until size) {
            val begin = node * (1 + WIDE_0)
            val count = lowest[begin]
            out.put(count.toByte())
            for (i in 0 until WIDE_0) {
                val link = if (i < count) lowest[begin + 1 + i] else 0
                out.put(link.toByte()).put((link shr 8).toByte()).put((link shr 16).toByte())
            }
        }
        for (links in upper) links.forEach { out.putInt(it) }
        return out.array()
    }

    /** A binary heap of nodes by their distance. */
    private class FarHeap(private val nearestFirst: Boolean) {
        private var nodes = IntArray(2 * EXPANSION)
        private var fars = FloatArray(2 * EXPANSION)
        var size = 0
            private set

        /** Of the first node. */
        val far: Float get() = fars[0]

        fun add(node: Int, far: Float) {
            if (size == nodes.size) {
                nodes = nodes.copyOf(2 * size)
                fars = fars.copyOf(2 * size)
            }
            var at = size++
            while (at > 0 && before(far, fars[(at - 1) / 2])) {
                move((at - 1) / 2, at)
                at = (at - 1) / 2
            }
            nodes[at] = node
            fars[at] = far
        }

        fun take(): Int {
            val first = nodes[0]
            val node = nodes[--size]
            val far = fars[size]
            var at = 0
            while (true) {
                var child = 2 * at + 1
                if (child >= size) break
                if (child + 1 < size && before(fars[child + 1], fars[child])) child++
                if (!before(fars[child], far)) break
                move(child, at)
                at = child
            }
            nodes[at] = node
            fars[at] = far
            return first
        }

        private fun move(from: Int, to: Int) {
            nodes[to] = nodes[from]
            fars[to] = fars[from]
        }

        private fun before(a: Float, b: Float): Boolean = if (nearestFirst) a < b else a > b
    }

    companion object {
        const val FROM = 1_000 // vectors: a channel with fewer gets no graph
        const val MOST = (1 shl 24) - 1 // vectors: a link has three bytes
        private const val WIDE = 16
        private const val WIDE_0 = 32
        private const val EXPANSION = 96
        private const val PACKED = 1 + 3 * WIDE_0
        private const val HIGHEST = 15
        private const val STOP_EVERY = 64

        // usearch 2.26.6; cosine of int8, keys of 64 bits, slots of 32.
        private val HEAD = "usearch".toByteArray() + byteArrayOf(2, 0, 26, 0, 6, 0, 0x63, 0x17, 0x0e, 0x0f)

        /** Level l or more with probability 16^-l, by SplitMix64 ([mixed]) of the vector's number. */
        private fun levelOf(number: Int): Int {
            val uniform = ((mixed(number.toLong()) ushr 11) + 1) * (1.0 / (1L shl 53)) // in (0, 1]
            return minOf(HIGHEST, (-ln(uniform) / ln(WIDE.toDouble())).toInt())
        }

        private fun mixed(number: Long): Long {
            var z = (number + 1) * -0x61c8864680b583ebL
            z = (z xor (z ushr 30)) * -0x40a7b892e31b1a47L
            z = (z xor (z ushr 27)) * -0x6b2fb644ecceee15L
            return z xor (z ushr 31)
        }
    }
}
