package gamer.image

import gamer.bundle.Preprocessing
import gamer.common.RuntimeFailure
import kotlin.math.ceil
import kotlin.math.max
import kotlin.math.min

/** Pixels → the input tensor of an image tower. Normalisation is done inside the graph. */
object Prepare {
    private val filters = mapOf("bicubic" to Filter.BICUBIC, "bilinear" to Filter.BILINEAR)

    private val fits = listOf("cut", "crop", "squash")

    /**
     * Float32 [crop, crop, 3] in 0..255, antialiased. Raises [RuntimeFailure] for an unknown filter or fit.
     */
    fun tensor(pixels: Pixels, spec: Preprocessing): FloatArray {
        val filter = filters[spec.interpolation]
            ?: throw RuntimeFailure("unknown interpolation '${spec.interpolation}'; choose one of: ${filters.keys.joinToString(", ")}")
        if (spec.fit !in fits) throw RuntimeFailure("unknown fit '${spec.fit}'; choose one of: ${fits.joinToString(", ")}")
        if (spec.fit == "cut") return cut(pixels, spec, filter)
        val box = if (spec.fit == "squash") floatArrayOf(0f, 0f, pixels.width.toFloat(), pixels.height.toFloat()) else centre(pixels.width, pixels.height, spec)
        return cropped(Resize.resize(pixels, spec.crop, spec.crop, filter, box), spec.crop)
    }

    /**
     * The part of the picture that the centre crop of its resize shows: left, top, right, bottom in pixels of
     * the picture. The filters also read the pixels next to this box, so that resizing the box alone is
     * exact.
     */
    private fun centre(width: Int, height: Int, spec: Preprocessing): FloatArray {
        val short = min(width, height)
        // Rounded down, as Hugging Face's processors do; so is the margin.
        val wide = (spec.resize.toLong() * width / short).toInt()
        val high = (spec.resize.toLong() * height / short).toInt()
        val left = Math.floorDiv(wide - spec.crop, 2)
        val top = Math.floorDiv(high - spec.crop, 2)
        val across = width.toDouble() / wide
        val down = height.toDouble() / high
        return floatArrayOf(
            (left * across).toFloat(), (top * down).toFloat(), min((left + spec.crop) * across, width.toDouble()).toFloat(),
            min((top + spec.crop) * down, height.toDouble()).toFloat(),
        )
    }

    private fun cut(pixels: Pixels, spec: Preprocessing, filter: Filter): FloatArray {
        val scale = spec.resize.toDouble() / min(pixels.width, pixels.height)
        // Cut a panorama first: the crop only shows the centre, and resizing the rest would use unbounded
        // memory.
        val reach = ceil(spec.crop / scale).toInt() + 2
        val left = max(0, Math.floorDiv(pixels.width - reach, 2))
        val top = max(0, Math.floorDiv(pixels.height - reach, 2))
        val box = intArrayOf(left, top, pixels.width - left, pixels.height - top)
        val width = max(spec.crop, Math.rint((box[2] - box[0]) * scale).toInt())
        val height = max(spec.crop, Math.rint((box[3] - box[1]) * scale).toInt())
        return cropped(Resize.resize(pixels, width, height, filter, FloatArray(4) { box[it].toFloat() }), spec.crop)
    }

    private fun cropped(picture: Pixels, crop: Int): FloatArray {
        val x = (picture.width - crop) / 2
        val y = (picture.height - crop) / 2
        val out = FloatArray(crop * crop * 3)
        for (row in 0 until crop) {
            val from = 3 * ((y + row) * picture.width + x)
            for (i in 0 until crop * 3) out[row * crop * 3 + i] = (picture.bytes[from + i].toInt() and 0xFF).toFloat()
        }
        return out
    }
}
