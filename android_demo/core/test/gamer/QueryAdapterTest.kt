package gamer

import gamer.common.RuntimeFailure
import gamer.models.QueryAdapter
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.file.Files
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue

/** Query adapters as files: what was written is read, and nothing else is taken for one. */
class QueryAdapterTest {
    private val file = File(Files.createTempDirectory("adapter").toFile(), "x.adapter")

    @Test
    fun `values are read in their shape`() {
        val values = FloatArray(16) { it / 4f }
        write("""{"format": 1, "tower": "a tower", "shape": [1, 2, 2, 4]}""", values)
        val read = QueryAdapter.read(file).values
        assertContentEquals(longArrayOf(1, 2, 2, 4), read.shape)
        assertContentEquals(values, read.toFloats())
        assertEquals("mine.gamer.adapter", QueryAdapter.beside(File("mine.gamer")).path)
    }

    @Test
    fun `other files are refused`() {
        val whole = FloatArray(16)
        val cases = listOf(
            """{"format": 2, "tower": "a", "shape": [1, 2, 2, 4]}""" to whole,
            """{"format": 1, "tower": "a", "shape": [1, 3, 2, 4]}""" to whole,
            """{"format": 1, "tower": "a", "shape": [60000, 2, 60000, 60000]}""" to whole,
            """{"format": 1, "shape": [1, 2, 2, 4]}""" to whole,
            """{"format": 1, "tower": "a", "shape": [1, 2, 2, 4]}""" to FloatArray(15),
            """{"format": 1, "tower": "a", "shape": [1, 2, 2, 4]}""" to FloatArray(16) { Float.NaN },
            "[".repeat(4000) to whole,
        )
        for ((header, values) in cases) {
            write(header, values)
            val error = assertFailsWith<RuntimeFailure> { QueryAdapter.read(file) }
            assertTrue("not a query adapter" in error.message.orEmpty(), "${header.take(60)}: ${error.message}")
        }
    }

    private fun write(header: String, values: FloatArray) {
        val bytes = ByteBuffer.allocate(4 * values.size).order(ByteOrder.LITTLE_ENDIAN)
        values.forEach(bytes::putFloat)
        file.writeBytes(header.toByteArray() + '\n'.code.toByte() + bytes.array())
    }
}
