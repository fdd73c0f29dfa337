package gamer.search

import gamer.common.Patterns
import gamer.common.PyText
import gamer.cues.Explain
import gamer.questions.Wanted

/** What photos tell where a time, a place or a person is asked for (runtime/agent/sentences.py), in any language. */
internal class Told(private val engine: Engine, private val find: Find) {
    private val album = engine.album

    /** Of the photos in [rows], best first; "" where they do not tell it. */
    fun of(asks: String, query: String, rows: List<Int>): String = when (asks) {
        "when" -> rows.firstOrNull { engine.dated[it] }?.takeIf { PAST.matcher(query).find() || told(rows.take(1), "ocr").isEmpty() }?.let { row ->
            val minute = Math.floorMod(Math.floorDiv(album.time(row), 60_000L), 1_440L)
            Explain.day(album.time(row)) + if (CLOCK.matcher(query).find()) " ${two(minute / 60)}:${two(minute % 60)}" else ""
        }.orEmpty()
        "where" -> places(rows).firstOrNull().orEmpty()
        else -> most(told(rows, "people").flatMap { it.split(",") }.map(PyText::strip).filter { it.isNotEmpty() }, NAMES).joinToString(", ")
    }

    /** Of all photos in [rows] of a time or a place: their first and last day, or their places, those with most of them first. */
    fun ofAll(wanted: Wanted, rows: List<Int>): String = when {
        wanted.order != 0 || wanted.asks == "who" -> of(wanted.asks, "was", rows.take(EVIDENCE))
        wanted.asks == "where" -> most(places(rows), PLACES).joinToString("; ")
        else -> rows.filter { engine.dated[it] }.map { Explain.day(album.time(it)) }.let { listOfNotNull(it.minOrNull(), it.maxOrNull()).distinct().joinToString(" … ") }
    }

    private fun two(number: Long): String = number.toString().padStart(2, '0')

    private fun told(rows: List<Int>, source: String): List<String> =
        album.photos(rows.toIntArray()).flatMap { photo -> photo.memories.filter { it.source == source }.map { it.text } }

    private fun places(rows: List<Int>): List<String> = find.groupNames("place", rows).filterNotNull()

    private fun most(names: List<String>, count: Int): List<String> = names.groupingBy { it }.eachCount().entries.sortedByDescending { it.value }.take(count).map { it.key }

    /**
     * Whether the album knows the names in an English question, those that are not read as times or places, and has photos of the places:
     * of somebody whom no memory names, or a place where no photo was taken, nothing is told.
     */
    fun isHeard(): Boolean {
        if (find.language.isNotEmpty()) return true
        val cues = find.cues(find.query)
        if (cues.places.any { it.photos == 0 && !isKnown(it.name.lowercase().split(" ")) }) return false
        val spans = cues.times.map { it.span } + cues.places.map { it.span }
        val words = engine.questions.vocabulary.words(PyText.joined(find.query)).filter { !it.isMark }
        if (words.none { it.values.isEmpty() && it.text[0].isLowerCase() }) return true // a heading, or one in capitals
        fun isName(at: Int) = words[at].run { at > 0 && text[0].isUpperCase() && text.drop(1).none { it.isUpperCase() } && values.isEmpty() && spans.none { start in it.start until it.end } }
        var at = 0
        while (++at < words.size) {
            if (!isName(at)) continue
            val end = (at until words.size).firstOrNull { !isName(it) } ?: words.size
            val names = words.subList(at, end).map { it.key.removeSuffix("'s") }
            if (words[at - 1].key !in OWNED && !isKnown(names)) return false
            at = end
        }
        return true
    }

    private fun isKnown(names: List<String>): Boolean =
        names.any(album::holds) || engine.names.any { known -> PyText.casefold(known).split(" ").any { it in names } }

    companion object {
        const val EVIDENCE = 10 // photos that are read for a fact
        val ASKED = setOf("when", "where", "who")
        private const val PLACES = 24
        private const val NAMES = 3
        private val CLOCK = Patterns.of("(?i)\\bwhat time\\b")
        private val PAST = Patterns.of("(?i)\\b(?:was|were|did|had|last|first)\\b") // else it asks for what a ticket says
        private val OWNED = setOf("a", "an", "another", "any", "her", "his", "its", "my", "our", "some", "that", "the", "their", "this")
    }
}
