package gamer.replay

import gamer.album.Border
import gamer.album.Cube
import java.util.Base64
import org.json.JSONArray
import org.json.JSONObject

/** Conversions between JSON and this core's values. */
fun JSONObject.ints(name: String): IntArray = getJSONArray(name).let { a -> IntArray(a.length()) { a.getInt(it) } }

fun JSONObject.floats(name: String): FloatArray = getJSONArray(name).floats()

fun JSONArray.floats(): FloatArray = FloatArray(length()) { getDouble(it).toFloat() }

fun JSONObject.reals(name: String): List<Double> = getJSONArray(name).let { a -> (0 until a.length()).map { a.getDouble(it) } }

fun JSONObject.flags(name: String): BooleanArray = getJSONArray(name).let { a -> BooleanArray(a.length()) { a.getBoolean(it) } }

fun JSONObject.objects(name: String): List<JSONObject> = getJSONArray(name).objects()

fun JSONArray.objects(): List<JSONObject> = (0 until length()).map { getJSONObject(it) }

fun JSONArray.arrays(): List<JSONArray> = (0 until length()).map { getJSONArray(it) }

fun JSONObject.texts(name: String): List<String> = getJSONArray(name).let { a -> (0 until a.length()).map { a.getString(it) } }

fun JSONObject.longOrNull(name: String): Long? = if (isNull(name)) null else getLong(name)

fun JSONObject.realOrNull(name: String): Double? = if (isNull(name)) null else getDouble(name)

fun JSONObject.textOrNull(name: String): String? = if (isNull(name)) null else getString(name)

fun JSONObject.bytes(name: String): ByteArray = Base64.getDecoder().decode(getString(name))

fun json(vararg pairs: Pair<String, Any?>): JSONObject = JSONObject().also { o -> pairs.forEach { (name, value) -> o.put(name, value ?: JSONObject.NULL) } }

fun list(values: Iterable<Any?>): JSONArray = JSONArray().also { a -> values.forEach { a.put(it ?: JSONObject.NULL) } }

fun list(values: IntArray): JSONArray = list(values.asIterable())

/** Each float32 as the shortest decimal that rounds to it; -∞ as null. */
fun list(values: FloatArray): JSONArray = list(values.map { if (it == Float.NEGATIVE_INFINITY) null else real(it) })

fun real(value: Float): Double = value.toString().toDouble()

fun base64(bytes: ByteArray): String = Base64.getEncoder().encodeToString(bytes)

fun cube(raw: JSONObject): Cube = Cube(
    raw.longOrNull("start"), raw.longOrNull("end"), raw.realOrNull("south"), raw.realOrNull("north"), raw.realOrNull("west"), raw.realOrNull("east"),
    if (raw.has("border")) Border("", raw.getJSONArray("border").arrays().map { ring(it) }) else null,
)

private fun ring(points: JSONArray): IntArray = points.arrays().flatMap { listOf(it.getInt(0), it.getInt(1)) }.toIntArray()

fun json(cube: Cube): JSONObject =
    json("start" to cube.start, "end" to cube.end, "south" to cube.south, "north" to cube.north, "west" to cube.west, "east" to cube.east)

/** A damaged copy of [blob]: some bytes overwritten (`edits`), the rest cut off (`length`). */
fun edited(blob: ByteArray, given: JSONObject): ByteArray {
    val out = blob.copyOf()
    if (given.has("edits")) for (edit in given.getJSONArray("edits").arrays()) gamer.bundle.Hex.bytes(edit.getString(1)).copyInto(out, edit.getInt(0))
    return if (given.isNull("length")) out else out.copyOf(minOf(out.size, given.getInt("length")))
}
