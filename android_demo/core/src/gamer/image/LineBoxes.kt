package gamer.image

import kotlin.math.abs
import kotlin.math.hypot
import kotlin.math.max
import kotlin.math.min

/** A line's place in pixels: its first corner, and the vectors along it and down. */
data class LineBox(val x: Double, val y: Double, val alongX: Double, val alongY: Double, val downX: Double, val downY: Double) {
    val width get() = hypot(alongX, alongY)
    val height get() = hypot(downX, downY)
    val middleX get() = x + (alongX + downX) / 2
    val middleY get() = y + (alongY + downY) / 2

    /** The box in the picture's own pixels; one that runs down is turned, so that it is read from its top. */
    fun scaled(across: Double, down: Double): LineBox {
        val placed = LineBox(x * across, y * down, alongX * across, alongY * down, downX * across, downY * down)
        if (placed.height < UPRIGHT * placed.width) return placed
        return placed.run { LineBox(x + alongX, y + alongY, downX, downY, -alongX, -alongY) }
    }

    /** A region's rectangle as the line was before training shrank it; null where it is too small. */
    internal fun grown(): LineBox? {
        if (min(width, height) < MIN_SIDE) return null
        val by = GROWTH * width * height / (2 * (width + height))
        val (wide, high) = 1 + 2 * by / width to 1 + 2 * by / height
        return LineBox(
            x - by * (alongX / width + downX / height), y - by * (alongY / width + downY / height),
            alongX * wide, alongY * wide, downX * high, downY * high,
        )
    }

    private companion object {
        const val MIN_SIDE = 3.0
        const val GROWTH = 1.6 // of a region by its area over its outline
        const val UPRIGHT = 1.5
    }
}

/** Finds lines of text in a map of probabilities, and cuts them from a picture (runtime/models/printed.py). */
object LineBoxes {
    const val MOST = 200
    const val HEIGHT = 48 // of a line that is cut
    private const val LEVEL = 0.3f
    private const val MIN_REGION = 0.6
    private const val MAX_RUNS = 100_000 // of pixels of a row: a map of more is noise
    private const val MAX_SAMPLES = 4 // in a row, for a value of a line that is larger than its cut

    /** The columns of a row from [start] to before [end]. */
    internal class Run(val row: Int, val start: Int, val end: Int)

    /** The lines in a map of [height] rows of [stride] values, of which [width] count; the largest regions first. */
    fun find(likely: FloatArray, width: Int, height: Int, stride: Int): List<LineBox> {
        val all = regions(width, height) { x, y -> likely[y * stride + x] > LEVEL }
        return all.take(5 * MOST).filter { region ->
            val total = region.sumOf { run -> (run.start until run.end).sumOf { likely[run.row * stride + it].toDouble() } }
            total / size(region) >= MIN_REGION
        }.mapNotNull { region ->
            rectangle(outer(region)).grown()
        }
    }

    /** The first and last pixel of each row of a region, whose runs are in order. */
    private fun outer(region: List<Run>): List<Pair<Double, Double>> {
        val points = ArrayList<Pair<Double, Double>>()
        for ((n, run) in region.withIndex()) {
            if (n == 0 || region[n - 1].row != run.row) points.add(run.start.toDouble() to run.row.toDouble())
            if (n == region.size - 1 || region[n + 1].row != run.row) points.add(run.end - 1.0 to run.row.toDouble())
        }
        return points
    }

    private fun size(region: List<Run>): Int = region.sumOf { it.end - it.start }

    /** The regions of pixels that touch, corners included, the largest first; none of noise. */
    internal fun regions(width: Int, height: Int, isSet: (Int, Int) -> Boolean): List<List<Run>> {
        val runs = ArrayList<Run>()
        for (y in 0 until height) {
            var x = 0
            while (x < width) {
                val start = x
                while (x < width && isSet(x, y)) x++
                if (x > start) runs.add(Run(y, start, x)) else x++
            }
            if (runs.size > MAX_RUNS) return emptyList()
        }
        val parents = IntArray(runs.size) { it }
        fun root(of: Int): Int {
            var at = of
            while (parents[at] != at) {
                parents[at] = parents[parents[at]]
                at = parents[at]
            }
            return at
        }
        var above = 0
        for ((n, run) in runs.withIndex()) {
            while (runs[above].row < run.row - 1 || (runs[above].row == run.row - 1 && runs[above].end < run.start)) above++
            var other = above
            while (runs[other].row == run.row - 1 && runs[other].start <= run.end) parents[root(other++)] = root(n)
        }
        val regions = java.util.TreeMap<Int, ArrayList<Run>>()
        for ((n, run) in runs.withIndex()) regions.getOrPut(root(n)) { ArrayList() }.add(run)
        return regions.values.sortedByDescending(::size)
    }

    /**
     * The smallest rectangle around pixels, their own width included; it lies along an edge of the hull. Its first vector is
     * the one nearer to the horizontal, and points to the right.
     */
    internal fun rectangle(pixels: List<Pair<Double, Double>>): LineBox {
        val outline = hull(pixels)
        val edges = outline.indices.map { outline[(it + 1) % outline.size] to outline[it] }
            .map { (b, a) -> b.first - a.first to b.second - a.second }.filter { hypot(it.first, it.second) > 0 }
        var best: LineBox? = null
        for ((ex, ey) in listOf(1.0 to 0.0) + edges) { // a single pixel has no edge
            val length = hypot(ex, ey)
            val (ux, uy) = ex / length to ey / length
            val along = outline.map { it.first * ux + it.second * uy }
            val across = outline.map { -it.first * uy + it.second * ux }
            val (wide, high) = along.max() - along.min() + 1 to across.max() - across.min() + 1
            if (best != null && wide * high >= best.width * best.height * (1 - 1e-12)) continue
            val (a, b) = along.min() - 0.5 to across.min() - 0.5
            // Pixel centres are halves.
            best = LineBox(a * ux - b * uy + 0.5, a * uy + b * ux + 0.5, ux * wide, uy * wide, -uy * high, ux * high)
        }
        return turned(best!!)
    }

    /** The same rectangle from the corner whose vector along it is nearest to pointing right. */
    private fun turned(box: LineBox): LineBox {
        var now = box
        repeat(4) {
            if (now.alongX > 0 && abs(now.alongY) * now.height <= abs(now.downY) * now.width + 1e-9) return now
            now = LineBox(now.x + now.alongX, now.y + now.alongY, now.downX, now.downY, -now.alongX, -now.alongY)
        }
        return now
    }

    /** The convex hull, counted without repetition (Andrew's monotone chain). */
    private fun hull(points: List<Pair<Double, Double>>): List<Pair<Double, Double>> {
        val ordered = points.distinct().sortedWith(compareBy({ it.first }, { it.second }))
        if (ordered.size < 3) return ordered
        fun half(path: List<Pair<Double, Double>>): List<Pair<Double, Double>> {
            val chain = ArrayList<Pair<Double, Double>>()
            for (p in path) {
                while (chain.size > 1) {
                    val (a, b) = chain[chain.size - 2] to chain.last()
                    if ((b.first - a.first) * (p.second - a.second) - (b.second - a.second) * (p.first - a.first) > 0) break
                    chain.removeAt(chain.size - 1)
                }
                chain.add(p)
            }
            return chain.dropLast(1)
        }
        return half(ordered) + half(ordered.reversed())
    }

    /** From the top; boxes whose middles are less than half a line's height apart are one row, from the left. */
    fun inReadingOrder(found: List<LineBox>): List<LineBox> {
        val rows = ArrayList<ArrayList<LineBox>>()
        for (box in found.sortedBy { it.middleY }) {
            val first = rows.lastOrNull()?.first()
            if (first == null || box.middleY - first.middleY > min(first.height, box.height) / 2) rows.add(ArrayList())
            rows.last().add(box)
        }
        return rows.flatMap { row -> row.sortedBy { it.middleX } }
    }

    /** [HEIGHT] rows of [width] RGB values: what is in a box, upright; each value the mean of as many samples as it covers. */
    fun cut(pixels: Pixels, box: LineBox, width: Int): FloatArray {
        val dense = max(1, min(MAX_SAMPLES, kotlin.math.ceil(box.height / HEIGHT).toInt()))
        val out = FloatArray(HEIGHT * width * 3)
        val share = 1f / (dense * dense)
        for (row in 0 until HEIGHT * dense) {
            val low = (row + 0.5) / (HEIGHT * dense)
            for (column in 0 until width * dense) {
                val right = (column + 0.5) / (width * dense)
                val x = (box.x + right * box.alongX + low * box.downX - 0.5).coerceIn(0.0, pixels.width - 1.0)
                val y = (box.y + right * box.alongY + low * box.downY - 0.5).coerceIn(0.0, pixels.height - 1.0)
                add(pixels, x, y, share, out, 3 * (row / dense * width + column / dense))
            }
        }
        return out
    }

    /** Adds the value between the four nearest pixels, times [share], to three values at [at]. */
    private fun add(pixels: Pixels, x: Double, y: Double, share: Float, out: FloatArray, at: Int) {
        val (left, top) = x.toInt() to y.toInt()
        val (right, low) = min(left + 1, pixels.width - 1) to min(top + 1, pixels.height - 1)
        val (fx, fy) = (x - left).toFloat() to (y - top).toFloat()
        for (band in 0 until 3) {
            fun at(column: Int, row: Int) = (pixels.bytes[3 * (row * pixels.width + column) + band].toInt() and 0xFF).toFloat()
            val upper = at(left, top) * (1 - fx) + at(right, top) * fx
            val lower = at(left, low) * (1 - fx) + at(right, low) * fx
            out[at + band] += (upper * (1 - fy) + lower * fy) * share
        }
    }
}
