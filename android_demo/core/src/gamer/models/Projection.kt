package gamer.models

import gamer.bundle.Channel
import gamer.common.BundleError

/**
 * v_I, float32 [H] of length 1: the mean of a photo's soft prompts over its patches. The paper (section 3.3)
 * does not say how it pools.
 */
fun Models.photoVector(code: ImageCode): FloatArray {
    val patches = code.patches ?: throw BundleError("${bundle.folder}: its image tower gives no patches, which its experts need: export it again")
    val made = project(patches)
    return TextEncoder.unit(Projection.mean(made.prompts, made.shape.last().toInt()))
}

/**
 * v_Q, float32 [H] of length 1, for a channel whose queries are the text tower's. [vector]: the refined
 * query's by that tower, float32 [D].
 */
fun Models.queryVector(vector: FloatArray): FloatArray {
    if (manifest.components.none { it.role == QUERY_HEAD }) return TextEncoder.unit(vector)
    val out = session(QUERY_HEAD).run(mapOf("state" to Tensor.floats(vector, 1, vector.size.toLong())))
    return TextEncoder.unit(out.getValue("vector").toFloats())
}

/** The channels of the bundle whose queries this program can make: a decoder's state at [EOS] it cannot. */
val Models.askedChannels: List<Channel> get() = manifest.channels.filter { it.query == "text" }

private const val QUERY_HEAD = "dpe_query"

internal object Projection {
    /** The mean of the rows of [values], each of [side] numbers. */
    fun mean(values: FloatArray, side: Int): FloatArray {
        val sum = FloatArray(side)
        for (i in values.indices) sum[i % side] += values[i]
        val rows = maxOf(values.size / side, 1)
        return FloatArray(side) { sum[it] / rows }
    }
}
