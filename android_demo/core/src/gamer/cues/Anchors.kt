package gamer.cues

import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Calendar.Companion.EPOCH
import gamer.cues.Calendar.Companion.msOf
import java.util.regex.Pattern

/**
 * An event from which a time is counted: "two days after the fireworks". [text]: offset and phrase as the
 * query has them; [span]: their characters. [phrase]: the event's words.
 */
data class Anchor(val text: String, val phrase: String, val offset: Offset, val span: Span)

/**
 * Event anchors. The event's phrase and the offset are read from the query alone; once the event's days are
 * known (from the album, or a test's table) they become time cues. If the event is not found, or happened on
 * too many days, its words stay in the text.
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

    /**
     * The anchors of a query: offsets that a phrase follows rather than a date. [taken]: the spans of the
     * time cues. An anchor that overlaps one is dropped, and a phrase ends where one begins.
     */
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

    /** A time cue for each of the event's intervals (at most [MAX_EVENTS]), moved by the offset. */
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
        // Days; what happened more often is a habit, from which no time can be counted.
        const val MAX_EVENTS = 5
        private const val WORD = "[^\\s,.;:?!()\"]+"
        private val TRIGGER = Pattern.compile("\\b(?:before|after|following|of)\\b")
        private val EDGES = gamer.common.Patterns.of("^(?:the|my|our|a|an)\\s+|(?<!\\s)\\s+(?:(?:in|on|at|and|or|with|from|of)\\s*)?$", ignoreCase = true)
    }
}
