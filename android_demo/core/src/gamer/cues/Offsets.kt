package gamer.cues

import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Calendar.Companion.EPOCH
import gamer.cues.Calendar.Companion.mondayOf
import gamer.cues.Calendar.Companion.msOf

/**
 * [count] units (0: a few) before ([way] -1) or after (1) something, or a part of it (0). [counted]: whether
 * the words include a number. [unit]: day, week, weekend, month, year, a weekday or a part of the day.
 */
data class Offset(val count: Int, val counted: Boolean, val unit: String, val way: Int, val span: Span)

/**
 * Offsets from something that has a time: "two days after", "the weekend before", "the morning of". All
 * arithmetic is on days.
 */
class Offsets(private val tables: CueTables, private val calendar: Calendar, private val makers: Makers) {
    /**
     * The regular expression of an offset up to its "before", "after" or "following", for dates and events.
     * Groups: n, unit, way.
     */
    val words: String = run {
        val numbers = tables.numbers.keys.sortedByDescending { it.length }.joinToString("|") { literal(it) }
        val units = listOf("day", "week", "weekend", "month", "year").map { "${it}s?" } + tables.dayparts.keys + tables.weekdays.keys.filter { it.length > 4 }
        "(?<![a-z0-9])(?:(?:on|in|during|from)\\s+)?(?:the\\s+)?(?:(?<n>[0-9]{1,2}|$numbers|a\\s+few|several)\\s+)?" +
            "(?<unit>${units.joinToString("|")})\\s+(?<way>before|after|following)"
    }
    private val beforeADate = Rule("$words\\s+(?:the\\s+)?$")

    /** Escaped, with spaces unchanged: in this pattern a number of several words has single spaces. */
    private fun literal(word: String): String = CueTables.escaped(word).replace("\\s+", " ")

    /** The offset whose words end at character [at] of the flattened text, or null. */
    fun read(flat: String, at: Int): Offset? {
        val begin = maxOf(0, at - REACH)
        return beforeADate.first(flat.substring(begin, at))?.let { of(it, begin) }
    }

    /** The offset of a match of [words]; [shift]: where the searched text begins in the query. */
    fun of(m: Found, shift: Int = 0): Offset {
        val text = (m["n"] ?: "").split(' ').filter { it.isNotEmpty() }.joinToString(" ")
        val few = text == "a few" || text == "several"
        val unit = m.must("unit").let { if (it in tables.weekdays) it else it.removeSuffix("s") }
        val count = if (few) 0 else makers.number(text.ifEmpty { "1" })
        return Offset(count, text.isNotEmpty(), unit, if (m["way"] == "before") -1 else 1, Span(m.start + shift, m.end + shift))
    }

    /**
     * The interval that lies [offset] before or after [span]; an open [span] is returned as it is. A single
     * week, month or year is the one directly adjacent to [span].
     */
    fun shifted(span: Interval, offset: Offset): Interval {
        if (span.start == null || span.end == null) return span
        val first = Math.floorDiv(span.start, DAY_MS) + EPOCH
        val last = Math.floorDiv(span.end, DAY_MS) + EPOCH
        val n = offset.count
        val way = offset.way
        val edge = if (way > 0) last else first
        val unit = offset.unit
        // "the night before", "the morning after".
        if (unit in tables.dayparts) return calendar.daypart(edge + way * maxOf(n, 1), unit)
        tables.weekdays[unit]?.let { weekday -> return weekdayFrom(edge, weekday, way).let { msOf(Days(it, it)) } }
        if (unit == "weekend") {
            val saturday = if (way < 0) mondayOf(first - 1) - 2 else mondayOf(last) + 5 + if (Math.floorMod(last - 1, 7L) < 5) 0 else 7
            val moved = saturday + 7L * way * (maxOf(n, 1) - 1)
            return msOf(Days(moved, moved + 1))
        }
        val length = mapOf("day" to 1L, "week" to 7L, "month" to 30L, "year" to 365L)[unit] ?: throw NoDate()
        if (n == 0) { // a few: two to six
            val near = edge + way * 2 * length
            val far = edge + way * 6 * length
            return msOf(Days(minOf(near, far), maxOf(near, far)))
        }
        if (unit == "day") return msOf(Days(edge + way * n, edge + way * n))
        if (!offset.counted || n == 1) return msOf(if (way > 0) Days(edge + 1, edge + length) else Days(edge - length, edge - 1))
        val middle = edge + way * n * length
        return msOf(Days(middle - length / 2, middle + length / 2))
    }

    /** The next such weekday after a day, or for a negative [way] the last before it. */
    private fun weekdayFrom(day: Long, weekday: Int, way: Int): Long {
        val step = if (way > 0) Math.floorMod(weekday - (day - 1), 7L) else Math.floorMod((day - 1) - weekday, 7L)
        return day + way * (if (step == 0L) 7L else step)
    }

    private companion object {
        const val REACH = 60 // characters before an expression in which an offset may begin
    }
}
