package gamer.models

import gamer.bundle.Bundle
import gamer.bundle.Manifest
import gamer.bundle.Npy
import gamer.common.BundleError
import gamer.common.GamerError
import gamer.common.RuntimeFailure
import gamer.image.Pixels
import kotlin.math.max
import kotlin.math.min
import kotlin.math.sqrt

/**
 * A component's golden inputs, and the outputs of fp32 torch for them, by name. The component is run with the
 * code that a search runs it with.
 */
internal class Golden(private val role: String, private val arrays: Map<String, Npy>, private val manifest: Manifest) {
    /**
     * The least cosine of a golden output with that of fp32 torch, over as many outputs as [seconds] allow,
     * at least one. NaN if an output contains NaN. Raises [BundleError] for fixtures that do not fit the
     * component.
     */
    fun worstCosine(session: Session, seconds: Double = BUDGET): Double = try {
        val want = array("want").floats()
        val side = array("want").shape.last()
        val begin = System.nanoTime()
        var at = 0
        var worst = Double.POSITIVE_INFINITY
        replay(session) { got ->
            require(got.isNotEmpty() && got.size % side == 0 && at + got.size <= want.size) { "${got.size} values at $at of ${want.size}" }
            // `min` returns NaN if one of its arguments is NaN.
            for (row in 0 until got.size / side) worst = min(worst, cosine(got, row * side, want, at + row * side, side))
            at += got.size
            (System.nanoTime() - begin) / 1e9 <= seconds
        }
        require(at > 0) { "no inputs" }
        worst
    } catch (error: RuntimeException) {
        // Arrays of other shapes, types or names raise various exceptions, depending on where they are used
        // first.
        if (error is GamerError) throw error
        throw BundleError("$role: its golden fixtures do not fit it (${error.message?.take(80)}): export the bundle again")
    }

    /** Passes the component's outputs to [told], some rows at a time, until it returns false. */
    private fun replay(session: Session, told: (FloatArray) -> Boolean) {
        if (role == "llm_encoder" || "cross" in arrays) {
            throw RuntimeFailure("$role: of an encoder-decoder, which this program does not run: refine fast")
        }
        when (role) {
            "image_tower" -> images(session, told)
            "text_tower" -> texts(session, told)
            "llm_embed" -> array("ids").longs().all { told(LanguageModel.rows(session, longArrayOf(it))) }
            "llm_decoder" -> decoded(session, told)
            "dpe_query" -> first(session, "states", told)
            "face_detector", "face_encoder", LineReader.DETECTOR, LineReader.RECOGNISER -> pictures(session, told)
            else -> first(session, "patches", told)
        }
    }

    private fun images(session: Session, told: (FloatArray) -> Boolean) {
        val (count, height, width, channels) = array("pixels").shape.toList()
        val bytes = array("pixels").octets()
        val size = height * width * channels
        (0 until count).all { n ->
            val input = Models.towerInput(session, Pixels(width, height, bytes.copyOfRange(n * size, (n + 1) * size)), manifest)
            told(session.run(input).getValue("embedding").toFloats())
        }
    }

    /** Pictures whose values stay 0 to 255. */
    private fun pictures(session: Session, told: (FloatArray) -> Boolean) {
        val bytes = array("pixels").octets()
        rows(session, array("pixels").shape.toList(), FloatArray(bytes.size) { (bytes[it].toInt() and 255).toFloat() }, told)
    }

    private fun texts(session: Session, told: (FloatArray) -> Boolean) {
        val (count, width) = array("ids").shape.toList()
        val ids = array("ids").longs()
        val mask = array("mask").longs()
        require(mask.size == ids.size) { "${mask.size} of mask for ${ids.size} ids" }
        (0 until count).all { n ->
            val length = (0 until width).sumOf { mask[n * width + it] }.toInt()
            require(length in 0..width) { "a text of $length tokens" }
            told(TextEncoder.embed(session, IntArray(length) { Math.toIntExact(ids[n * width + it]) }))
        }
    }

    private fun decoded(session: Session, told: (FloatArray) -> Boolean) {
        val embeds = array("embeds").floats()
        val piece = PIECE * array("embeds").shape.last()
        BoundDecoder(session, manifest.decoder()).use { decoder ->
            (embeds.indices step piece).all { start ->
                decoder.forward(embeds.copyOfRange(start, min(start + piece, embeds.size)))
                told(decoder.hidden.toFloats())
            }
        }
    }

    /** The first output for each row of the array [name] as the first input. */
    private fun first(session: Session, name: String, told: (FloatArray) -> Boolean) =
        rows(session, array(name).shape.toList(), array(name).floats(), told)

    private fun rows(session: Session, shape: List<Int>, values: FloatArray, told: (FloatArray) -> Boolean) {
        val sides = shape.drop(1)
        val size = sides.fold(1) { a, b -> a * b }
        val artifact = session.artifact
        (0 until shape[0]).all { n ->
            val input = Tensor.floats(values.copyOfRange(n * size, (n + 1) * size), 1, *LongArray(sides.size) { sides[it].toLong() })
            told(session.run(mapOf(artifact.inputs[0].name to input)).getValue(artifact.outputs[0].name).toFloats())
        }
    }

    private fun array(name: String): Npy = arrays[name] ?: throw NoSuchElementException("no $name")

    companion object {
        private const val BUDGET = 0.2 // seconds for the fixtures of a component
        private const val PIECE = 4 // tokens of a decoder that are run between two checks of the time
        private const val MAX_BYTES = 64L shl 20 // bytes of one golden array

        /** Reads the fixtures of [role] and checks the hash of each. Raises [BundleError]. */
        fun read(bundle: Bundle, role: String): Golden = Golden(
            role,
            bundle.manifest.golden(role).mapValues { (_, file) ->
                val path = bundle.checked(file)
                if (file.bytes > MAX_BYTES) throw BundleError("$path: no golden array (${file.bytes} bytes): export the bundle again")
                Npy.map(path)
            },
            bundle.manifest,
        )

        private fun cosine(got: FloatArray, from: Int, want: FloatArray, at: Int, side: Int): Double {
            var dot = 0.0
            var ours = 0.0
            var theirs = 0.0
            for (i in 0 until side) {
                val x = got[from + i].toDouble()
                val y = want[at + i].toDouble()
                dot += x * y
                ours += x * x
                theirs += y * y
            }
            return dot / max(sqrt(ours) * sqrt(theirs), 1e-12)
        }
    }
}
