package gamer.models

import gamer.bundle.Bundle
import gamer.bundle.Npy
import gamer.common.BundleError
import gamer.people.FaceBox
import kotlin.math.abs
import kotlin.math.floor
import kotlin.math.max

/**
 * Finds the landmarks of a face in its box with a forest of regression trees (runtime/models/landmarks.py): cascades of trees of
 * [nodes] nodes that compare two of [pixels] pixels. Points are x and y, one after the other.
 */
class Landmarks private constructor(
    private val shape: FloatArray, private val anchors: ByteArray, private val deltas: FloatArray, private val splits: ShortArray,
    private val thresholds: FloatArray, private val leaves: FloatArray, private val cascades: Int, private val pixels: Int,
    private val trees: Int, private val nodes: Int,
) {
    val count = shape.size / 2

    /** Where the landmarks are. [brightness]: of a pixel of the picture, 0 outside of it. */
    fun find(box: FaceBox, brightness: (Int, Int) -> Int): FloatArray {
        val found = shape.copyOf()
        for (cascade in 0 until cascades) {
            val turn = similarity(shape, found)
            val (a, b, d, e) = listOf(turn[0], turn[1], turn[3], turn[4]).map { it.toFloat() }
            val seen = FloatArray(pixels) { n ->
                val (anchor, at) = anchors[cascade * pixels + n].toInt() to 2 * (cascade * pixels + n)
                val x = deltas[at] * a + deltas[at + 1] * b + found[2 * anchor]
                val y = deltas[at] * d + deltas[at + 1] * e + found[2 * anchor + 1]
                brightness(pixel(placed(x, box.left, box.width)), pixel(placed(y, box.top, box.height))).toFloat()
            }
            for (tree in 0 until trees) {
                val leaf = leaf(cascade * trees + tree, seen)
                for (n in found.indices) found[n] += leaves[leaf * found.size + n]
            }
        }
        return FloatArray(found.size) { if (it % 2 == 0) placed(found[it], box.left, box.width) else placed(found[it], box.top, box.height) }
    }

    private fun leaf(tree: Int, seen: FloatArray): Int {
        var at = 0
        while (at < nodes) {
            val node = tree * nodes + at
            val isLeft = seen[splits[2 * node].toInt()] - seen[splits[2 * node + 1].toInt()] > thresholds[node]
            at = 2 * at + if (isLeft) 1 else 2
        }
        return tree * (nodes + 1) + at - nodes
    }

    private fun placed(at: Float, from: Double, size: Double) = at * size.toFloat() + from.toFloat()

    private fun pixel(at: Float) = floor(at.coerceIn(-1e6f, 1e6f) + 0.5f).toInt()

    companion object {
        private const val FARTHEST = 10_000f // sides of the box that a point or a step may be away
        private val FILES = listOf("shape", "anchors", "deltas", "splits", "thresholds", "leaves")

        /** The forest of a bundle. Raises [BundleError] for arrays that are missing or do not fit together. */
        fun of(bundle: Bundle): Landmarks {
            try {
                val (shape, anchors, deltas, splits, thresholds) = FILES.take(5).map { read(bundle, it) }
                val leaves = read(bundle, "leaves")
                require(anchors.shape.size == 2 && splits.shape.size == 4 && shape.shape.isNotEmpty()) { "the shapes of its arrays do not fit together" }
                val (cascades, pixels) = anchors.shape.let { it[0] to it[1] }
                val (trees, nodes) = splits.shape.let { it[1] to it[2] }
                val wanted = listOf(
                    listOf(shape.shape[0], 2), listOf(cascades, pixels), listOf(cascades, pixels, 2), listOf(cascades, trees, nodes, 2),
                    listOf(cascades, trees, nodes), listOf(cascades, trees, nodes + 1, shape.shape[0], 2),
                )
                val doFit = listOf(shape, anchors, deltas, splits, thresholds, leaves).zip(wanted).all { (array, sides) -> array.shape.toList() == sides && 0 !in sides }
                require(doFit) { "the shapes of its arrays do not fit together" }
                val (near, pairs) = anchors.octets() to splits.shorts()
                require(nodes and (nodes + 1) == 0 && near.all { it in 0 until shape.shape[0] } && pairs.all { it in 0 until pixels }) { "a tree or a pixel of it leads nowhere" }
                val (first, apart, limits, ends) = listOf(shape, deltas, thresholds, leaves).map { it.floats() }
                val isSound = limits.all { it.isFinite() } && listOf(first, apart, ends).all { values -> values.all { abs(it) <= FARTHEST } }
                require(isSound) { "it holds values that are not finite, or too large" }
                return Landmarks(first, near, apart, pairs, limits, ends, cascades, pixels, trees, nodes)
            } catch (error: IllegalArgumentException) {
                throw BundleError("${bundle.folder}: its landmarks cannot be used (${error.message}): export it again")
            }
        }

        private fun read(bundle: Bundle, name: String) = Npy.map(bundle.data("face_landmarks.$name.npy"))

        /**
         * The rotation, scale and shift a to f that bring [points] nearest to [wanted]: a point (x, y) to (a·x + b·y + c,
         * d·x + e·y + f).
         */
        fun similarity(points: FloatArray, wanted: FloatArray): DoubleArray {
            val count = points.size / 2
            fun middle(of: FloatArray, axis: Int) = (0 until count).sumOf { of[2 * it + axis].toDouble() } / count
            val (px, py) = middle(points, 0) to middle(points, 1)
            val (wx, wy) = middle(wanted, 0) to middle(wanted, 1)
            var spread = 0.0
            var along = 0.0
            var across = 0.0
            for (n in 0 until count) {
                val (ax, ay) = (points[2 * n] - px) to (points[2 * n + 1] - py)
                val (bx, by) = (wanted[2 * n] - wx) to (wanted[2 * n + 1] - wy)
                spread += ax * ax + ay * ay
                along += ax * bx + ay * by
                across += ax * by - ay * bx
            }
            spread = max(spread, 1e-12)
            val (c, s) = along / spread to across / spread
            return doubleArrayOf(c, -s, wx - (c * px - s * py), s, c, wy - (s * px + c * py))
        }
    }
}
