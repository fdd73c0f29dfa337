package gamer.image

import kotlin.math.floor
import kotlin.math.max
import kotlin.math.min

/** Cuts a turned square from a picture, bit for bit as Pillow does (Reduce.c, Geometry.c). */
internal object Upright {
    private const val BANDS = 3

    /** The part of a picture from [left], [top] to before [right], [bottom]. */
    fun crop(from: Pixels, left: Int, top: Int, right: Int, bottom: Int): Pixels {
        val out = ByteArray(BANDS * (right - left) * (bottom - top))
        for (y in top until bottom) {
            System.arraycopy(from.bytes, BANDS * (y * from.width + left), out, BANDS * (y - top) * (right - left), BANDS * (right - left))
        }
        return Pixels(right - left, bottom - top, out)
    }

    /** The picture with a pixel for each block of [by] × [by], the mean of it; blocks at the edges may be smaller. */
    fun reduce(from: Pixels, by: Int): Pixels {
        if (by == 1) return from
        val (width, height) = (from.width + by - 1) / by to (from.height + by - 1) / by
        val out = ByteArray(BANDS * width * height)
        for (y in 0 until height) for (x in 0 until width) {
            val (wide, high) = min(by, from.width - x * by) to min(by, from.height - y * by)
            val scale = ((1L shl 32).toFloat() / (256 * wide * high).toFloat()).toLong() // a division as fixed point, in single precision
            for (band in 0 until BANDS) {
                var sum = (wide * high / 2).toLong()
                for (row in 0 until high) for (column in 0 until wide) {
                    sum += from.bytes[BANDS * ((y * by + row) * from.width + x * by + column) + band].toInt() and 0xFF
                }
                out[BANDS * (y * width + x) + band] = (sum * scale shr 24).toByte()
            }
        }
        return Pixels(width, height, out)
    }

    /**
     * A square of [side] pixels, of which a pixel (x, y) shows (a·x + b·y + c, d·x + e·y + f) of the picture, between whose
     * pixels it is weighted. [turn]: a to f. Black where there is no picture.
     */
    fun square(from: Pixels, side: Int, turn: DoubleArray): Pixels {
        val out = ByteArray(BANDS * side * side)
        for (y in 0 until side) for (x in 0 until side) {
            val (column, row) = (x + 0.5) to (y + 0.5)
            val across = turn[0] * column + turn[1] * row + turn[2]
            val down = turn[3] * column + turn[4] * row + turn[5]
            if (!(across >= 0 && across < from.width && down >= 0 && down < from.height)) continue
            val (left, top) = floor(across - 0.5).toInt() to floor(down - 0.5).toInt()
            val (dx, dy) = (across - 0.5 - left) to (down - 0.5 - top)
            val columns = max(left, 0) to min(left + 1, from.width - 1)
            val rows = max(top, 0) to min(top + 1, from.height - 1)
            for (band in 0 until BANDS) {
                fun at(row: Int, column: Int) = (from.bytes[BANDS * (row * from.width + column) + band].toInt() and 0xFF).toDouble()
                fun along(row: Int) = at(row, columns.first).let { it + (at(row, columns.second) - it) * dx }
                val upper = along(rows.first)
                val value = upper + (along(rows.second) - upper) * dy
                out[BANDS * (y * side + x) + band] = value.toInt().toByte()
            }
        }
        return Pixels(side, side, out)
    }
}
