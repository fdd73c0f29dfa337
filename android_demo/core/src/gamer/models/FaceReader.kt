package gamer.models

import gamer.common.RuntimeFailure
import gamer.image.Canvas
import gamer.image.Filter
import gamer.image.Pixels
import gamer.image.Resize
import gamer.image.Upright
import gamer.people.Face
import gamer.people.FaceBox
import kotlin.math.hypot
import kotlin.math.max
import kotlin.math.min

/** A window of the detector: its score, and its box in pixels of the photo. */
internal class DetectedFace(val score: Double, val box: FaceBox)

/**
 * Finds the faces in a photo, turns them upright and makes a vector of each (runtime/models/faces.py). [name]: of the encoder;
 * vectors of another one cannot be compared with these.
 */
class FaceReader(private val detector: Session, private val encoder: Session, private val landmarks: Landmarks, val name: String) {
    init {
        val sides = detector.artifact.inputs.firstOrNull()?.shape?.takeIf { it.size == 4 }?.subList(1, 3)
        if (sides == null || sides.any { it is Int && it !in 1..MAX_SIDE }) throw RuntimeFailure("the face detector takes no picture: export it again")
        if (2 * landmarks.count != UPRIGHT.size) {
            throw RuntimeFailure("the bundle's forest finds ${landmarks.count} landmarks, ${UPRIGHT.size / 2} are wanted: export it again")
        }
    }

    /** The faces, the clearest first, at most [MAX_FACES]. */
    fun read(pixels: Pixels): List<Face> {
        val found = detect(pixels).filter { it.box.width >= LEAST_FACE }.take(MAX_FACES)
        return found.map { face -> Face(relative(face.box, pixels), Math.rint(face.score * 1e4) / 1e4, encode(chip(pixels, face.box))) }
    }

    /** The windows that show a face, the best of those that overlap, the clearest first. */
    internal fun detect(pixels: Pixels): List<DetectedFace> =
        suppressed(pyramid(pixels).flatMap { windows(it, pixels) }.sortedByDescending { it.score }.take(MAX_WINDOWS))

    private fun windows(picture: Pixels, photo: Pixels): List<DetectedFace> {
        val wanted = detector.artifact.inputs[0]
        val (high, wide) = listOf(1 to picture.height, 2 to picture.width).map { (side, own) -> wanted.shape[side] as? Int ?: own }
        if (high < picture.height || wide < picture.width) throw RuntimeFailure("the bundle's network takes $wide × $high pixels: export it again")
        val values = Canvas.put(Canvas.values(picture), picture.width, picture.height, wide, high, GREY)
        val scores = detector.run(mapOf(wanted.name to Tensor.floats(values, 1, high.toLong(), wide.toLong(), 3))).getValue(detector.artifact.outputs[0].name)
        val columns = scores.shape.last().toInt()
        val (across, down) = photo.width.toDouble() / picture.width to photo.height.toDouble() / picture.height
        return scores.toFloats().withIndex().filter { it.value > 0 }.mapNotNull { (at, score) ->
            val (left, top) = STRIDE * (at % columns) + FIRST - WINDOW / 2.0 to STRIDE * (at / columns) + FIRST - WINDOW / 2.0
            val isInside = left + WINDOW / 2.0 < picture.width + MARGIN && top + WINDOW / 2.0 < picture.height + MARGIN
            if (isInside) DetectedFace(score.toDouble(), FaceBox(left * across, top * down, WINDOW * across, WINDOW * down)) else null
        }
    }

    /** The face in [box], upright and in the middle of [SIDE] × [SIDE] pixels. */
    internal fun chip(pixels: Pixels, box: FaceBox): Pixels {
        val points = landmarks.find(box) { x, y -> grey(pixels, x, y) }
        if (points.any { !it.isFinite() }) throw RuntimeFailure("the bundle's forest gave no landmarks: export it again")
        val wanted = FloatArray(UPRIGHT.size) { ((UPRIGHT[it] + AROUND) / (2 * AROUND + 1) * SIDE).toFloat() }
        val turn = Landmarks.similarity(wanted, points)
        val scale = hypot(turn[0], turn[3]) // pixels of the photo for a pixel of the face
        val shrink = scale.toInt().coerceIn(1, 64)
        val reach = SIDE * scale // cut before it is shrunk: the photo may be large
        fun low(centre: Double, side: Int) = (centre - reach).coerceIn(0.0, side - 1.0).toInt()
        fun high(centre: Double, low: Int, side: Int) = (centre + reach + 1).coerceIn(low + 1.0, max(side.toDouble(), low + 1.0)).toInt()
        val (x, y) = turn[0] * SIDE / 2 + turn[1] * SIDE / 2 + turn[2] to turn[3] * SIDE / 2 + turn[4] * SIDE / 2 + turn[5]
        val (left, top) = low(x, pixels.width) to low(y, pixels.height)
        val near = Upright.reduce(Upright.crop(pixels, left, top, high(x, left, pixels.width), high(y, top, pixels.height)), shrink)
        for (n in listOf(0, 1, 3, 4)) turn[n] *= SIDE / (SIDE - 1.0) // as dlib cuts it: the corners' centres lie on the corners
        turn[2] += (turn[0] + turn[1]) * -0.5 + 0.5 - left // Pillow counts from the corner of a pixel
        turn[5] += (turn[3] + turn[4]) * -0.5 + 0.5 - top
        return Upright.square(near, SIDE, DoubleArray(turn.size) { turn[it] / shrink })
    }

    private fun encode(chip: Pixels): FloatArray {
        val artifact = encoder.artifact
        val vector = encoder.run(mapOf(artifact.inputs[0].name to Tensor.floats(Canvas.values(chip), 1, SIDE.toLong(), SIDE.toLong(), 3))).getValue(artifact.outputs[0].name).toFloats()
        if (vector.any { !it.isFinite() }) throw RuntimeFailure("the face encoder gave no numbers: export it again")
        return vector
    }

    companion object {
        const val DETECTOR = "face_detector"
        const val ENCODER = "face_encoder"

        const val PHOTO = 900 // pixels of the shorter side of the photo that it is given, at least, where the photo has them
        const val MAX_FACES = 100
        private const val SEARCHED = 800 // the longer side in which a photo is searched
        private const val ENLARGED = 2.0
        private const val SHRINK = 5.0 / 6
        private const val MAX_SIDE = 4_096 // of a picture of a fixed size
        private const val LEAST = 40 // of the shorter side of the last picture
        private const val WINDOW = 80 // of the detector, and how far two of them are apart
        private const val STRIDE = 8
        private const val MARGIN = 11 // zeros that the graph puts around a picture
        private const val FIRST = 14 - MARGIN
        private const val OVERLAP = 0.338 // boxes of which more is common are of the same face
        private const val MAX_WINDOWS = 4_000
        private const val LEAST_FACE = 36 // pixels of the photo: a smaller face has too little detail
        private const val GREY = 116f
        private const val SIDE = 150 // of the picture of a face
        private const val AROUND = 0.25

        /** Where the landmarks are to be: the corners of the eyes, and the point below the nose. */
        private val UPRIGHT = doubleArrayOf(
            0.8595674596, 0.2134981538, 0.6460604764, 0.2289674388, 0.1205750621, 0.2137274527, 0.3340850614, 0.2290642403, 0.4901123136, 0.6277975316,
        )

        /** The photo in the size in which it is searched, and then smaller and smaller. */
        internal fun pyramid(pixels: Pixels): List<Pixels> {
            val out = ArrayList<Pixels>()
            var scale = min(SEARCHED.toDouble() / max(pixels.width, pixels.height), ENLARGED)
            var picture = pixels
            while (true) {
                val (width, height) = max(1, Math.rint(pixels.width * scale).toInt()) to max(1, Math.rint(pixels.height * scale).toInt())
                if (min(width, height) < LEAST) return out
                val whole = floatArrayOf(0f, 0f, picture.width.toFloat(), picture.height.toFloat())
                picture = Resize.resize(picture, width, height, Filter.BILINEAR, whole)
                out += picture
                scale *= SHRINK
            }
        }

        /** Of windows, the best first, those that do not overlap with a better one; at most [MAX_FACES]. */
        internal fun suppressed(windows: List<DetectedFace>): List<DetectedFace> {
            val kept = ArrayList<DetectedFace>()
            for (window in windows) if (kept.size < MAX_FACES && kept.none { overlap(window.box, it.box) > OVERLAP }) kept += window
            return kept
        }

        private fun overlap(a: FaceBox, b: FaceBox): Double {
            val wide = max(0.0, min(a.left + a.width, b.left + b.width) - max(a.left, b.left))
            val high = max(0.0, min(a.top + a.height, b.top + b.height) - max(a.top, b.top))
            return wide * high / (a.width * a.height + b.width * b.height - wide * high)
        }

        private fun grey(pixels: Pixels, x: Int, y: Int): Int {
            if (x !in 0 until pixels.width || y !in 0 until pixels.height) return 0
            val at = 3 * (y * pixels.width + x)
            return (0 until 3).sumOf { pixels.bytes[at + it].toInt() and 0xFF } / 3
        }

        private fun relative(box: FaceBox, photo: Pixels): FaceBox {
            val (left, top) = max(0.0, box.left / photo.width) to max(0.0, box.top / photo.height)
            val (right, bottom) = min(1.0, (box.left + box.width) / photo.width) to min(1.0, (box.top + box.height) / photo.height)
            return FaceBox(left, top, max(right - left, 0.0), max(bottom - top, 0.0))
        }
    }
}
