package gamer.search

import gamer.album.Album

/**
 * A query's vectors, float32: [plain], the text tower's of the refined query; [aligned], by the query adapter,
 * else its blend with that of a sentence that contains it; [projected], v_Q by channel of trained experts.
 */
class QueryVectors(val plain: FloatArray, val aligned: FloatArray, private val projected: Map<String, FloatArray>) {
    /** The vector of each channel; [shared]: the one of the text tower's channels. */
    fun by(shared: FloatArray): Map<String, FloatArray> = Channels.SHARED.associateWith { shared } + projected

    /** The vectors that the default mode ranks by, titles' among them. */
    fun ranking(): Map<String, FloatArray> = by(aligned) + (Channels.TITLE to aligned)
}

/** Layer 3's channels of an album. [vectors] are the query's, by channel. */
object Channels {
    /** The channels whose queries are the text tower's vector. */
    val SHARED = listOf("text", "image")

    /** What its owner might call a photo, written from its memories where a person has had it learned. */
    const val TITLE = "title"

    /** The channels that both the album and the query have, in the query's order. */
    fun searched(album: Album, vectors: Map<String, FloatArray>): List<String> = album.channels().let { have -> vectors.keys.filter { it in have } }

    /**
     * By feature, which is called as its channel up to the first ":": the cosine with each row's best vector,
     * -∞ where a row has no vector. [isRough]: as of [Album.scores].
     */
    fun scores(album: Album, vectors: Map<String, FloatArray>, rows: IntArray, isRough: Boolean = false): Map<String, FloatArray> =
        searched(album, vectors).associate { it.substringBefore(':') to album.scores(it, vectors.getValue(it), rows, isRough) }

    /** As [scores], but 0 where a row has no vector. */
    fun cosines(album: Album, vectors: Map<String, FloatArray>, rows: IntArray): Map<String, FloatArray> = finite(scores(album, vectors, rows))

    fun finite(scores: Map<String, FloatArray>): Map<String, FloatArray> =
        scores.mapValues { (_, values) -> FloatArray(values.size) { if (values[it] == Float.NEGATIVE_INFINITY) 0f else values[it] } }
}
