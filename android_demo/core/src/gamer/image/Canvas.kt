package gamer.image

/** A picture on the canvas of a network (runtime/models/canvas.py). */
internal object Canvas {
    /** The values of a picture, 0 to 255, row by row. */
    fun values(pixels: Pixels) = FloatArray(pixels.bytes.size) { (pixels.bytes[it].toInt() and 0xFF).toFloat() }

    /** A picture of [width] × [height] at the top left of [wide] × [high] pixels of [grey]. */
    fun put(values: FloatArray, width: Int, height: Int, wide: Int, high: Int, grey: Float): FloatArray {
        if (width == wide && height == high) return values
        val out = FloatArray(3 * wide * high) { grey }
        for (y in 0 until height) System.arraycopy(values, 3 * y * width, out, 3 * y * wide, 3 * width)
        return out
    }
}
