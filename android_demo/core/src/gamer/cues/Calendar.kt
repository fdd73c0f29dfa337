package gamer.cues

import java.time.DateTimeException
import java.time.LocalDate
import java.time.LocalDateTime

/** Ms of wall time as if UTC, both ends included; null is open. */
data class Interval(val start: Long?, val end: Long?)

/** First and last day, both included, as proleptic Gregorian ordinals (1 January of year 1 is 1). */
data class Days(val first: Long, val last: Long)

/**
 * The reference of relative time words. [now]: the wall clock. [extent]: ms of the album's first and last
 * photo, both included; null if unknown. [southern]: whether seasons are those of the southern hemisphere.
 */
class TimeContext(val now: LocalDateTime, val extent: LongRange? = null, val southern: Boolean = false) {
    val today: Long = Calendar.ordinal(now.year, now.monthValue, now.dayOfMonth)

    val nowMs: Long = (today - Calendar.EPOCH) * Calendar.DAY_MS + now.toLocalTime().toNanoOfDay() / 1_000_000

    /**
     * The years of the album's extent and the year before, at most [Calendar.MAX_INTERVALS] years before the
     * last. Last year and this year if the extent is unknown.
     */
    val years: IntRange
        get() {
            if (extent == null) return now.year - 1..now.year
            val (low, high) = listOf(extent.first, extent.last).map { Calendar.yearOf(it).coerceIn(Calendar.FIRST_YEAR, Calendar.LAST_YEAR) }
            return maxOf(low - 1, high - Calendar.MAX_INTERVALS)..high
        }
}

/** Calendar arithmetic for time words: months, seasons, holidays, "n weeks ago". */
class Calendar(private val tables: CueTables) {
    /**
     * A function from a year to the days on which people photograph under the holiday's name. The function
     * raises [NoDate] for a year that the holiday's table lacks.
     */
    fun holiday(rule: HolidayRule): (Int) -> Days = { year ->
        val day = namedDay(rule, year) + rule.shift
        Days(day - rule.before, day + rule.after)
    }

    private fun namedDay(rule: HolidayRule, year: Int): Long {
        if (rule.day.isNotEmpty()) return ordinal(year, rule.day[0], rule.day[1])
        if (rule.nth.isNotEmpty()) return nthWeekday(year, rule.nth[0], rule.nth[1], rule.nth[2])
        if (rule.easter != null) return easter(year) + rule.easter
        if (rule.orthodox != null) return orthodoxEaster(year) + rule.orthodox
        if (rule.weekdayFrom.isNotEmpty()) {
            val first = ordinal(year, rule.weekdayFrom[0], rule.weekdayFrom[1])
            return first + Math.floorMod(rule.weekdayFrom[2] - (first - 1), 7L)
        }
        val found = tables.tables[rule.table]?.get(year) ?: throw NoDate()
        return ordinal(year, found / 100, found % 100)
    }

    /** The third of the days that [part] names ("early", "mid", "late"); all of them without a part. */
    fun partOf(days: Days, part: String?): Days {
        if (part.isNullOrEmpty()) return days
        val (low, high) = tables.thirds[part.split(Regex("\\s+")).joinToString(" ")] ?: throw NoDate()
        val third = (days.last - days.first + 1) / 3
        val begin = listOf(days.first, days.first + third, days.last - third + 1)[low]
        return Days(begin, listOf(days.first, days.first + third - 1, days.last - third, days.last)[high])
    }

    /**
     * The three months of a meteorological season; a northern winter begins in December of [year]. Southern
     * seasons lie half a year away.
     */
    fun season(year: Int, name: String, southern: Boolean = false): Days {
        val first = tables.seasons[name] ?: throw NoDate()
        return months(year, if (southern) first + (if (first < 6) 6 else -6) else first, 3)
    }

    /**
     * The calendar day, week, weekend, month, season or year that lies [n] back; 0 is the current one. A
     * fortnight is the seven days around the day 14 · n days ago.
     */
    fun unitBack(unit: String, n: Int, ctx: TimeContext): Days = when (unit) {
        "day" -> Days(ctx.today - n, ctx.today - n)
        "week" -> mondayOf(ctx.today).let { Days(it - 7L * n, it - 7L * n + 6) }
        "fortnight" -> Days(ctx.today - 14L * n - 3, ctx.today - 14L * n + 3)
        "weekend" -> mondayOf(ctx.today).let { Days(it + 5 - 7L * n, it + 6 - 7L * n) }
        "month" -> month(ctx.now.year, ctx.now.monthValue - n)
        "year" -> yearDays(ctx.now.year - n)
        else -> {
            val of = { year: Int -> season(year, unit, ctx.southern) }
            if (n == 0) currentOf(of, ctx) else lastOf(of, ctx, n)
        }
    }

    /** The interval of a part of the day, of the entire day for null; "night" ends in the next day. */
    fun daypart(day: Long, part: String?): Interval {
        val start = (day - EPOCH) * DAY_MS
        val (low, high) = if (part == null) listOf(0, 24) else tables.dayparts[part] ?: throw NoDate()
        return Interval(start + low * HOUR_MS, start + high * HOUR_MS - 1)
    }

    companion object {
        const val DAY_MS = 86_400_000L
        const val HOUR_MS = 3_600_000L
        const val EPOCH = 719_163L // the ordinal of 1970-01-01
        const val MAX_INTERVALS = 40
        const val FIRST_YEAR = 1900
        const val LAST_YEAR = 2100
        private const val LAST_ORDINAL = 3_652_059L // the ordinal of 9999-12-31

        fun ordinal(year: Int, month: Int, day: Int): Long = try {
            if (year !in 1..9999) throw NoDate()
            LocalDate.of(year, month, day).toEpochDay() + EPOCH
        } catch (error: DateTimeException) {
            throw NoDate()
        }

        fun dateOf(ordinal: Long): LocalDate = if (ordinal in 1..LAST_ORDINAL) LocalDate.ofEpochDay(ordinal - EPOCH) else throw NoDate()

        fun yearOf(ms: Long): Int {
            val day = Math.floorDiv(ms, DAY_MS) + EPOCH
            return if (day in 1..LAST_ORDINAL) dateOf(day).year else if (ms < 0) FIRST_YEAR else LAST_YEAR
        }

        /** The interval of a range of days. */
        fun msOf(days: Days): Interval = Interval((days.first - EPOCH) * DAY_MS, (days.last + 1 - EPOCH) * DAY_MS - 1)

        /** The days of a month; an [m] above 12 or below 1 counts into the following or earlier years. */
        fun month(year: Int, m: Int): Days {
            val y = year + Math.floorDiv(m - 1, 12)
            val n = Math.floorMod(m - 1, 12) + 1
            return Days(ordinal(y, n, 1), ordinal(y + n / 12, n % 12 + 1, 1) - 1)
        }

        fun months(year: Int, m: Int, count: Int): Days = Days(month(year, m).first, month(year, m + count - 1).last)

        fun yearDays(year: Int, count: Int = 1): Days = Days(ordinal(year, 1, 1), ordinal(year + count, 1, 1) - 1)

        /** Easter Sunday of the Gregorian calendar, as an ordinal (anonymous Gregorian computus). */
        fun easter(year: Int): Long {
            val a = year % 19
            val b = year / 100
            val c = year % 100
            val g = (8 * b + 13) / 25
            val h = (19 * a + b - b / 4 - g + 15) % 30
            val r = Math.floorMod(32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4, 7)
            val m = (a + 11 * h + 22 * r) / 451
            val n = h + r - 7 * m + 114
            return ordinal(year, n / 31, n % 31 + 1)
        }

        /** Easter Sunday of the Julian calendar, as a Gregorian ordinal (Meeus; valid for 1900..2099). */
        fun orthodoxEaster(year: Int): Long {
            val d = (19 * (year % 19) + 15) % 30
            val e = (2 * (year % 4) + 4 * (year % 7) - d + 34) % 7
            return ordinal(year, (d + e + 114) / 31, (d + e + 114) % 31 + 1) + 13
        }

        /**
         * The n-th weekday (Monday 0) of a month, as an ordinal; the last one for n = -1. Raises [NoDate] if
         * the month has fewer.
         */
        fun nthWeekday(year: Int, m: Int, weekday: Int, n: Int): Long {
            val days = month(year, m)
            if (n < 0) return days.last - Math.floorMod(days.last - 1 - weekday, 7L)
            val first = ordinal(year, m, 1)
            val day = first + Math.floorMod(weekday - (first - 1), 7L) + 7L * (n - 1)
            return if (day > days.last) throw NoDate() else day
        }

        /** A function from a year to the range of that date and the [after] days that follow. */
        fun fixedDay(m: Int, d: Int, after: Int = 0): (Int) -> Days = { year -> ordinal(year, m, d).let { Days(it, it + after) } }

        /** The n-th last occurrence that ended before today. [of]: the occurrence in a year. */
        fun lastOf(of: (Int) -> Days, ctx: TimeContext, n: Int): Days {
            var year = ctx.now.year + 1
            while (of(year).last >= ctx.today) year--
            return of(year - (n - 1))
        }

        /** The occurrence of the year before or after if today lies in it, else this year's. */
        fun currentOf(of: (Int) -> Days, ctx: TimeContext): Days {
            for (step in listOf(-1, 1)) of(ctx.now.year + step).let { if (ctx.today in it.first..it.last) return it }
            return of(ctx.now.year)
        }

        fun mondayOf(day: Long): Long = day - Math.floorMod(day - 1, 7L)
    }
}
