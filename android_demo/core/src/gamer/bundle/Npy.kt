package gamer.bundle

import gamer.common.BundleError
import java.io.File
import java.io.RandomAccessFile
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.channels.FileChannel

/**
 * An array of a `.npy` file (numpy's format 1 to 3): little-endian, C order. [bytes] is positioned at the
 * first value.
 */
class Npy(val dtype: String, val shape: IntArray, val bytes: ByteBuffer) {
    private val size: Int get() = shape.fold(1) { a, b -> a * b }

    /** A copy of the float32 values. */
    fun floats(): FloatArray = values("<f4", "float32").asFloatBuffer().let { from -> FloatArray(size).also { from.get(it) } }

    /** A copy of the int64 values. */
    fun longs(): LongArray = values("<i8", "int64").asLongBuffer().let { from -> LongArray(size).also { from.get(it) } }

    /** A copy of the uint8 values; as a `Byte`, 255 is -1. */
    fun octets(): ByteArray = values("|u1", "uint8").let { from -> ByteArray(size).also { from.get(it) } }

    /** A copy of the uint16 values; as a `Short`, 65,535 is -1. */
    fun shorts(): ShortArray = values("<u2", "uint16").asShortBuffer().let { from -> ShortArray(size).also { from.get(it) } }

    private fun values(wanted: String, name: String): ByteBuffer {
        require(dtype == wanted) { "$name is wanted, not $dtype" }
        return bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN)
    }

    companion object {
        private val DTYPE = Regex("'descr':\\s*'([^']+)'")
        private val ORDER = Regex("'fortran_order':\\s*False")
        private val SHAPE = Regex("'shape':\\s*\\(([0-9, ]*)\\)")
        private const val MAX_HEADER = 1 shl 16

        /**
         * Maps the file into memory, so that its pages are read as they are used. Object arrays (pickle) are
         * refused.
         */
        fun map(file: File): Npy = RandomAccessFile(file, "r").use { f ->
            parse(f.channel.map(FileChannel.MapMode.READ_ONLY, 0, f.length()).order(ByteOrder.LITTLE_ENDIAN), file.path)
        }

        fun parse(bytes: ByteBuffer, where: String): Npy {
            fun no(why: String): Nothing = throw BundleError("$where: no array ($why): export the bundle again")
            if (bytes.remaining() < 12) no("shorter than its header")
            val magic = ByteArray(6).also { bytes.get(it) }
            if (!magic.contentEquals("\u0093NUMPY".toByteArray(Charsets.ISO_8859_1))) no("not .npy")
            val major = bytes.get().toInt()
            bytes.get()
            if (major !in 1..3) no("version $major")
            val length = if (major == 1) bytes.short.toInt() and 0xFFFF else bytes.int
            if (length < 0 || length > MAX_HEADER || length > bytes.remaining()) no("a header of $length bytes")
            val header = String(ByteArray(length).also { bytes.get(it) }, Charsets.ISO_8859_1)
            val dtype = DTYPE.find(header)?.groupValues?.get(1) ?: no("no dtype")
            if (!ORDER.containsMatchIn(header)) no("not in C order")
            val sides = SHAPE.find(header)?.groupValues?.get(1) ?: no("no shape")
            val shape = sides.split(',').map { it.trim() }.filter { it.isNotEmpty() }.map { it.toIntOrNull() ?: no("shape ($sides)") }.toIntArray()
            val size = dtype.drop(2).toIntOrNull() ?: no("dtype $dtype")
            if (dtype[0] !in "<|" || dtype[1] !in "fiub" || size < 1) no("dtype $dtype")
            // Computed in floating point: a product of sides that exceeds 64 bits must not wrap around to the
            // right size.
            if (shape.fold(size.toDouble()) { a, b -> a * b } != bytes.remaining().toDouble()) no("${bytes.remaining()} bytes for shape ($sides)")
            return Npy(dtype, shape, bytes.slice().order(ByteOrder.LITTLE_ENDIAN))
        }
    }
}
