package gamer.search

import gamer.album.Album
import gamer.album.Space
import kotlin.math.abs

/** Copies and bursts of a photo, in an answer one hit with the ids of the others (runtime/search/copies.py). */
internal object Copies {
    private const val CHANNEL = "copies" // of likenesses
    private const val SAME = 0.995f
    private const val NEARLY = 0.95f
    private const val BURST_MS = 3_000L
    private const val MOST = 3_000 // photos of an answer of which copies are looked for: every two are compared

    private const val PAIRS = 4_000_000L // of photos that are compared at most, to find what an original knows

    /** The hits, best first, each copy with those it is a copy of: one stands for all, that of which most is known. */
    fun together(album: Album, hits: List<Hit>): List<Hit> {
        val taken by lazy { album.detailed("cameras") }
        val groups = hits.zip(firsts(album, hits.map { it.row })).groupBy({ it.second }, { it.first }).values
        return groups.map { if (it.size == 1) it[0] else one(album, it, taken) }
    }

    /** [taken]: by row, whether a camera is known. */
    private fun one(album: Album, group: List<Hit>, taken: BooleanArray): Hit {
        val best = group[0]
        val photos = group.zip(album.photos(IntArray(group.size) { group[it].row })).toMap()
        fun known(hit: Hit): Int {
            val photo = photos.getValue(hit)
            val isDated = photo.takenAt != null && photo.tzSource != "name" // a name has no hour
            return listOf(isDated, photo.lat != null, taken[hit.row], photo.memories.any { it.source != "label" }).count { it }
        }
        fun cue(hit: Hit) = hit.parts["cue"] ?: 0.0
        // Copying adds to a name: "-small", " (1)".
        val names = group.map { name(it.id) }
        fun begun(hit: Hit) = name(hit.id).let { own -> if (own.isEmpty()) 0 else names.count { it.startsWith(own) } }
        val shown = group.maxWithOrNull(compareBy({ known(it) + if (cue(it) >= cue(best)) 10 else 0 }, ::begun))!!
        val others = group.filter { it !== shown }.map { it.id }
        return shown.copy(score = best.score, probability = best.probability, parts = best.parts, copies = others)
    }

    /** The name of a photo's file, without its folder and its ending; "" where the id is no file's. */
    private fun name(id: String): String = id.substringAfterLast('/').substringBeforeLast('.', "")

    /** For each of [rows] the earliest among them that it is a copy of, itself if there is none before. */
    fun firsts(album: Album, rows: List<Int>): List<Int> {
        if (CHANNEL !in album.channels() || rows.size !in 2..MOST) return rows
        val looks = rows.map { Look(album, it) }
        val kept = ArrayList<Int>() // those that are no copy
        return rows.indices.map { at -> rows[kept.firstOrNull { looks[it].isLike(looks[at]) } ?: at.also(kept::add)] }
    }

    /**
     * By row: whether something is known of a photo, or of one that it is a copy of. [known] itself for an album
     * without likenesses, or where more than PAIRS would be compared.
     */
    fun inherited(album: Album, known: BooleanArray): BooleanArray {
        val (having, lacking) = known.indices.partition { known[it] }
        val pairs = having.size.toLong() * lacking.size
        if (CHANNEL !in album.channels() || pairs !in 1..PAIRS) return known
        val looks = having.map { Look(album, it) }
        return known.copyOf().also { out ->
            for (row in lacking) out[row] = Look(album, row).let { own -> looks.any { it.isLike(own) } }
        }
    }

    private class Look(album: Album, row: Int) {
        private val vector = album.meanOf(CHANNEL, row)
        private val time = album.time(row)

        fun isLike(other: Look): Boolean {
            val (one, two) = (vector ?: return false) to (other.vector ?: return false)
            val isBurst = time != Space.LOWEST && other.time != Space.LOWEST && abs(time - other.time) <= BURST_MS
            var dot = 0f
            for (at in one.indices) dot += one[at] * two[at]
            return dot >= (if (isBurst) NEARLY else SAME)
        }
    }
}
