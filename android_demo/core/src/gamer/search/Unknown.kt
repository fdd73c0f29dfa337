package gamer.search

import gamer.album.Rows
import kotlin.math.sqrt

/**
 * Summands of rows by name, and by row: [told], whether somebody described the photo (it has a text vector);
 * [seen], whether it has an image vector.
 */
class Known(val parts: Map<String, FloatArray>, val told: BooleanArray, val seen: BooleanArray)

/**
 * What a photo's memory would be expected to add to its score, for photos of which nobody has said anything
 * (runtime/search/stages/unknown.py): what the described photos' memories add for this query, more where the picture
 * fits better than the album's pictures do.
 */
object Unknown {
    // Summands that a memory gives; labels and place names give some of them, too.
    private val TOLD = listOf("text", "words", "coverage", "context_words", "context_coverage", "entity", "related")
    private const val SPREAD = 0.5 // of the standard deviation of the described photos' evidence
    private const val PICTURE = 2.26 // for each nat by which the image's summand exceeds that of the mean picture
    private const val MOST = 0.9 // of the meaning of the memory that fits best
    private const val FEW = 8.0 // photos whose memories add nothing, counted beside the described ones

    /**
     * For each row of [of] the evidence expected if it is not told, else 0. At most the mean or, if that is
     * more, MOST of what the best memory's meaning adds. [among]: rows that stand for the whole album.
     */
    fun expected(of: Known, among: Known): FloatArray {
        val told = Rows.where(among.told)
        val evidence = DoubleArray(told.size)
        for (name in TOLD) among.parts[name]?.let { part -> for (at in told.indices) evidence[at] += part[told[at]].toDouble() }
        val share = told.size / (told.size + FEW)
        val average = if (told.isEmpty()) 0.0 else evidence.average()
        val mean = share * average
        val spread = if (told.isEmpty()) 0.0 else share * sqrt(DoubleArray(told.size) { (evidence[it] - average) * (evidence[it] - average) }.average())
        val most = if (told.isEmpty()) Double.POSITIVE_INFINITY else among.parts.getValue("text").let { text -> maxOf(mean, MOST * told.maxOf { text[it] }) }
        val pictures = Rows.where(among.seen).let { rows -> DoubleArray(rows.size) { among.parts.getValue("image")[rows[it]].toDouble() } }
        val usual = if (pictures.isEmpty()) 0.0 else pictures.average()
        val images = of.parts["image"]
        return FloatArray(of.told.size) { row ->
            val better = if (images != null && pictures.isNotEmpty() && of.seen[row]) images[row] - usual else 0.0
            if (of.told[row]) 0f else minOf(mean + SPREAD * spread + PICTURE * better, most).toFloat()
        }
    }
}
