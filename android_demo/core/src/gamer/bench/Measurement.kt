package gamer.bench

import java.util.Locale
import kotlin.math.ceil
import kotlin.math.sqrt
import org.json.JSONArray
import org.json.JSONObject

/**
 * One named measurement: a layer (or "component" with its name as [step]) and its raw samples in ns. [first]: the run before them,
 * which opened the component; null for a layer.
 */
class Row(val layer: String, val step: String, val samples: LongArray, val first: Long? = null) {
    fun json(): JSONObject {
        val average = samples.average()
        val deviation = sqrt(samples.sumOf { (it - average) * (it - average) } / samples.size)
        return JSONObject().put("layer", layer).put("step", step).put("n", samples.size).put("avg_ns", average).put("stddev_ns", deviation)
            .put("p50_ns", percentile(0.5)).put("p90_ns", percentile(0.9)).put("samples_ns", JSONArray(samples.toList())).putOpt("first_ns", first)
    }

    fun line(): String =
        "%-24s p50 %9.2f ms   p90 %9.2f ms   n %d".format(Locale.ROOT, step.ifEmpty { layer }, percentile(0.5) / 1e6, percentile(0.9) / 1e6, samples.size)

    /** A percentile, by linear interpolation between the two nearest samples as in numpy. */
    fun percentile(share: Double): Double {
        val sorted = samples.sortedArray()
        val at = share * (sorted.size - 1)
        val low = at.toInt()
        val high = minOf(ceil(at).toInt(), sorted.size - 1)
        return sorted[low] + (at - low) * (sorted[high] - sorted[low])
    }
}

/** The operators of one kind in a component: how many, and the nanoseconds of all of them in one run. */
class Operator(val step: String, val operator: String, val times: Int, val ns: Double) {
    fun json(): JSONObject = JSONObject().put("step", step).put("operator", operator).put("times", times).put("ns", ns)
}

/** What was measured on. [model], [codename]: the phone's codes. [patch]: Android's security patch level. */
class Device(
    val name: String,
    val os: String,
    val model: String = "",
    val codename: String = "",
    val soc: String = "",
    val patch: String = "",
    val app: String = "",
    val cores: Int = Runtime.getRuntime().availableProcessors(),
)

/** Its state before or after; null for what it does not tell. [frequencies]: of each core. [battery]: percent. */
class State(
    val thermal: String? = null,
    private val temperature: Double? = null,
    private val frequencies: List<Double> = emptyList(),
    private val battery: Int? = null,
    private val saver: Boolean? = null,
) {
    fun json(): JSONObject = JSONObject().putOpt("thermal", thermal).putOpt("temperature_c", temperature).put("frequencies_mhz", JSONArray(frequencies))
        .putOpt("battery", battery).putOpt("saver", saver)
}

/** What ran: the backend by its name in measurements, the engine with its version, and the bundle. */
class Ran(val backend: String, val engine: String, val threads: Int, val bundleSha256: String, val recipe: String)

/** A benchmark in the form of `gamer bench latency`, for `gamer bench device --import`. */
class Measurement(
    private val device: Device,
    private val ran: Ran,
    private val before: State,
    private val after: State,
    private val rows: List<Row>,
    private val operators: List<Operator> = emptyList(),
) {
    fun json(): JSONObject = JSONObject().put("schema", "gamer-latency/1").put("device", device.name).put("os", device.os)
        .put("model", device.model).put("codename", device.codename).put("soc", device.soc).put("patch", device.patch).put("app", device.app)
        .put("backend", ran.backend).put("engine", ran.engine).put("threads", ran.threads)
        .put("recipe", ran.recipe).put("bundle_sha256", ran.bundleSha256)
        .put("machine", JSONObject().put("cores", device.cores))
        .put("thermal", after.thermal ?: JSONObject.NULL).put("before", before.json()).put("after", after.json())
        .put("rows", JSONArray(rows.map { it.json() })).put("operators", JSONArray(operators.map { it.json() }))

    fun lines(): List<String> = rows.map { it.line() } + "thermal ${before.thermal}, then ${after.thermal}" + "backend ${ran.backend}" + "bundle ${ran.bundleSha256.take(12)}"
}
