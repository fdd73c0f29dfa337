package gamer.app

import kotlin.math.ceil
import kotlin.math.sqrt
import org.json.JSONArray
import org.json.JSONObject

/** A benchmark as JSON, in the form of `gamer bench latency`, for `gamer bench device --import`. */
class Measurement(private val measured: Measured, private val device: String, private val os: String, private val thermal: Thermal) {
    fun json(): JSONObject = JSONObject()
        .put("schema", "gamer-latency/1")
        .put("device", device)
        .put("os", os)
        .put("backend", measured.backend)
        .put("recipe", measured.recipe)
        .put("bundle_sha256", measured.bundleSha256)
        .put("thermal", thermal.toString())
        .put("models", JSONArray(measured.models.map { (role, sha) -> JSONObject().put("role", role).put("model_sha256", sha) }))
        .put("rows", JSONArray(measured.samples.map { (layer, samples) -> row(layer, samples) }))

    fun lines(): List<String> = measured.samples.map { (layer, samples) ->
        "%-10s p50 %9.2f ms   p90 %9.2f ms   n %d".format(java.util.Locale.ROOT, layer, percentile(samples, 0.5) / 1e6, percentile(samples, 0.9) / 1e6, samples.size)
    }

    private fun row(layer: String, samples: LongArray): JSONObject {
        val average = samples.average()
        val deviation = sqrt(samples.sumOf { (it - average) * (it - average) } / samples.size)
        return JSONObject().put("layer", layer).put("step", "").put("n", samples.size).put("avg_ns", average).put("stddev_ns", deviation)
            .put("p50_ns", percentile(samples, 0.5)).put("p90_ns", percentile(samples, 0.9)).put("samples_ns", JSONArray(samples.toList()))
    }

    companion object {
        /** A percentile, by linear interpolation between the two nearest samples as in numpy. */
        fun percentile(samples: LongArray, share: Double): Double {
            val sorted = samples.sortedArray()
            val at = share * (sorted.size - 1)
            val low = at.toInt()
            val high = minOf(ceil(at).toInt(), sorted.size - 1)
            return sorted[low] + (at - low) * (sorted[high] - sorted[low])
        }
    }
}
