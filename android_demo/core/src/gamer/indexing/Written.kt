package gamer.indexing

import gamer.image.Filter
import gamer.image.Pixels
import gamer.image.Resize
import gamer.models.Line
import kotlin.math.abs
import kotlin.math.max

/**
 * Which pictures' text is read (runtime/indexing/ocr.py): those of mostly flat colour, as screens have, those with rows of fine
 * strokes, as print has, and those in which the image encoder sees something that carries text.
 */
object Written {
    private const val LABEL_FLOOR = 0.10f
    private const val MIN_FLAT = 0.60 // the least share of neighbouring pixels that are equal
    private const val MIN_PRINT = 0.02 // the least share of the picture that looks like print
    private const val MIN_CONFIDENCE = 0.70 // a line read with less confidence is noise
    private const val MAX_TEXT = 4_000
    private const val SIDE = 768
    private const val STRONG = 40
    private const val NEAR = 24

    // First names of ImageNet classes whose objects carry text.
    private val LABELS = setOf(
        "web site", "menu", "comic book", "book jacket", "crossword puzzle", "packet", "envelope", "street sign", "scoreboard", "screen",
        "monitor", "notebook", "desktop computer", "hand-held computer", "cellular telephone", "slot", "vending machine", "tobacco shop",
        "bookshop", "grocery store", "pill bottle", "binder", "carton", "cash machine", "digital clock", "odometer", "rule", "pay-phone",
    )

    /** The text of lines that were read, but of those that are noise. */
    fun text(read: List<Line>): String {
        val lines = read.filter { it.confidence >= MIN_CONFIDENCE }.map { it.text.split(SPACE).filter(String::isNotEmpty).joinToString(" ") }
        return gamer.common.PyText.head(lines.filter { it.codePointCount(0, it.length) > 1 }.joinToString("\n"), MAX_TEXT)
    }

    private val SPACE = Regex("[\\s\\p{Z}]+")

    fun isWorthReading(pixels: Pixels, labels: List<Pair<String, Float>>): Boolean {
        if (labels.any { it.second >= LABEL_FLOOR && it.first in LABELS }) return true
        val grey = Grey.of(pixels)
        return flat(grey) >= MIN_FLAT || print(grey) >= MIN_PRINT
    }

    /** Brightness, row by row. */
    class Grey(val width: Int, val height: Int, val values: IntArray) {
        operator fun get(x: Int, y: Int) = values[y * width + x]

        companion object {
            /** At most [SIDE] on the longer side, averaged over areas. */
            fun of(pixels: Pixels): Grey {
                val bytes = ByteArray(pixels.bytes.size)
                for (at in bytes.indices step 3) {
                    fun band(n: Int) = pixels.bytes[at + n].toInt() and 0xFF
                    val value = ((19_595 * band(0) + 38_470 * band(1) + 7_471 * band(2) + 0x8000) shr 16).toByte()
                    for (n in 0 until 3) bytes[at + n] = value
                }
                val scale = minOf(1.0, SIDE.toDouble() / max(pixels.width, pixels.height))
                val (width, height) = max(1, Math.round(pixels.width * scale).toInt()) to max(1, Math.round(pixels.height * scale).toInt())
                val whole = floatArrayOf(0f, 0f, pixels.width.toFloat(), pixels.height.toFloat())
                val small = Resize.resize(Pixels(pixels.width, pixels.height, bytes), width, height, Filter.BOX, whole)
                return Grey(width, height, IntArray(width * height) { small.bytes[3 * it].toInt() and 0xFF })
            }
        }
    }

    fun flat(grey: Grey): Double {
        if (grey.width < 2) return 1.0
        var equal = 0
        for (y in 0 until grey.height) for (x in 1 until grey.width) if (grey[x, y] == grey[x - 1, y]) equal++
        return equal.toDouble() / ((grey.width - 1) * grey.height)
    }

    /**
     * The share of 8 × 32 blocks that look like print, beside another such block: brightness jumps up and down several times along
     * most lines, over a plain background.
     */
    fun print(grey: Grey): Double {
        val (rows, columns) = grey.height / 8 to (grey.width - 1) / 32
        if (rows == 0 || columns < 2) return 0.0
        val like = Array(rows) { row -> BooleanArray(columns) { isPrint(grey, 32 * it, 8 * row) } }
        val paired = like.sumOf { row -> (1 until columns).count { row[it - 1] && row[it] } }
        return paired.toDouble() / (rows * (columns - 1))
    }

    private fun isPrint(grey: Grey, left: Int, top: Int): Boolean {
        val busy = (0 until 8).count { y ->
            val steps = (0 until 32).map { grey[left + it + 1, top + y] - grey[left + it, top + y] }
            steps.count { it > STRONG } >= 2 && steps.count { it < -STRONG } >= 2
        }
        if (busy < 4) return false
        val block = IntArray(256) { grey[left + 1 + it % 32, top + it / 32] }
        val sorted = block.sortedArray()
        val (low, high) = (sorted[25] + sorted[26]) / 2.0 to (sorted[229] + sorted[230]) / 2.0
        // Print leaves part of the paper blank; a block with jumps everywhere is grass or gravel.
        val ground = (if (block.count { abs(it - high) < NEAR } >= block.count { abs(it - low) < NEAR }) high else low).toInt()
        return block.count { abs(it - ground) < NEAR } > 0.35 * 256
    }
}
