package gamer.image

/** A picture: uint8 RGB, row by row, three bytes per pixel (`bytes[3 * (y * width + x)]` is red). */
class Pixels(val width: Int, val height: Int, val bytes: ByteArray) {
    init {
        require(width >= 1 && height >= 1 && bytes.size.toLong() == 3L * width * height) { "RGB of $width × $height has ${3L * width * height} bytes, not ${bytes.size}" }
    }
}
