package gamer.models

import gamer.bundle.Artifact
import gamer.common.RuntimeFailure
import java.io.File
import java.io.IOException
import java.nio.ByteBuffer
import java.nio.ByteOrder
import org.json.JSONException
import org.json.JSONObject

/**
 * How a text tower reads queries (runtime/models/query_adapter.py): a line of JSON, then float32 values
 * [layers, 2, rank, width], little endian. [tower]: the source of the tower's weights that it was made for.
 */
class QueryAdapter private constructor(private val file: File, private val tower: String, private val shape: List<Int>, read: FloatArray) {
    val values: Tensor = Tensor.floats(read, *shape.map(Int::toLong).toLongArray())

    /** This adapter, if it was made for the tower; raises [RuntimeFailure] otherwise. */
    fun fitting(artifact: Artifact, source: String): QueryAdapter {
        val wanted = shapeOf(artifact)
        if (tower != source || shape != wanted) throw RuntimeFailure("$file: made for the text tower '$tower' $shape, not for '$source' ${wanted ?: "without adapters"}: train it again")
        return this
    }

    companion object {
        const val INPUT = "adapter"
        const val FILE = "query.adapter"
        private const val MAX_HEADER = 4096
        private const val MAX_VALUES = 8 shl 20

        /** A person's own, beside the album. */
        fun beside(album: File): File = File(album.path + ".adapter")

        /** The shape of the adapters that a text tower takes; null for one that takes none. */
        fun shapeOf(artifact: Artifact): List<Int>? = artifact.inputs.find { it.name == INPUT }?.shape?.map { it as Int }

        /** Raises [RuntimeFailure] for a file that is no adapter. */
        fun read(file: File): QueryAdapter = try {
            if (file.length() > MAX_HEADER + 4L * MAX_VALUES) throw IOException("${file.length()} bytes")
            val bytes = file.readBytes()
            val end = bytes.indexOf('\n'.code.toByte())
            if (end !in 0..MAX_HEADER) throw IOException("no header")
            val header = JSONObject(String(bytes, 0, end, Charsets.UTF_8))
            if (header.getInt("format") != 1) throw IOException("format ${header.getInt("format")}")
            val shape = header.getJSONArray("shape").let { a -> (0 until a.length()).map(a::getInt) }
            if (shape.size != 4 || shape[1] != 2 || shape.any { it !in 1..65_536 }) throw IOException("shape $shape")
            val count = shape.fold(1L) { a, b -> minOf(a * b, MAX_VALUES + 1L) }
            if (count > MAX_VALUES || bytes.size - end - 1L != 4 * count) throw IOException("${bytes.size - end - 1} bytes of values for shape $shape")
            val values = FloatArray(count.toInt())
            ByteBuffer.wrap(bytes, end + 1, 4 * values.size).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(values)
            if (!values.all(Float::isFinite)) throw IOException("a value is not a number")
            QueryAdapter(file, header.getString("tower"), shape, values)
        } catch (error: IOException) {
            throw refused(file, error)
        } catch (error: JSONException) {
            throw refused(file, error)
        } catch (error: StackOverflowError) { // lists in lists in lists
            throw refused(file, error)
        }

        private fun refused(file: File, error: Throwable) = RuntimeFailure("$file: not a query adapter (${error.message?.take(100)}): delete it or train it again")
    }
}
