package gamer.image

/** By how much a picture is reduced while it is decoded, so that neither a large nor a long one fills the memory. */
object Sampling {
    private const val MOST = 4_000_000L // pixels: 16 MB as ARGB, and a rotated copy beside it

    /**
     * The power of 2 that divides both sides: as long as the short side keeps [least] pixels, and further for a picture of
     * more than [MOST] pixels, such as a screenshot of a whole page, whose short side says nothing about its size.
     */
    fun factor(width: Int, height: Int, least: Int): Int {
        var factor = 1
        while (minOf(width, height) / (factor * 2) >= least || width.toLong() / factor * (height.toLong() / factor) > MOST) factor *= 2
        return factor
    }

    /** Width and height of a video's frame of at most [side] pixels on its shorter side, and four times that on the longer. */
    fun framed(width: Int, height: Int, side: Int): Pair<Int, Int> {
        val factor = minOf(1.0, side.toDouble() / minOf(width, height), 4.0 * side / maxOf(width, height))
        return maxOf(2, Math.rint(width * factor).toInt()) to maxOf(2, Math.rint(height * factor).toInt())
    }
}
