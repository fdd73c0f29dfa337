package org.pytorch.executorch;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

public abstract class Tensor {
    public static Tensor fromBlobUnsigned(ByteBuffer data, long[] shape) { throw new RuntimeException("a stub"); }

    public static Tensor fromBlob(FloatBuffer data, long[] shape) { throw new RuntimeException("a stub"); }

    public static Tensor fromBlob(IntBuffer data, long[] shape) { throw new RuntimeException("a stub"); }

    public static Tensor fromBlob(LongBuffer data, long[] shape) { throw new RuntimeException("a stub"); }

    public long[] shape() { throw new RuntimeException("a stub"); }

    public float[] getDataAsFloatArray() { throw new RuntimeException("a stub"); }
}
