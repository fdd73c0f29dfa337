package gamer.search

import gamer.album.Album
import gamer.album.Space
import gamer.album.Words
import gamer.common.PyText
import gamer.cues.Anchors
import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Calendar.Companion.EPOCH
import gamer.cues.Calendar.Companion.msOf
import gamer.cues.Days
import gamer.cues.Interval
import gamer.glosses.Glossed

/**
 * Looks up an event in an album. By words: the days of the photos whose memories hold every content word of
 * the phrase, if there are at most [Anchors.MAX_EVENTS]. Otherwise by vector: the day of the photo with the
 * greatest text cosine, if that is at least SURE_COSINE and exceeds that of every other day by SURE_MARGIN.
 */
class AlbumEvents(private val album: Album, private val encode: (String) -> FloatArray) {
    fun find(phrase: String): List<Interval> = byWords(phrase).ifEmpty { byVector(phrase) }

    /**
     * As [find], of a phrase in another language by its own words, then by those of its glosses in their order, at most
     * [MOST_WORDINGS] of them. [glossed]: null for an English phrase.
     */
    fun find(phrase: String, glossed: Glossed?): List<Interval> {
        if (glossed == null) return find(phrase)
        val wordings = glossed.forms.fold(listOf("")) { all, forms -> all.flatMap { said -> forms.map { "$said $it".trim() } }.take(MOST_WORDINGS) }
        val found = (listOf(phrase, glossed.text) + wordings).asSequence().map(::byWords).firstOrNull { it.isNotEmpty() }
        return found ?: find(glossed.text)
    }

    private fun byWords(phrase: String): List<Interval> {
        val wanted = stems(phrase)
        if (wanted.isEmpty()) return emptyList()
        val photos = album.photos(album.searchText(phrase, CANDIDATES).rows)
        val whole = photos.filter { p -> p.wall != null && stems(p.memories.joinToString(" ") { it.text }).containsAll(wanted) }
        val days = days(whole.map { it.wall!! })
        return if (days.size <= Anchors.MAX_EVENTS) days else emptyList()
    }

    private fun byVector(phrase: String): List<Interval> {
        if ("text" !in album.channels() || album.size == 0) return emptyList()
        val rows = IntArray(album.size) { it }
        val scores = album.scores("text", encode(phrase), rows)
        for (row in rows) if (album.time(row) == Space.LOWEST || scores[row] == Float.NEGATIVE_INFINITY) scores[row] = -1f
        val best = rows.maxByOrNull { scores[it] }!!
        if (scores[best] < SURE_COSINE) return emptyList()
        val day = days(listOf(album.time(best))).single()
        val elsewhere = rows.filter { album.time(it) < day.start!! || album.time(it) > day.end!! }.maxOfOrNull { scores[it] }
        return if (elsewhere == null || scores[best] - elsewhere >= SURE_MARGIN) listOf(day) else emptyList()
    }

    /** The content words in the singular, cut to six letters, so that "wedding" matches "weddings". */
    private fun stems(text: String): Set<String> = Words.queryTerms(text).map { PyText.head(Words.singular(it), 6) }.toSet()

    /** Times in ms, likeliest first, as intervals of full days in that order; adjacent days are one event. */
    private fun days(times: List<Long>): List<Interval> {
        val out = ArrayList<LongArray>()
        for (ms in times) {
            val day = Math.floorDiv(ms, DAY_MS) + EPOCH
            val event = out.firstOrNull { day in it[0] - 1..it[1] + 1 }
            if (event == null) out.add(longArrayOf(day, day))
            else {
                event[0] = minOf(event[0], day)
                event[1] = maxOf(event[1], day)
            }
        }
        return out.map { msOf(Days(it[0], it[1])) }
    }

    private companion object {
        const val MOST_WORDINGS = 24
        const val CANDIDATES = 40
        const val SURE_COSINE = 0.55f
        const val SURE_MARGIN = 0.05f
    }
}
