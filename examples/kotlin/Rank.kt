// Ranks sentences for a photograph with the two towers of a bundle, as its manifest says:
//
//     examples/kotlin/run.sh out/pocket cat.png "a cat" "a rocket at night" "a cup of coffee"
//
// Checks itself with the bundle's golden files, then prints the cosine of each sentence with the photograph. Only public
// classes of the core (android_demo/core/src) are used: its tokenizer, Pillow's resize, `.npy` files, and OrtBackend,
// which opens ONNX Runtime with its telemetry off. The library reads ORT_DISABLE_TELEMETRY when it is loaded: run.sh sets
// it; on Android, Os.setenv does, before the first Tower.

import gamer.bundle.Bundle
import gamer.bundle.Npy
import gamer.image.Pixels
import gamer.image.Prepare
import gamer.models.OrtBackend
import gamer.models.Tensor
import gamer.tokens.Tokenizer
import java.io.File
import javax.imageio.ImageIO
import org.json.JSONArray
import org.json.JSONObject

fun JSONArray.objects(): List<JSONObject> = (0 until length()).map { getJSONObject(it) }

fun cosine(a: FloatArray, b: FloatArray): Double = a.indices.sumOf { a[it].toDouble() * b[it] } // both of unit length

class Tower(private val bundle: Bundle, private val role: String) {
    private val artifact = bundle.manifest.artifact(role, "onnx")
    private val session = OrtBackend.open(bundle.checked(artifact), artifact, threads = 2)
    private val contract = JSONObject(bundle.inside("manifest.json").readText()).getJSONArray("artifacts").objects()
        .single { it.getString("path") == artifact.path }.getJSONObject("contract")
    private val output = contract.getJSONArray("outputs").objects().first { it.getBoolean("unit_length") }.getString("name")
    private val golden = contract.getJSONObject("golden")

    fun input(name: String): JSONObject = contract.getJSONArray("inputs").objects().single { it.getString("name") == name }

    // The dozen lines: what `prepare` of each input says.
    fun vector(photo: Pixels): FloatArray {
        val known = input("pixels").run { getString("normalised_by") == "graph" && getJSONArray("range").getDouble(1) == 255.0 }
        check(known && artifact.inputs[0].dtype == "float32") { "$role: wants pixels that this program does not prepare" }
        val spec = bundle.manifest.pixels() // `preprocessing`: resize, crop, interpolation, fit
        val side = spec.crop.toLong()
        return run(mapOf("pixels" to Tensor.floats(Prepare.tensor(photo, spec), 1, side, side, 3))) // the graph normalises
    }

    fun vector(ids: IntArray): FloatArray {
        val most = input("input_ids").optInt("max_length", 0)
        val count = if (most > 0) minOf(ids.size, most) else ids.size
        val width = maxOf(count, input("input_ids").optInt("pad_to", 0))
        val tokens = LongArray(width) { if (it < count) ids[it].toLong() else 0 }
        val mask = LongArray(width) { if (it < count) 1 else 0 }
        val row = mapOf("input_ids" to tokens, "attention_mask" to mask).mapValues { Tensor.longs(it.value, 1, width.toLong()) }
        val zeros = artifact.inputs.drop(2).associate { spec -> spec.name to Tensor.of(Tensor.Type.FLOAT32, *spec.shape.map { (it as Int).toLong() }.toLongArray()) }
        return run(row + zeros) // a query adapter, here left out
    }

    private fun run(inputs: Map<String, Tensor>): FloatArray = session.run(inputs).getValue(output).toFloats()

    fun goldenPhotos(): List<Pixels> {
        val all = Npy.map(bundle.inside(golden.getJSONObject("inputs").getString("pixels")))
        val (count, height, width) = all.shape
        val size = 3 * height * width
        return (0 until count).map { Pixels(width, height, all.octets().copyOfRange(it * size, (it + 1) * size)) }
    }

    fun goldenTexts(): List<Pair<String, IntArray>> = JSONArray(bundle.inside(golden.getString("texts")).readText()).objects().map { row ->
        row.getString("text") to row.getJSONArray("ids").let { ids -> IntArray(ids.length()) { ids.getInt(it) } }
    }

    fun compare(got: List<FloatArray>) {
        val want = Npy.map(bundle.inside(golden.getString("want")))
        val rows = want.floats().toList().chunked(want.shape[1]) { it.toFloatArray() }
        check(rows.size == got.size) { "$role: ${got.size} vectors, ${rows.size} are wanted" }
        val (worst, least) = got.zip(rows, ::cosine).min() to golden.getDouble("cosine")
        check(worst >= least) { "$role: cosine %.4f, $least is wanted".format(worst) }
        println("$role: golden files reproduced, worst cosine %.4f (at least $least)".format(worst))
    }
}

// On Android: BitmapFactory and Bitmap.getPixels. A photograph with an EXIF orientation is turned upright first.
fun decoded(file: File): Pixels = ImageIO.read(file).let { image ->
    val rgb = image.getRGB(0, 0, image.width, image.height, null, 0, image.width)
    Pixels(image.width, image.height, ByteArray(3 * rgb.size) { (rgb[it / 3] shr (16 - 8 * (it % 3))).toByte() })
}

fun main(arguments: Array<String>) {
    val bundle = Bundle.open(File(arguments[0]))
    val (images, texts) = listOf("image_tower", "text_tower").map { Tower(bundle, it) }
    val tokenizer = Tokenizer.read(bundle.checked(bundle.manifest.file(texts.input("input_ids").getString("file"))))

    images.compare(images.goldenPhotos().map(images::vector))
    for ((text, ids) in texts.goldenTexts()) check(tokenizer.encode(text).contentEquals(ids)) { "the tokenizer differs: $text" }
    texts.compare(texts.goldenTexts().map { texts.vector(it.second) })

    val photo = images.vector(decoded(File(arguments[1])))
    val scores = arguments.drop(2).associateWith { cosine(photo, texts.vector(tokenizer.encode(it))) }
    for ((text, score) in scores.entries.sortedByDescending { it.value }) println("%.3f  $text".format(score))
}
