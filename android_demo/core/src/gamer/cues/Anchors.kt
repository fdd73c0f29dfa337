package gamer.cues

import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Calendar.Companion.EPOCH
import gamer.cues.Calendar.Companion.msOf
import java.util.regex.Pattern

/** An event that a time is counted from: "two days after the fireworks". [phrase]: the event's words. [span]: offset and phrase in the query. */
data class Anchor(val text: String, val phrase: String, val offset: Offset, val span: Span)

/**
 * Reads event anchors and moves from the event's days once somebody (the album, or a test's table) has found it. An event that is not found, or
 * that happens too often to be one, leaves the words in the text.
 */
class Anchors(private val tables: CueTables, private val calendar: Calendar, private val offsets: Offsets) {
    private val afterSomething: Rule by lazy { Rule(offsets.words + "\\s+(?<phrase>$WORD(?:\\s+$WORD){0,7})") }
    private val ofSomething: Rule by lazy {
        val parts = (listOf("day") + tables.dayparts.keys + listOf("weekend", "week")).joinToString("|")
        Rule(
            "(?<![a-z0-9])(?:(?:on|in|during|from)\\s+)?the\\s+(?<unit>$parts)\\s+of\\s+(?<phrase>(?:the|my|our|his|her|their|[a-z]+'s)\\s+" +
                "$WORD(?:\\s+$WORD){0,6})",
        )
    }

    /** Offsets from something that is no date, outside the spans [taken] by times; a phrase ends where a cue begins. */
    fun read(text: String, taken: List<Span>): List<Anchor> {
        val flat = Flat.of(text)
        if (!TRIGGER.matcher(flat).find()) return emptyList()
        val found = afterSomething.all(flat).map { it to offsets.of(it) } +
            ofSomething.all(flat).map { it to Offset(0, false, it.must("unit"), 0, it.span("unit")) }
        val out = ArrayList<Anchor>()
        for ((m, offset) in found) {
            val begin = m.span("phrase").start
            val end = (listOf(m.span("phrase").end) + taken.map { it.start }.filter { it >= begin && it < m.span("phrase").end }).min()
            val words = text.substring(begin, end)
            val phrase = EDGES.replaced(gamer.common.PyText.strip(words), "")
            if (phrase.isEmpty() || !phrase[0].isLetter() || taken.any { it.start < end && m.start < it.end }) continue
            val b = begin + words.trimEnd { gamer.common.PyText.isSpace(it) }.length
            out.add(Anchor(text.substring(m.start, b), phrase, offset, Span(m.start, b)))
        }
        return out
    }

    private fun Pattern.replaced(text: String, with: String): String = matcher(text).replaceAll(with)

    /** One time cue for each of the event's intervals, moved by the offset. */
    fun cuesOf(anchor: Anchor, events: List<Interval>): List<TimeCue> = events.take(MAX_EVENTS).map {
        val moved = moved(it, anchor.offset)
        TimeCue(anchor.text, moved.start, moved.end, anchor.span, "anchor", tables.trust.getValue("anchor"))
    }

    private fun moved(event: Interval, offset: Offset): Interval {
        if (offset.way != 0 || event.start == null || event.end == null) return offsets.shifted(event, offset)
        val first = Math.floorDiv(event.start, DAY_MS) + EPOCH
        val last = Math.floorDiv(event.end, DAY_MS) + EPOCH
        if (offset.unit in tables.dayparts) return calendar.daypart(first, offset.unit)
        val reach = mapOf("day" to 0L, "weekend" to 1L, "week" to 3L).getValue(offset.unit)
        return msOf(Days(first - reach, last + reach))
    }

    companion object {
        const val MAX_EVENTS = 5 // an event that happened on more days is a habit, and anchors nothing
        private const val WORD = "[^\\s,.;:?!()\"]+"
        private val TRIGGER = Pattern.compile("\\b(?:before|after|following|of)\\b")
        private val EDGES = gamer.common.Patterns.of("^(?:the|my|our|a|an)\\s+|\\s+(?:in|on|at|and|or|with|from|of)?\\s*$", ignoreCase = true)
    }
}
