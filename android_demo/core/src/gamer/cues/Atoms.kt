package gamer.cues

import gamer.cues.Calendar.Companion.currentOf
import gamer.cues.Calendar.Companion.lastOf
import gamer.cues.Calendar.Companion.month
import gamer.cues.Calendar.Companion.msOf
import gamer.cues.Calendar.Companion.ordinal
import gamer.cues.Calendar.Companion.yearDays
import java.util.regex.Pattern

/**
 * A time expression before ranges are joined: [fixed] intervals, or [yearly], a function from a year to days.
 * [keep]: characters that stay in the text although understood: "Christmas" is a time and also something that
 * photos show. [exact]: the holiday's day itself, if its name also covers the days around it: two days after
 * Christmas is the 27th.
 */
data class Atom(
    val span: Span,
    val kind: String,
    val fixed: List<Interval> = emptyList(),
    val yearly: ((Int) -> Days)? = null,
    val keep: Span? = null,
    val exact: Atom? = null,
)

/**
 * Applies the rules of `cue_rules.json` to a query. Patterns are matched against the query as lower-case
 * ASCII of the same length ([Flat]), so their spans are spans of the query. Earlier rules take precedence;
 * [Times] joins atoms into ranges and bounds.
 */
class Atoms(private val tables: CueTables, private val calendar: Calendar, private val makers: Makers) {
    private val classes: Map<String, Set<String>> = mapOf(
        "month" to tables.months.keys,
        "weekday" to tables.weekdays.keys + tables.weekdays.keys.map { it + "s" },
        "season" to tables.seasons.keys,
        "unit" to tables.units,
        "decade" to tables.decades.keys,
        "ordinal" to tables.ordinals.keys.map { it.filter { c -> c in 'a'..'z' } }.toSet(),
        "holiday" to tables.holidays.keys.map { WORD.find(Flat.of(it))!!.value }.toSet(),
        "today" to setOf("today", "tonight", "this"),
        "back" to setOf("last", "past"),
    )
    private val compiled = HashMap<String, Rule>()
    private val holidayRule: Rule by lazy { Rule(standing(holidayPattern())) }
    private val holidayOf: Map<String, Pair<(Int) -> Days, (Int) -> Days>> by lazy {
        tables.holidays.entries.associate { (name, rule) -> key(name) to (calendar.holiday(rule) to calendar.holiday(rule.copy(before = 0, after = 0))) }
    }

    /** The words of a flattened text, and the names of the classes that they belong to. */
    fun present(flat: String): Set<String> {
        val words = WORD.findAll(flat).map { it.value }.toHashSet()
        val found = classes.filterValues { members -> words.any { it in members } }.keys.toHashSet()
        if (flat.any { it in '0'..'9' }) found.add("digit")
        return found + words
    }

    /** All time expressions, in the order of the text; of overlapping ones that of the earliest rule. */
    fun read(text: String, ctx: TimeContext): List<Atom> {
        val flat = Flat.of(text)
        val held = present(flat)
        val found = ArrayList<Atom>()
        if ('年' in text) found += ideographic(text)
        if ("holiday" in held) found += holidays(flat, ctx)
        for (rule in tables.rules) if (rule.needs.all { it in held }) found += byRule(rule, flat, ctx)
        if ("month" in held) found += capitalMonths(text, flat)
        return apart(found, text.length)
    }

    private fun rule(pattern: String): Rule = synchronized(compiled) { compiled.getOrPut(pattern) { Rule(standing(pattern)) } }

    /** Extends a pattern so that it matches only between words and numbers. */
    private fun standing(pattern: String): String = "(?<![a-z0-9$#_])" + tables.expand(pattern) + "(?![a-z0-9])"

    private fun byRule(rule: RuleText, flat: String, ctx: TimeContext): List<Atom> = rule(rule.pattern).all(flat).mapNotNull { m ->
        try {
            val made = makers.make(rule.make, m, ctx)
            if (made.yearly != null) Atom(m.span, "yearly", yearly = made.yearly) else Atom(m.span, rule.kind, made.fixed)
        } catch (error: NoDate) {
            null // not a date (31 April, the year 0), so no cue
        }
    }

    private fun holidayPattern(): String {
        val names = tables.holidays.keys.sortedWith(compareBy({ -it.length }, { it }))
        val spelt = names.joinToString("|") { CueTables.escaped(Flat.of(it)).replace("\\'", "'").replace("'", "'?").replace("\\-", "[\\s-]?") }
        val ahead = "(?:<<sep>>|\\s+in\\s+)(?:(?:19|20)[0-9]{2}|'[0-9]{2})\\b"
        val year = "(?:<<sep>>|\\s+in\\s+)<<named_year>>"
        return "(?<prep>(?:(?:on|at|during|over|for|in|from|of)\\s+(?:the\\s+)?)?)(?<last>last\\s+|this\\s+)?(?<keep>(?<name>$spelt)(?![a-z0-9])" +
            // The last part is for "Easter weekend 2011".
            "<<holiday_things>>(?:\\s+[a-z]+(?=$ahead))?)(?:$year|\\s+(?<lastyear>last\\s+year))?"
    }

    private fun key(name: String): String = Flat.of(name).filter { it !in " '-" }

    private fun holidays(flat: String, ctx: TimeContext): List<Atom> = holidayRule.all(flat).mapNotNull { m ->
        val (around, itself) = holidayOf.getValue(key(m.must("name")))
        try {
            holidayAtom(m, around, ctx).copy(keep = m.span("keep"), exact = holidayAtom(m, itself, ctx))
        } catch (error: NoDate) {
            null
        }
    }

    /**
     * The atom of "Christmas 2010", "last Christmas", "Christmas last year", or of the holiday in any year.
     */
    private fun holidayAtom(m: Found, of: (Int) -> Days, ctx: TimeContext): Atom {
        val last = m["last"].orEmpty()
        val year = m["year"]
        val days = when {
            !year.isNullOrEmpty() -> of(makers.yearNumber(year, ctx))
            m["lastyear"] != null -> of(ctx.now.year - 1)
            last.startsWith("last") -> lastOf(of, ctx, 1)
            last.isNotEmpty() -> currentOf(of, ctx)
            else -> return Atom(m.span, "holiday", yearly = of)
        }
        return Atom(m.span, "span", listOf(msOf(days)))
    }

    /**
     * The months May and March named alone: accepted only as the query's last word, with a capital letter.
     * Not as its only word, nor after words that a person or an event follows ("with May").
     */
    private fun capitalMonths(text: String, flat: String): List<Atom> {
        val out = ArrayList<Atom>()
        for (m in CAPITAL_MONTH.all(flat)) {
            val head = flat.substring(0, m.start)
            val before = head.split(' ').filter { it.isNotEmpty() }
            if (before.isEmpty() || !text[m.start].isUpperCase() || !text[m.start + 1].isLowerCase() || flat.substring(m.end).isNotBlank()) continue
            if (NO_MONTH_AFTER.matcher(before.last()).matches()) continue
            // "the Million Mo March" is an event.
            if (text[head.trimEnd().length - before.last().length].isUpperCase()) continue
            val n = tables.months.getValue(m.must("m"))
            out.add(Atom(m.span, "yearly", yearly = { year -> month(year, n) }))
        }
        return out
    }

    /** Chinese and Japanese dates: 2010年5月3日 and its shorter forms. */
    private fun ideographic(text: String): List<Atom> = IDEOGRAPHIC.all(text).mapNotNull { m ->
        val (y, mo, d) = listOf("y", "m", "d").map { m[it]?.toInt() ?: 0 }
        try {
            val days = if (mo != 0 && d == 0 && mo <= 12) month(y, mo) else if (mo == 0) yearDays(y) else ordinal(y, mo, d).let { Days(it, it) }
            Atom(m.span, if (d != 0) "day" else if (mo != 0) "month" else "year", listOf(msOf(days)))
        } catch (error: NoDate) {
            null
        }
    }

    private fun apart(found: List<Atom>, length: Int): List<Atom> {
        val taken = BooleanArray(length)
        val out = ArrayList<Atom>()
        for (atom in found) {
            val places = atom.span.start until atom.span.end
            if (places.any { taken[it] }) continue
            places.forEach { taken[it] = true }
            out.add(atom)
        }
        return out.sortedBy { it.span }
    }

    private companion object {
        val WORD = Regex("[a-z]+")
        val CAPITAL_MONTH = Rule("(?<![a-z0-9'])(?<m>may|march)(?![a-z0-9'])")
        val NO_MONTH_AFTER: Pattern = Pattern.compile("with|and|of|to|by|my|for|about|the|aunt|miss|mr|mrs|is|as|like|[a-z]*'s")
        val IDEOGRAPHIC = Rule("(?<y>[12][0-9]{3})年(?:\\s*(?<m>[0-9]{1,2})月(?:\\s*(?<d>[0-9]{1,2})日)?)?")
    }
}

/** The query as lower-case ASCII of the same length, so that rules are simple and spans remain valid. */
object Flat {
    /**
     * Accented and other Latin letters (all letters below U+0590) become "z", because they continue a word;
     * dashes and apostrophes become their ASCII forms, all other characters a space.
     */
    fun of(text: String): String {
        val out = CharArray(text.length)
        for ((i, c) in text.withIndex()) out[i] = when {
            c in 'A'..'Z' -> c + 32
            c.code in 0x20..0x7E -> c
            c in "–—‐‑−" -> '-'
            c in "’‘" -> '\''
            c.isLetter() && c.code < 0x590 -> 'z'
            else -> ' '
        }
        return String(out)
    }
}
