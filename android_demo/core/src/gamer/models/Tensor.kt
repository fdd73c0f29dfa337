package gamer.models

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.FloatBuffer
import java.nio.IntBuffer
import java.nio.LongBuffer

/**
 * An array outside the Java heap, which a backend reads and writes in place. Values are stored row by row.
 */
class Tensor private constructor(val type: Type, val shape: LongArray, val bytes: ByteBuffer) {
    enum class Type(val size: Int) { FLOAT32(4), INT64(8), INT32(4), UINT8(1) }

    val floats: FloatBuffer get() = bytes.duplicate().order(ByteOrder.nativeOrder()).asFloatBuffer()
    val longs: LongBuffer get() = bytes.duplicate().order(ByteOrder.nativeOrder()).asLongBuffer()
    val ints: IntBuffer get() = bytes.duplicate().order(ByteOrder.nativeOrder()).asIntBuffer()

    /** A copy of the float32 values. */
    fun toFloats(): FloatArray = FloatArray(floats.remaining()).also { floats.get(it) }

    companion object {
        fun of(type: Type, vararg shape: Long): Tensor {
            val count = shape.fold(1L) { a, b -> a * b }
            return Tensor(type, shape, ByteBuffer.allocateDirect(Math.toIntExact(count * type.size)).order(ByteOrder.nativeOrder()))
        }

        fun floats(values: FloatArray, vararg shape: Long): Tensor = of(Type.FLOAT32, *shape).also { it.floats.put(values) }

        fun longs(values: LongArray, vararg shape: Long): Tensor = of(Type.INT64, *shape).also { it.longs.put(values) }

        fun bytes(values: ByteArray, vararg shape: Long): Tensor = of(Type.UINT8, *shape).also { it.bytes.duplicate().put(values) }
    }
}
