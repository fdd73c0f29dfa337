package gamer.models

import gamer.common.BundleError
import gamer.common.RuntimeFailure
import gamer.image.Canvas
import gamer.image.Filter
import gamer.image.LineBox
import gamer.image.LineBoxes
import gamer.image.Pixels
import gamer.image.Resize
import java.io.File
import kotlin.math.ceil
import kotlin.math.floor
import kotlin.math.max
import kotlin.math.min

/** What a line in a picture says. [confidence]: the mean probability of its characters. */
data class Line(val text: String, val confidence: Double, val box: LineBox)

/**
 * Reads the text in a picture with a bundle's two text networks: one finds lines, the other reads a line
 * (runtime/models/printed.py). A line that is read with little confidence is read the other way up, too.
 */
class LineReader(private val detector: Session, private val recogniser: Session, characters: List<String>) {
    private val characters = characters + " "
    private val fixed: Int

    init {
        val sides = detector.artifact.inputs[0].shape.subList(1, 3).filterIsInstance<Int>().distinct()
        if (sides.size > 1 || sides.any { it % STEP != 0 }) throw RuntimeFailure("the text detector takes $sides pixels: export it again")
        fixed = sides.firstOrNull() ?: 0
    }

    /** The lines as one reads them: from the top, and in a row from the left. */
    fun read(pixels: Pixels): List<Line> {
        var inVain = 0
        return detect(pixels).mapNotNull { box ->
            val (line, width, canvas) = cut(pixels, box)
            var best = decoded(line, width, canvas)
            if (best.second < SURE && inVain < TURNS) {
                val other = decoded(FloatArray(line.size) { i -> line[line.size - 3 - i / 3 * 3 + i % 3] }, width, canvas)
                if (other.second > best.second) best = other else inVain++
            }
            if (best.first.isBlank()) null else Line(best.first, best.second, box)
        }
    }

    private fun detect(pixels: Pixels): List<LineBox> {
        val wanted = detector.artifact.inputs[0]
        val (width, height) = detectedSize(pixels.width, pixels.height, fixed)
        val whole = floatArrayOf(0f, 0f, pixels.width.toFloat(), pixels.height.toFloat())
        val resized = Resize.resize(pixels, width, height, Filter.BILINEAR, whole)
        val (wide, high) = if (fixed > 0) fixed to fixed else width to height
        val values = Canvas.put(Canvas.values(resized), width, height, wide, high, GREY)
        val input = Tensor.floats(values, 1, high.toLong(), wide.toLong(), 3)
        val likely = detector.run(mapOf(wanted.name to input)).getValue(detector.artifact.outputs[0].name).toFloats()
        if (likely.size != wide * high) throw RuntimeFailure("the text detector gave ${likely.size} values for $wide × $high pixels: export it again")
        val across = pixels.width.toDouble() / width
        val down = pixels.height.toDouble() / height
        return LineBoxes.inReadingOrder(LineBoxes.find(likely, width, height, wide).take(LineBoxes.MOST).map { it.scaled(across, down) })
    }

    /** A line, its width, and that of the canvas on which it is read. */
    private fun cut(pixels: Pixels, box: LineBox): Triple<FloatArray, Int, Int> {
        val fixed = recogniser.artifact.inputs[0].shape[2] as? Int
        val width = max(1, min(ceil(LineBoxes.HEIGHT * box.width / max(box.height, 1.0)).toInt(), fixed ?: WIDEST))
        return Triple(LineBoxes.cut(pixels, box, width), width, fixed ?: max(NARROWEST, (width + STEP - 1) / STEP * STEP))
    }

    private fun decoded(line: FloatArray, width: Int, canvas: Int): Pair<String, Double> {
        val values = Canvas.put(line, width, LineBoxes.HEIGHT, canvas, LineBoxes.HEIGHT, GREY)
        val artifact = recogniser.artifact
        val out = recogniser.run(mapOf(artifact.inputs[0].name to Tensor.floats(values, 1, LineBoxes.HEIGHT.toLong(), canvas.toLong(), 3)))
        val (codes, scores) = artifact.outputs.map { out.getValue(it.name).toFloats() }
        return decoded(codes, scores, characters)
    }

    companion object {
        const val DETECTOR = "ocr_detector"
        const val RECOGNISER = "ocr_recogniser"
        const val CHARACTERS = "ocr_characters.txt"

        /** The shorter side that a photo is to be decoded at, so that small print in it can be read. */
        const val PHOTO = 1_200
        private const val LEAST = 736 // of a picture's shorter side, in the detector
        private const val MOST = 1_280 // of its longer
        private const val STEP = 32
        private const val NARROWEST = 320
        private const val WIDEST = 2_400
        private const val GREY = 127.5f
        private const val SURE = 0.9 // below it, a line is read the other way up, too,
        private const val TURNS = 10 // until that was in vain for so many lines of a picture
        private const val MAX_CHARACTERS = 65_536
        private const val MAX_CHARACTER = 16

        /** The characters of a bundle's file, a line each. Raises [BundleError] for one that is no such list. */
        fun characters(path: File): List<String> {
            if (path.length() > MAX_CHARACTERS * MAX_CHARACTER) throw BundleError("$path: too large for a list of characters: export the bundle again")
            val listed = path.readText().removeSuffix("\n").split("\n")
            if (listed.size >= MAX_CHARACTERS || listed.any { it.isEmpty() || it.codePointCount(0, it.length) > MAX_CHARACTER }) {
                throw BundleError("$path: must hold a character a line: export the bundle again")
            }
            return listed
        }

        /** The width and height in which the detector sees a picture; [fixed]: the side of its canvas, or 0. */
        fun detectedSize(width: Int, height: Int, fixed: Int): Pair<Int, Int> {
            val (short, long) = min(width, height) to max(width, height)
            val scale = if (fixed > 0) fixed.toDouble() / long else min(max(1.0, LEAST.toDouble() / short), MOST.toDouble() / long)
            fun side(of: Int) = max(STEP, floor(of * scale / STEP + 0.5).toInt() * STEP)
            return side(width) to side(height)
        }

        /**
         * The text of codes and the mean of their scores: repeated codes count once, the code 0 is none. Raises [RuntimeFailure]
         * for a code without a character, or without a score.
         */
        fun decoded(codes: FloatArray, scores: FloatArray, characters: List<String>): Pair<String, Double> {
            if (codes.size != scores.size || codes.any { !it.isFinite() }) throw RuntimeFailure("the text recogniser gave no characters: export it again")
            val whole = IntArray(codes.size) { codes[it].toInt() }
            val kept = whole.indices.filter { whole[it] != 0 && (it == 0 || whole[it] != whole[it - 1]) }
            if (kept.any { whole[it] !in 1..characters.size }) {
                throw RuntimeFailure("the text recogniser knows more characters than the bundle lists: export it again")
            }
            if (kept.isEmpty()) return "" to 0.0
            return kept.joinToString("") { characters[whole[it] - 1] } to kept.sumOf { scores[it].toDouble() } / kept.size
        }
    }
}
