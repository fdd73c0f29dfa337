package gamer.image

import kotlin.math.abs
import kotlin.math.ceil

/**
 * A resize filter: a kernel, and [support], the number of source pixels (at scale 1) that it reads to each
 * side.
 */
enum class Filter(val support: Double) {
    BOX(0.5) {
        override fun at(x: Double): Double = if (x > -0.5 && x <= 0.5) 1.0 else 0.0
    },
    BILINEAR(1.0) {
        override fun at(x: Double): Double = if (abs(x) < 1.0) 1.0 - abs(x) else 0.0
    },
    BICUBIC(2.0) {
        override fun at(x: Double): Double {
            val y = abs(x)
            return when {
                y < 1.0 -> ((A + 2.0) * y - (A + 3.0)) * y * y + 1
                y < 2.0 -> (((y - 5) * y + 8) * y - 4) * A
                else -> 0.0
            }
        }
    };

    abstract fun at(x: Double): Double

    private companion object {
        const val A = -0.5
    }
}

/**
 * Antialiased resizing, bit for bit as Pillow (Resample.c), so that a photo gets the same vector on a phone
 * as on a computer. The kernel widens with the reduction, weights are 22-bit fixed point, and rows and
 * columns are resized one after the other, each rounded to a byte.
 */
object Resize {
    private const val BITS = 32 - 8 - 2

    /** [from]: the part of [source] to resize: left, top, right, bottom in pixels, also fractional. */
    fun resize(source: Pixels, width: Int, height: Int, filter: Filter, from: FloatArray): Pixels {
        val across = width != source.width || from[0] != 0f || from[2] != width.toFloat()
        val down = height != source.height || from[1] != 0f || from[3] != height.toFloat()
        val columns = Weights.of(source.width, from[0], from[2], width, filter)
        val rows = Weights.of(source.height, from[1], from[3], height, filter)
        if (isTaller(source, width, height)) {
            val lower = if (down) vertical(source, height, 0, rows) else source
            return if (across) horizontal(lower, width, 0, height, columns) else lower
        }
        if (!across) return if (down) vertical(source, height, 0, rows) else source
        val first = rows.begin[0]
        val narrow = horizontal(source, width, first, rows.begin[height - 1] + rows.count[height - 1], columns)
        return if (down) vertical(narrow, height, first, rows) else narrow
    }

    /**
     * Whether columns are resized first: where the height shrinks by more than twice as much as the width
     * (Pillow 13). Each pass rounds to bytes, so the order changes the result.
     */
    private fun isTaller(source: Pixels, width: Int, height: Int): Boolean =
        source.height > height && source.height - height > (source.width - width) * 2

    private fun horizontal(source: Pixels, width: Int, first: Int, end: Int, weights: Weights): Pixels {
        val out = ByteArray(3 * width * (end - first))
        var at = 0
        for (y in first until end) {
            val line = 3 * y * source.width
            for (x in 0 until width) {
                val begin = line + 3 * weights.begin[x]
                for (band in 0 until 3) {
                    var sum = 1 shl (BITS - 1)
                    var from = begin + band
                    val k = x * weights.size
                    for (i in 0 until weights.count[x]) {
                        sum += (source.bytes[from].toInt() and 0xFF) * weights.values[k + i]
                        from += 3
                    }
                    out[at++] = clipped(sum)
                }
            }
        }
        return Pixels(width, end - first, out)
    }

    private fun vertical(source: Pixels, height: Int, first: Int, weights: Weights): Pixels {
        val line = 3 * source.width
        val out = ByteArray(line * height)
        for (y in 0 until height) {
            val begin = (weights.begin[y] - first) * line
            val k = y * weights.size
            for (x in 0 until line) {
                var sum = 1 shl (BITS - 1)
                var from = begin + x
                for (i in 0 until weights.count[y]) {
                    sum += (source.bytes[from].toInt() and 0xFF) * weights.values[k + i]
                    from += line
                }
                out[y * line + x] = clipped(sum)
            }
        }
        return Pixels(source.width, height, out)
    }

    private fun clipped(sum: Int): Byte = (sum shr BITS).coerceIn(0, 255).toByte()

    /**
     * For each output pixel: the first source pixel `begin`, their number `count`, and their weights, which
     * begin at multiples of `size` in `values`.
     */
    private class Weights(val size: Int, val begin: IntArray, val count: IntArray, val values: IntArray) {
        companion object {
            fun of(length: Int, from: Float, to: Float, out: Int, filter: Filter): Weights {
                val scale = (to - from).toDouble() / out
                val wide = maxOf(scale, 1.0)
                val support = filter.support * wide
                val size = ceil(support).toInt() * 2 + 1
                val found = Weights(size, IntArray(out), IntArray(out), IntArray(out * size))
                val row = DoubleArray(size)
                for (x in 0 until out) {
                    val center = from + (x + 0.5) * scale
                    val begin = maxOf(0, (center - support + 0.5).toInt())
                    val count = minOf(length, (center + support + 0.5).toInt()) - begin
                    var sum = 0.0
                    for (i in 0 until count) {
                        row[i] = filter.at((i + begin - center + 0.5) * (1.0 / wide))
                        sum += row[i]
                    }
                    found.begin[x] = begin
                    found.count[x] = count
                    for (i in 0 until count) found.values[x * size + i] = fixed(if (sum != 0.0) row[i] / sum else row[i])
                }
                return found
            }

            private fun fixed(weight: Double): Int = (if (weight < 0) -0.5 + weight * (1 shl BITS) else 0.5 + weight * (1 shl BITS)).toInt()
        }
    }
}
