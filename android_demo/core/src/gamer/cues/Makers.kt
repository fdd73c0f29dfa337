package gamer.cues

import gamer.cues.Calendar.Companion.FIRST_YEAR
import gamer.cues.Calendar.Companion.LAST_YEAR
import gamer.cues.Calendar.Companion.fixedDay
import gamer.cues.Calendar.Companion.lastOf
import gamer.cues.Calendar.Companion.month
import gamer.cues.Calendar.Companion.msOf
import gamer.cues.Calendar.Companion.nthWeekday
import gamer.cues.Calendar.Companion.ordinal
import gamer.cues.Calendar.Companion.yearDays

/** The result of a rule: fixed intervals, or a function from a year to days if the words name no year. */
class Made(val fixed: List<Interval>, val yearly: ((Int) -> Days)? = null) {
    constructor(days: Days) : this(listOf(msOf(days)))

    companion object {
        fun each(yearly: (Int) -> Days): Made = Made(emptyList(), yearly)
    }
}

/**
 * The makers of `cue_rules.json`: functions that turn the match of a rule into intervals. A maker raises
 * [NoDate] if the words are not a date.
 */
class Makers(private val tables: CueTables, private val calendar: Calendar) {
    fun make(name: String, m: Found, ctx: TimeContext): Made = when (name) {
        "iso" -> dayOf(m.must("y").toInt(), m.must("m").toInt(), m.must("d").toInt())
        "slashed" -> slashed(m, ctx)
        "month_day" -> monthDay(m, ctx)
        "month_days" -> monthDays(m, ctx)
        "month_year" -> Made(calendar.partOf(month(yearNumber(m.must("year"), ctx), monthOf(m)), m["part"]))
        "year_month" -> Made(month(m.must("y").toInt(), m.must("m").toInt()))
        "month_alone" -> monthOf(m).let { n -> m["part"].let { part -> Made.each { year -> calendar.partOf(month(year, n), part) } } }
        "month_range" -> monthRange(m)
        "nth_of" -> nthOf(m, ctx)
        "season_year" -> seasonYear(m, ctx)
        "season_last_year" -> Made(calendar.partOf(calendar.season(ctx.now.year - 1, m.must("season"), ctx.southern), m["part"]))
        "season_alone" -> Made.each { year -> calendar.partOf(calendar.season(year, m.must("season"), ctx.southern), m["part"]) }
        "ago" -> ago(m, ctx)
        "half_ago" -> Made(halfAgo(m, ctx))
        "few_ago" -> fewAgo(m, ctx)
        "year_ago_today" -> (ctx.today - 365).let { day -> (if ("time" in m.text) 14 else 1).let { Made(Days(day - it, day + it)) } }
        // "the last day of school" is not yesterday.
        "last_unit" -> if (m["unit"] == "day") throw NoDate() else Made(calendar.unitBack(m.must("unit"), 1, ctx))
        "before_last" -> Made(calendar.unitBack(m.must("unit"), 2, ctx))
        "this_unit" -> Made(calendar.unitBack(m.must("unit"), 0, ctx))
        "other_day" -> Made(Days(ctx.today - (if ("week" in m.text) 28 else 14), ctx.today - 1))
        "past_units" -> pastUnits(m, ctx)
        "last_named" -> monthOf(m).let { n -> Made(lastOf({ year -> month(year, n) }, ctx, 1)) }
        "this_named" -> Made(month(ctx.now.year, monthOf(m)))
        "weekday" -> weekday(m, ctx)
        "yesterday" -> Made(listOf(calendar.daypart(ctx.today - (if (m["before"].isNullOrEmpty()) 1 else 2), m["part"])))
        "today" -> today(m, ctx)
        "last_night" -> Made(listOf(calendar.daypart(ctx.today - 1, "night")))
        "night_before_last" -> Made(listOf(calendar.daypart(ctx.today - 2, "night")))
        // From the earliest photo to now (the paper's Table 9): the ranking, not the cube, decides which
        // photo is the last.
        "last_time" -> Made(listOf(Interval(ctx.extent?.first, ctx.nowMs)))
        "year" -> year(m, ctx)
        "decade" -> decade(m, ctx)
        else -> throw NoDate()
    }

    /** The value of a number in digits or words: "3", "three", "a couple of". */
    fun number(text: String): Int = tables.numbers[words(text)] ?: text.toIntOrNull() ?: throw NoDate()

    /** The year of "2009" or "'09"; two digits mean 20xx up to next year, and 19xx beyond. */
    fun yearNumber(text: String, ctx: TimeContext): Int {
        val y = text.trimStart('\'').toIntOrNull() ?: throw NoDate()
        return if (y > 99) y else y + if (2000 + y <= ctx.now.year + 1) 2000 else 1900
    }

    private fun words(text: String): String = text.split(' ').filter { it.isNotEmpty() }.joinToString(" ")

    private fun dayOf(y: Int, m: Int, d: Int): Made = if (y !in FIRST_YEAR..LAST_YEAR) throw NoDate() else ordinal(y, m, d).let { Made(Days(it, it)) }

    private fun monthOf(m: Found, group: String = "month"): Int = tables.months[m.must(group)] ?: throw NoDate()

    private fun slashed(m: Found, ctx: TimeContext): Made {
        val a = m.must("a").toInt()
        val b = m.must("b").toInt()
        val y = yearNumber(m.must("y"), ctx)
        return if (a > 12 || m["sep"] == ".") dayOf(y, b, a) else dayOf(y, a, b)
    }

    private fun monthDay(m: Found, ctx: TimeContext): Made {
        val n = monthOf(m)
        val d = m.must("day").toInt()
        m["year"]?.let { return dayOf(yearNumber(it, ctx), n, d) }
        ordinal(2000, n, d) // raises NoDate for a day such as 31 April
        return Made.each(fixedDay(n, d))
    }

    private fun monthDays(m: Found, ctx: TimeContext): Made {
        val n = monthOf(m)
        val a = m.must("day").toInt()
        val b = m.must("day2").toInt()
        if (b <= a) throw NoDate()
        ordinal(2000, n, b)
        m["year"]?.let { text -> yearNumber(text, ctx).let { y -> return Made(Days(ordinal(y, n, a), ordinal(y, n, b))) } }
        return Made.each(fixedDay(n, a, b - a))
    }

    private fun monthRange(m: Found): Made {
        val first = monthOf(m)
        val last = monthOf(m, "month2")
        val over = if (last < first) 12 else 0 // "from November to February" ends in the following year
        val year = m["year"]?.toInt()
        val year2 = m["year2"]?.toInt()
        if (year2 != null) {
            val days = Days(month(year ?: (year2 - if (over > 0) 1 else 0), first).first, month(year2, last).last)
            return if (days.first > days.last) throw NoDate() else Made(days)
        }
        if (year != null) return Made(Days(month(year, first).first, month(year, last + over).last))
        return Made.each { y -> Days(month(y, first).first, month(y, last + over).last) }
    }

    /**
     * The n-th day, week, fortnight, half, weekend, weekday or month within [days]; the last one for n = -1.
     * Weeks are counted from the first of the days. Raises [NoDate] if there are fewer than n.
     */
    private fun nthIn(days: Days, unit: String, n: Int): Days {
        if (unit in tables.weekdays || unit == "weekend") {
            val start = Calendar.dateOf(days.first)
            val weekday = if (unit == "weekend") 5 else tables.weekdays.getValue(unit)
            val day = if (n < 0) days.last - Math.floorMod(days.last - 1 - weekday, 7L) else nthWeekday(start.year, start.monthValue, weekday, n)
            return Days(day, day + if (unit == "weekend") 1 else 0)
        }
        if (unit == "month") return month(Calendar.dateOf(days.first).year, if (n < 0) 12 else n)
        val length = mapOf("day" to 1L, "week" to 7L, "fortnight" to 14L, "half" to (days.last - days.first + 2) / 2)[unit] ?: throw NoDate()
        if (n < 0) return Days(days.last - length + 1, days.last)
        val begin = days.first + (n - 1) * length
        return if (begin > days.last) throw NoDate() else Days(begin, minOf(days.last, begin + length - 1))
    }

    /** Reads "the first week of June", "last weekend of May 2010", "the last day of 2011". */
    private fun nthOf(m: Found, ctx: TimeContext): Made {
        val n = tables.ordinals[m.must("nth")] ?: throw NoDate()
        val unit = m.must("unit")
        if (!m.has("month")) return Made(nthIn(yearDays(m.must("year").toInt()), unit, n))
        val named = monthOf(m)
        m["year"]?.let { return Made(nthIn(month(yearNumber(it, ctx), named), unit, n)) }
        return Made.each { year -> nthIn(month(year, named), unit, n) }
    }

    private fun seasonYear(m: Found, ctx: TimeContext): Made {
        val y = yearNumber(m.must("year"), ctx)
        val name = m.must("season")
        val spans = arrayListOf(calendar.season(y, name, ctx.southern))
        // "winter 2010" (in the south, "summer 2010") means the one that ends in 2010 as often as the one
        // that begins in it: both are returned.
        if (name == (if (ctx.southern) "summer" else "winter") && "/" !in m.text) {
            if (ctx.southern) spans.add(calendar.season(y + 1, name, true)) else spans.add(0, calendar.season(y - 1, name))
        }
        return Made(spans.map { msOf(calendar.partOf(it, m["part"])) })
    }

    private fun ago(m: Found, ctx: TimeContext): Made {
        val unit = m.must("unit")
        val days = calendar.unitBack(if (unit == "night") "day" else unit, number(m.must("n")), ctx)
        // "999 years ago" is before any photo.
        if (Calendar.dateOf(days.first).year < FIRST_YEAR) throw NoDate()
        return if (unit == "night") Made(listOf(calendar.daypart(days.first, "night"))) else Made(days)
    }

    private fun halfAgo(m: Found, ctx: TimeContext): Days {
        val middle = calendar.unitBack("month", if (m["half"] != null) 18 else 6, ctx)
        return Days(middle.first - 15, middle.last + 15)
    }

    private fun fewAgo(m: Found, ctx: TimeContext): Made {
        val unit = mapOf("weekend" to "week", "night" to "day")[m.must("unit")] ?: m.must("unit")
        if (unit in tables.seasons || unit == "fortnight") throw NoDate()
        return Made(Days(calendar.unitBack(unit, 6, ctx).first, calendar.unitBack(unit, 2, ctx).last))
    }

    private fun pastUnits(m: Found, ctx: TimeContext): Made {
        val n = if ("few" in m.text) 3 else number(m["n"].let { if (it.isNullOrEmpty()) "1" else it })
        val unit = m.must("unit2")
        val first = ctx.today - n.toLong() * tables.unitDays.getValue(unit) + if (unit == "day") 1 else 0
        return Made(listOf(Interval(msOf(Days(first, first)).start, ctx.nowMs)))
    }

    private fun weekday(m: Found, ctx: TimeContext): Made {
        val back = Math.floorMod(ctx.today - 1 - (tables.weekdays[m.must("weekday")] ?: throw NoDate()), 7L)
        val days = if (back != 0L) back else if (m["last"] == "last") 7L else 0L
        return Made(listOf(calendar.daypart(ctx.today - days, m["part"])))
    }

    private fun today(m: Found, ctx: TimeContext): Made {
        val part = if (m.text.endsWith("today")) null else if (m.text.endsWith("tonight")) "night" else m["part"]
        return Made(listOf(calendar.daypart(ctx.today, part)))
    }

    private fun year(m: Found, ctx: TimeContext): Made {
        val y = m.must("year").toInt()
        val bare = m["part"] == null && m.text.none { it in 'a'..'z' }
        if (bare && (y > ctx.now.year + 1 || (ctx.extent != null && y !in ctx.years && y + 1 !in ctx.years))) {
            throw NoDate() // "1984" alone, outside the album's years, is a title and not a date
        }
        return Made(calendar.partOf(yearDays(y), m["part"]))
    }

    private fun decade(m: Found, ctx: TimeContext): Made {
        val word = m["word"]
        var y = if (!word.isNullOrEmpty()) tables.decades[word] ?: throw NoDate() else m.must("decade").toInt()
        if (y < 100) y += if (2000 + y <= ctx.now.year) 2000 else 1900
        return Made(calendar.partOf(yearDays(y, 10), m["part"]))
    }
}
