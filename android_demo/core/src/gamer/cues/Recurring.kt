package gamer.cues

import gamer.cues.Calendar.Companion.DAY_MS

/**
 * Weekdays or hours of the day that the query names: "on Sundays", "at night", "at 5 pm". They are evidence
 * for the ranking and exclude no photo. [kind]: "weekdays" or "hours". [weekdays]: Monday is 0; empty for
 * any. [minutes]: [from, to) in minutes of the day, above 1440 for the next day; empty for any. [confidence]:
 * the share of the photos meant by such words that fit.
 */
data class RecurringCue(val text: String, val kind: String, val weekdays: List<Int>, val minutes: List<Int>, val span: Span, val confidence: Double) {
    /** Whether a time (ms of wall time) fits. */
    fun holds(ms: Long): Boolean {
        // 1970 began on a Thursday.
        if (weekdays.isNotEmpty()) return Math.floorMod(Math.floorDiv(ms, DAY_MS) + 3, 7L).toInt() in weekdays
        val minute = Math.floorMod(Math.floorDiv(ms, 60_000L), 1440L)
        return (minute >= minutes[0] && minute < minutes[1]) || minute < minutes[1] - 1440
    }
}

/** Reads recurring times. Their words stay in the text. */
class Recurring(private val tables: CueTables, private val atoms: Atoms) {
    private val words: Rule by lazy {
        val days = (tables.weekdays.keys + tables.recurringWeekdays.keys).sortedByDescending { it.length }.joinToString("|")
        val hours = tables.recurringHours.keys.sortedByDescending { it.length }.joinToString("|")
        Rule("(?<![a-z0-9])(?:(?<day>$days)s?|(?<hour>$hours)s?)(?![a-z0-9])")
    }
    private val triggers: Set<String> =
        setOf("weekday") + tables.recurringHours.keys + tables.recurringHours.keys.map { "${it}s" } + tables.recurringWeekdays.keys

    /** The weekdays and parts of the day outside the spans [taken] by time cues, and all clock times. */
    fun find(text: String, taken: List<Span>): List<RecurringCue> {
        val flat = Flat.of(text)
        val held = atoms.present(flat)
        val named = if (held.any { it in triggers }) named(text, flat, taken) else emptyList()
        return if ("digit" in held) named + clocks(text, flat) else named
    }

    private fun named(text: String, flat: String, taken: List<Span>): List<RecurringCue> = words.all(flat).mapNotNull { m ->
        if (taken.any { it.start < m.end && m.start < it.end } || m.text in setOf("sat", "sun", "mon", "wed")) return@mapNotNull null
        val day = m["day"]
        if (!day.isNullOrEmpty()) {
            val days = tables.recurringWeekdays[day] ?: listOf(tables.weekdays.getValue(day))
            cue(text, "weekdays", days, emptyList(), m.span, tables.trust.getValue("weekdays"))
        } else {
            val hours = tables.recurringHours.getValue(m.must("hour"))
            cue(text, "hours", emptyList(), listOf(hours.from * 60, hours.to * 60), m.span, hours.share)
        }
    }

    /** Clock times ("at 5 PM", "13:00"), each from half an hour before to an hour and a half after. */
    private fun clocks(text: String, flat: String): List<RecurringCue> = CLOCK.all(flat).map { m ->
        var hour = (m["h"] ?: m.must("h2")).toInt()
        val minute = m["m"]?.toInt() ?: 0
        val half = (m["ap"] ?: m["ap2"] ?: "").take(1)
        if (half.isNotEmpty() && hour <= 12) hour = hour % 12 + if (half == "p") 12 else 0
        val begin = Math.floorMod(hour * 60 + minute - 30, 1440)
        cue(text, "hours", emptyList(), listOf(begin, begin + 120), m.span, tables.trust.getValue("hours"))
    }

    private fun cue(text: String, kind: String, weekdays: List<Int>, minutes: List<Int>, span: Span, confidence: Double) =
        RecurringCue(text.substring(span.start, span.end), kind, weekdays, minutes, span, confidence)

    private companion object {
        val CLOCK = Rule(
            "(?<![0-9a-z:.,/-])(?:(?:at|around|by)\\s+)?(?:(?<h>[01]?[0-9]|2[0-3])[:h.](?<m>[0-5][0-9])(?![0-9:.])\\s*(?<ap>[ap]\\.?m\\b)?|" +
                "(?<h2>1[0-2]|[1-9])\\s*(?<ap2>[ap]\\.?m\\b))",
        )
    }
}
