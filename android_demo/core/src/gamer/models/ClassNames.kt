package gamer.models

import java.io.File
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The vectors of the names of an image tower's classes: float32 [classes][D], computed once, in some seconds, and kept in a file of
 * the cache, so that a later search has them at once. [file]: null to keep none. A file that is damaged is written anew.
 */
internal object ClassNames {
    fun vectors(labels: List<String>, dim: Int, file: File?, encode: (String) -> FloatArray): Array<FloatArray> =
        file?.let { read(it, labels.size, dim) } ?: labels.map(encode).toTypedArray().also { if (file != null) write(file, it, dim) }

    private fun read(file: File, count: Int, dim: Int): Array<FloatArray>? = try {
        val bytes = if (file.length() == 4L * count * dim) file.readBytes() else ByteArray(0)
        val floats = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()
        if (floats.remaining() != count * dim) null
        else Array(count) { FloatArray(dim).also(floats::get) }.takeIf { all -> all.all { vector -> vector.none { it.isNaN() || it.isInfinite() } } }
    } catch (error: IOException) {
        null
    }

    private fun write(file: File, vectors: Array<FloatArray>, dim: Int) {
        val out = ByteBuffer.allocate(4 * vectors.size * dim).order(ByteOrder.LITTLE_ENDIAN)
        for (vector in vectors) for (value in vector) out.putFloat(value)
        val aside = File(file.path + ".partial")
        try {
            file.parentFile?.mkdirs()
            aside.writeBytes(out.array())
            aside.renameTo(file)
        } catch (error: IOException) {
            aside.delete() // the next search computes them again
        }
    }
}
