package gamer.bench

import kotlin.math.ceil
import kotlin.math.sqrt
import org.json.JSONArray
import org.json.JSONObject

/** One named measurement: a layer (or "component" with its name as [step]) and its raw samples in ns. */
class Row(val layer: String, val step: String, val samples: LongArray) {
    fun json(): JSONObject {
        val average = samples.average()
        val deviation = sqrt(samples.sumOf { (it - average) * (it - average) } / samples.size)
        return JSONObject().put("layer", layer).put("step", step).put("n", samples.size).put("avg_ns", average).put("stddev_ns", deviation)
            .put("p50_ns", percentile(0.5)).put("p90_ns", percentile(0.9)).put("samples_ns", JSONArray(samples.toList()))
    }

    /** A percentile, by linear interpolation between the two nearest samples as in numpy. */
    fun percentile(share: Double): Double {
        val sorted = samples.sortedArray()
        val at = share * (sorted.size - 1)
        val low = at.toInt()
        val high = minOf(ceil(at).toInt(), sorted.size - 1)
        return sorted[low] + (at - low) * (sorted[high] - sorted[low])
    }
}

/**
 * A benchmark in the form of `gamer bench latency`, for `gamer bench device --import`. [thermal]: the
 * platform's name of the thermal state, or null.
 */
class Measurement(
    private val device: String,
    private val os: String,
    private val backend: String,
    private val bundleSha256: String,
    private val thermal: String?,
    private val rows: List<Row>,
) {
    fun json(): JSONObject = JSONObject().put("schema", "gamer-latency/1").put("device", device).put("os", os).put("backend", backend)
        .put("bundle_sha256", bundleSha256).put("thermal", thermal ?: JSONObject.NULL).put("rows", JSONArray(rows.map { it.json() }))
}
