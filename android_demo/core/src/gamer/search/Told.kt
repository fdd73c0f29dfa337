package gamer.search

import gamer.common.Patterns
import gamer.common.PyText
import gamer.cues.Cues
import gamer.cues.Explain
import gamer.questions.Wanted

/** What photos tell where a time, a place or a person is asked for (runtime/agent/sentences.py), in any language. */
internal class Told(private val engine: Engine) {
    private val album = engine.album

    /** Of the photos in [rows], best first; "" where they do not tell it. */
    fun of(asks: String, query: String, rows: List<Int>): String = when (asks) {
        "when" -> rows.firstOrNull { engine.dated[it] }?.takeIf { PAST.matcher(query).find() || told(rows.take(1), "ocr").isEmpty() }?.let { row ->
            val minute = Math.floorMod(Math.floorDiv(album.time(row), 60_000L), 1_440L)
            Explain.day(album.time(row)) + if (CLOCK.matcher(query).find()) " %02d:%02d".format(minute / 60, minute % 60) else ""
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

    private fun told(rows: List<Int>, source: String): List<String> =
        album.photos(rows.toIntArray()).flatMap { photo -> photo.memories.filter { it.source == source }.map { it.text } }

    private fun places(rows: List<Int>): List<String> = album.photos(rows.toIntArray()).mapNotNull { photo ->
        photo.memories.firstOrNull { it.source == "place" }?.let { PyText.head(PyText.joined(it.text), MOST) }
    }

    private fun most(names: List<String>, count: Int): List<String> = names.groupingBy { it }.eachCount().entries.sortedByDescending { it.value }.take(count).map { it.key }

    companion object {
        const val EVIDENCE = 10 // photos that are read for a fact
        val ASKED = setOf("when", "where", "who")
        private const val MOST = 80 // characters of a place
        private const val PLACES = 24
        private const val NAMES = 3
        private val CLOCK = Patterns.of("(?i)\\bwhat time\\b")
        private val PAST = Patterns.of("(?i)\\b(?:was|were|did|had|last|first)\\b") // else it asks for what a ticket says
        private val OWNED = setOf("a", "an", "another", "any", "her", "his", "its", "my", "our", "some", "that", "the", "their", "this")

        /**
         * Whether the album knows the names in an English question, those that [cues] do not read as times or places: of somebody whom no
         * memory names nothing is told.
         */
        fun isHeard(engine: Engine, query: String, language: String, cues: Cues): Boolean {
            if (language.isNotEmpty()) return true
            val spans = (cues.times.map { it.span } + cues.places.map { it.span })
            val words = engine.questions.vocabulary.words(PyText.joined(query)).filter { !it.isMark }
            return words.indices.drop(1).none { at ->
                val word = words[at]
                val name = word.key.removeSuffix("'s")
                val isName = word.text[0].isUpperCase() && word.text.drop(1).none { it.isUpperCase() } && word.values.isEmpty() && words[at - 1].key !in OWNED
                isName && spans.none { word.start >= it.start && word.end <= it.end } && !engine.album.holds(name) &&
                    engine.names.none { known -> name in PyText.casefold(known).split(" ") }
            }
        }
    }
}
