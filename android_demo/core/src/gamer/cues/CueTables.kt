package gamer.cues

import gamer.bundle.Fields
import gamer.common.RuntimeFailure
import gamer.common.all
import org.json.JSONArray
import org.json.JSONException
import org.json.JSONObject

/**
 * The date of a holiday, given by exactly one of the first six fields. [day]: (month, day). [nth]: (month,
 * weekday, n), the last one for n = -1. [easter], [orthodox]: days after Easter Sunday of that calendar.
 * [weekdayFrom]: (month, day, weekday), the first such weekday on or after that date. [table]: the name of a
 * table of first days by year. [shift]: days from that date to the holiday itself. [before], [after]: days
 * around it on which people photograph under its name.
 */
data class HolidayRule(
    val day: List<Int>,
    val nth: List<Int>,
    val easter: Int?,
    val orthodox: Int?,
    val weekdayFrom: List<Int>,
    val table: String,
    val shift: Int,
    val before: Int,
    val after: Int,
)

/** One rule: its maker's name, the kind of cue, the word classes that a text must contain, the pattern. */
class RuleText(val make: String, val kind: String, val needs: List<String>, val pattern: String)

/** Hours of the day (above 24: of the next day), and the share of the photos meant by such words that fit. */
class RecurringHours(val from: Int, val to: Int, val share: Double)

/**
 * Prepositions and other words near the name of a place. [strong], [weak]: prepositions that govern a place.
 * [uncertain]: strong ones that govern other words too. [wide]: those that mean "near". [skip]: words between
 * preposition and name. [openers]: words before a name that are not part of it, even if capitalised. [inner]:
 * words inside a name that need no capital. [capitals]: abbreviations that count only in capitals ("US").
 * [home]: a pattern for "at home".
 */
class PlaceWords(
    val strong: Set<String>,
    val weak: Set<String>,
    val uncertain: Set<String>,
    val wide: Set<String>,
    val skip: Set<String>,
    val openers: Set<String>,
    val inner: Set<String>,
    val capitals: Set<String>,
    val home: String,
)

/** A rule of another language: the pattern, and the English words for what it matches. */
class Phrase(val pattern: String, val english: String)

/**
 * How queries in one language other than English are read ([Languages]). [marks]: a pattern of letters or words
 * by which the language is known, "" for a language of Latin letters, which is known by its [words].
 * [spaceless]: words are not separated by spaces. [before], [after], [nearBefore], [nearAfter]: patterns of
 * what stands beside the name of a place and means "in" or "near". [endings]: endings of inflected names, and
 * what they replace. [tables]: name → words → English words. [digits]: name → pattern of a number.
 */
class Language(
    val name: String,
    val marks: String,
    val words: Set<String>,
    val spaceless: Boolean,
    val before: String,
    val after: String,
    val nearBefore: String,
    val nearAfter: String,
    val endings: List<Pair<String, String>>,
    val tables: Map<String, Map<String, String>>,
    val digits: Map<String, String>,
    val rules: List<Phrase>,
)

/**
 * The words by which questions are read (gamer.questions). [words]: language → role → word → its reading, "" without one. [lists]:
 * name → words that the reader's rules name.
 */
class QuestionWords(val words: Map<String, Map<String, Map<String, String>>>, val lists: Map<String, Set<String>>)

/**
 * The content of `runtime/cues/cue_rules.json`, typed: the words and rules of the cue reader, which the
 * Python, Kotlin and Swift readers share. Months are 1..12, weekdays 0 (Monday)..6, hours 0..24 (above 24: of
 * the next day).
 */
class CueTables private constructor(raw: JSONObject) {
    val months: Map<String, Int> = numbers(raw.getJSONObject("months"))
    private val ambiguousMonths: Set<String> = words(raw.getJSONArray("ambiguous_months"))
    val weekdays: Map<String, Int> = numbers(raw.getJSONObject("weekdays"))
    val seasons: Map<String, Int> = numbers(raw.getJSONObject("seasons"))
    val numbers: Map<String, Int> = numbers(raw.getJSONObject("numbers"))
    val ordinals: Map<String, Int> = numbers(raw.getJSONObject("ordinals"))
    val decades: Map<String, Int> = numbers(raw.getJSONObject("decades"))
    val thirds: Map<String, List<Int>> = lists(raw.getJSONObject("thirds"))
    val units: Set<String> = words(raw.getJSONArray("units"))
    val unitDays: Map<String, Int> = numbers(raw.getJSONObject("unit_days"))
    private val reporting: Set<String> = words(raw.getJSONArray("reporting"))
    val dayparts: Map<String, List<Int>> = lists(raw.getJSONObject("dayparts"))
    val recurringHours: Map<String, RecurringHours> = raw.getJSONObject("recurring").getJSONObject("hours").let { hours ->
        Fields.names(hours).associateWith { hours.getJSONArray(it).let { h -> RecurringHours(h.getInt(0), h.getInt(1), h.getDouble(2)) } }
    }
    val recurringWeekdays: Map<String, List<Int>> = lists(raw.getJSONObject("recurring").getJSONObject("weekdays"))
    val holidays: Map<String, HolidayRule> = holidays(raw.getJSONArray("holidays"))
    val tables: Map<String, Map<Int, Int>> = raw.getJSONObject("tables").let { tables ->
        Fields.names(tables).associateWith { numbers(tables.getJSONObject(it)).mapKeys { (year, _) -> year.toInt() } }
    }
    private val macros: Map<String, String> = raw.getJSONObject("macros").let { macros -> Fields.names(macros).associateWith { macros.getString(it) } }
    val rules: List<RuleText> = objects(raw.getJSONArray("rules")).map {
        RuleText(it.getString("make"), it.getString("kind"), list(it.getJSONArray("needs")), it.getString("pattern"))
    }
    val places: PlaceWords = raw.getJSONObject("places").let { p ->
        fun set(name: String) = words(p.getJSONArray(name))
        PlaceWords(
            set("strong"), set("weak"), set("uncertain"), set("wide"), set("skip"), set("openers"), set("inner"), set("capitals"), p.getString("home"),
        )
    }
    val trust: Map<String, Double> = raw.getJSONObject("trust").let { trust -> Fields.names(trust).associateWith { trust.getDouble(it) } }

    /** Words by which a query is known as English. */
    val english: Set<String> = words(raw.getJSONObject("languages").getJSONArray("english")) + months.keys + weekdays.keys + seasons.keys + numbers.keys
    val languages: List<Language> = raw.getJSONObject("languages").let { all ->
        val digits = strings(all.getJSONObject("digits"))
        objects(all.getJSONArray("known")).map { language(it, digits) }
    }

    val questions: QuestionWords = raw.getJSONObject("questions").let { q ->
        fun <T> each(of: JSONObject, read: (String) -> T): Map<String, T> = Fields.names(of).associateWith(read)
        val (words, lists) = q.getJSONObject("words") to q.getJSONObject("lists")
        QuestionWords(
            each(words) { code -> words.getJSONObject(code).let { roles -> each(roles) { strings(roles.getJSONObject(it)) } } },
            each(lists) { words(lists.getJSONArray(it)) },
        )
    }

    /** Month names that are not also another word or name: "may" and "jan" are missing. */
    private val clearMonths: Set<String> = months.keys.filter { it !in ambiguousMonths && it.length > 3 }.toSet()
    private val named: Map<String, Collection<String>> = mapOf(
        "months" to months.keys, "weekdays" to weekdays.keys, "seasons" to seasons.keys, "numbers" to numbers.keys, "ordinals" to ordinals.keys,
        "decades" to decades.keys, "thirds" to thirds.keys, "units" to units, "unit_days" to unitDays.keys, "reporting" to reporting,
        "dayparts" to dayparts.keys, "clear_months" to clearMonths, "ambiguous_months" to ambiguousMonths, "holidays" to holidays.keys,
    )

    /**
     * The pattern with its macros and tables expanded. Raises [RuntimeFailure] for an unknown name, and for
     * macros that refer to each other in a circle.
     */
    fun expand(pattern: String): String {
        var text = pattern
        repeat(DEPTH) {
            val m = MACRO.matcher(text)
            val out = StringBuilder()
            var last = 0
            while (m.find()) {
                out.append(text, last, m.start()).append(macro(m.group(1)!!))
                last = m.end()
            }
            if (last == 0) return text
            text = out.append(text, last, text.length).toString()
        }
        throw RuntimeFailure("cue_rules.json: macros that name each other")
    }

    private fun macro(name: String): String {
        macros[name]?.let { return it }
        val words = named[name] ?: throw RuntimeFailure("cue_rules.json: no macro and no table '$name'")
        return words.sortedWith(compareBy({ -it.length }, { it })).joinToString("|") { escaped(it) }
    }

    companion object {
        const val VERSION = 1
        private const val DEPTH = 8
        private val MACRO = java.util.regex.Pattern.compile("<<(\\w+)>>")

        /**
         * Parses a rules file. [json]: the text of cue_rules.json. Raises [RuntimeFailure] if it is not one
         * of this version.
         */
        fun read(json: String): CueTables = try {
            val raw = JSONObject(json)
            val version = raw.getInt("version")
            if (version != VERSION) throw RuntimeFailure("cue_rules.json: version $version, this program reads $VERSION")
            CueTables(raw)
        } catch (error: JSONException) {
            throw RuntimeFailure("cue_rules.json: ${error.message}: install the program again")
        }

        /** Words as a pattern: special characters are escaped, a space matches any white space. */
        fun escaped(words: String): String {
            val out = StringBuilder()
            for (c in words) when {
                c == ' ' -> out.append("\\s+")
                c.isLetterOrDigit() || c == '_' || c.code > 127 -> out.append(c)
                else -> out.append('\\').append(c)
            }
            return out.toString()
        }

        private val LETTERS = gamer.common.Patterns.of("[^\\W\\d_]+")

        private fun language(raw: JSONObject, digits: Map<String, String>): Language {
            val tables = raw.getJSONObject("tables").let { all -> Fields.names(all).associateWith { strings(all.getJSONObject(it)) } }
            val places = raw.getJSONObject("places")
            val endings = raw.getJSONArray("endings")
            val marks = raw.getString("marks")
            return Language(
                raw.getString("name"), marks,
                // A language with marks is known by them alone.
                if (marks.isNotEmpty()) emptySet() else words(raw.getJSONArray("words")) + tables.values.flatMap { it.keys }.flatMap { LETTERS.all(it) },
                raw.getBoolean("spaceless"), places.getString("before"), places.getString("after"),
                places.getString("near_before"), places.getString("near_after"),
                (0 until endings.length()).map { list(endings.getJSONArray(it)) }.map { it[0] to it[1] },
                tables, digits, objects(raw.getJSONArray("rules")).map { Phrase(it.getString("pattern"), it.getString("english")) },
            )
        }

        private fun strings(of: JSONObject): Map<String, String> = Fields.names(of).associateWith { of.getString(it) }

        private fun objects(array: JSONArray): List<JSONObject> = (0 until array.length()).map { array.getJSONObject(it) }

        private fun list(array: JSONArray): List<String> = (0 until array.length()).map { array.getString(it) }

        private fun words(array: JSONArray): Set<String> = LinkedHashSet(list(array))

        private fun numbers(of: JSONObject): Map<String, Int> = Fields.names(of).associateWith { of.getInt(it) }

        private fun lists(of: JSONObject): Map<String, List<Int>> = Fields.names(of).associateWith { ints(of.getJSONArray(it)) }

        private fun ints(array: JSONArray?): List<Int> = if (array == null) emptyList() else (0 until array.length()).map { array.getInt(it) }

        private fun holidays(entries: JSONArray): Map<String, HolidayRule> {
            val out = LinkedHashMap<String, HolidayRule>()
            for (entry in objects(entries)) {
                val r = entry.getJSONObject("rule")
                val rule = HolidayRule(
                    ints(r.optJSONArray("day")), ints(r.optJSONArray("nth")), if (r.has("easter")) r.getInt("easter") else null,
                    if (r.has("orthodox")) r.getInt("orthodox") else null, ints(r.optJSONArray("weekday_from")), r.optString("table", ""),
                    r.optInt("shift"), r.optInt("before"), r.optInt("after"),
                )
                for (name in list(entry.getJSONArray("names"))) out[name] = rule
            }
            return out
        }
    }
}
