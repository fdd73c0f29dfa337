package gamer.cues

import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import gamer.common.found
import gamer.common.matchAt
import java.util.regex.Pattern

/**
 * A query whose time and place words are English. [sources]: for each character of [text] the characters of
 * the original query that it stands for.
 */
class Reading(val text: String, private val sources: List<Span>) {
    fun original(span: Span): Span = sources.subList(span.start, span.end).let { Span(it.minOf { s -> s.start }, it.maxOf { s -> s.end }) }
}

/**
 * Reads the time and place words of other languages as English ones: the rules of `languages` in
 * `cue_rules.json` turn "im letzten Sommer" into "last summer" (runtime/cues/languages.py). The language is
 * found from the query's letters and words; an English query is never changed.
 */
class Languages(private val tables: CueTables, private val gazetteer: Gazetteer?) {
    /** The English words for the characters [span], in parts that each name their own source. */
    private class Piece(val span: Span, val parts: List<Pair<String, Span>>)

    private val marks: Map<Language, Pattern> = tables.languages.filter { it.marks.isNotEmpty() }.associateWith { Patterns.of(it.marks) }
    private val compiled = HashMap<Language, List<Rule>>()

    /** The query with its time and place words in English; null if it has none of another language. */
    fun translated(text: String, thisYear: Int): Reading? {
        val low = lowered(text)
        val language = languageOf(low) ?: return null
        val pieces = phrases(low, language, thisYear)
        if (gazetteer != null && language.marks.isNotEmpty()) {
            val free = free(low, pieces)
            pieces += if (language.spaceless) spacelessNames(low, language, gazetteer, free) else inflectedNames(low, language, gazetteer, free)
        }
        return if (pieces.isEmpty()) null else joined(text, pieces)
    }

    private fun lowered(text: String): String =
        String(CharArray(text.length) { i -> text[i].let { if (it in '\uff01'..'\uff5e') it - 0xFEE0 else it }.lowercaseChar() })

    /** The code of the language whose letters the query has, or most of whose words; null for English. */
    fun codeOf(text: String): String? = languageOf(lowered(text))?.name

    private fun languageOf(low: String): Language? {
        if (!PyText.isAscii(low)) for ((language, pattern) in marks) if (pattern.found(low) != null) return language
        val words = WORD.all(low).toSet()
        val english = words.filter { it in tables.english }.toSet()
        var best: Language? = null
        var most = 0 to 0
        for (language in tables.languages) {
            val own = words.filter { it in language.words }.toSet()
            val alone = (own - english).size
            val more = alone > most.first || (alone == most.first && own.size > most.second)
            if (more && alone > (english - own).size) {
                best = language
                most = alone to own.size
            }
        }
        return best
    }

    private fun rules(language: Language): List<Rule> = synchronized(compiled) {
        compiled.getOrPut(language) {
            language.rules.map { phrase ->
                val expanded = expand(language, phrase.pattern)
                val text = if (language.spaceless) expanded else "(?<![\\w-])(?:$expanded)(?![\\w-])"
                Rule(text, Patterns.of(text))
            }
        }
    }

    private fun expand(language: Language, text: String): String {
        val m = NAMED.matcher(text)
        val out = StringBuilder()
        var last = 0
        while (m.find()) {
            val name = m.group(2)!!
            val choices = language.digits[name] ?: language.tables.getValue(name).keys.sortedWith(compareBy({ -it.length }, { it }))
                .joinToString("|") { CueTables.escaped(it) }
            out.append(text, last, m.start()).append(if (m.group(1)!!.isEmpty()) "(?<$name${m.group(3)}>$choices)" else "(?:$choices)")
            last = m.end()
        }
        return out.append(text, last, text.length).toString()
    }

    /** The pieces that the rules find; of overlapping ones that of the earlier rule. */
    private fun phrases(low: String, language: Language, thisYear: Int): MutableList<Piece> {
        val taken = BooleanArray(low.length)
        val out = ArrayList<Piece>()
        rules(language).forEachIndexed { n, rule ->
            var at = 0
            while (at <= low.length) {
                val m = rule.from(low, at) ?: break
                if (m.start < m.end && (m.start until m.end).none { taken[it] }) {
                    for (i in m.start until m.end) taken[i] = true
                    out.add(Piece(m.span, filled(m, language.rules[n].english, language, thisYear)))
                    at = m.end
                } else at = m.start + 1 // a shorter match may begin after the characters that are taken
            }
        }
        return out
    }

    /** The template's parts: literal words stand for the whole match, slots for their group. */
    private fun filled(m: Found, english: String, language: Language, thisYear: Int): List<Pair<String, Span>> {
        val out = ArrayList<Pair<String, Span>>()
        val slot = SLOT.matcher(english)
        var last = 0
        while (slot.find()) {
            if (slot.start() > last) out.add(english.substring(last, slot.start()) to m.span)
            last = slot.end()
            val name = slot.group(1)!!
            val years = slot.group(2)
            if (years != null) out.add((thisYear - years.toInt()).toString() to m.span)
            else m[name]?.let { said ->
                val words = PyText.joined(said)
                out.add((language.tables[name.trimEnd('2', '3')]?.get(words) ?: words) to m.span(name))
            }
        }
        if (last < english.length) out.add(english.substring(last) to m.span)
        return out
    }

    private fun free(low: String, pieces: List<Piece>): BooleanArray =
        BooleanArray(low.length) { true }.also { for (p in pieces) it.fill(false, p.span.start, p.span.end) }

    private fun all(free: BooleanArray, span: Span): Boolean = (span.start until span.end).all { free[it] }

    /** The names of places in a text without spaces: at each character the longest that the gazetteer has. */
    private fun spacelessNames(low: String, language: Language, gazetteer: Gazetteer, free: BooleanArray): List<Piece> {
        val out = ArrayList<Piece>()
        var lookups = 0
        val run = IDEOGRAPHS.matcher(low)
        while (run.find()) {
            var at = run.start()
            while (at < run.end() && lookups < MAX_LOOKUPS) {
                var step = 1
                for (length in minOf(LONGEST_NAME, run.end() - at) downTo SHORTEST_NAME) {
                    val span = Span(at, at + length)
                    if (!all(free, span) || isWithinWord(low, span)) continue
                    lookups++
                    val place = gazetteer.lookup(low.substring(at, at + length)).firstOrNull() ?: continue
                    out.add(placePiece(low, span, place.name, language, free))
                    step = length
                    break
                }
                at += step
            }
        }
        return out
    }

    /** Whether the characters begin or end inside a longer word of katakana: "アメリカ" of "アメリカン". */
    private fun isWithinWord(low: String, span: Span): Boolean =
        listOf(span.start, span.end).any { it in 1 until low.length && low[it - 1] in KATAKANA && low[it] in KATAKANA }

    /** The names of places in a text with spaces, in any case: "Лиссабоне" is looked up as "Лиссабон" too. */
    private fun inflectedNames(low: String, language: Language, gazetteer: Gazetteer, free: BooleanArray): List<Piece> {
        val words = ArrayList<Span>()
        val m = HYPHENATED.matcher(low)
        while (m.find()) if (!PyText.isAscii(m.group())) words.add(Span(m.start(), m.end()))
        val out = ArrayList<Piece>()
        var lookups = 0
        var at = 0
        while (at < words.size && lookups < MAX_LOOKUPS) {
            var found = 0
            for (count in minOf(MOST_WORDS, words.size - at) downTo 1) {
                val span = Span(words[at].start, words[at + count - 1].end)
                if (!all(free, span) || span.end - span.start < SHORTEST_NAME + 1) continue
                val forms = forms(low.substring(span.start, span.end), language)
                lookups += forms.size
                val name = forms.firstNotNullOfOrNull { gazetteer.lookup(it).firstOrNull()?.name } ?: continue
                out.add(placePiece(low, span, name, language, free))
                found = count
                break
            }
            at += maxOf(found, 1)
        }
        return out
    }

    /** The name, and what it may be the inflected form of. */
    private fun forms(name: String, language: Language): List<String> =
        language.endings.filter { (ending, _) -> name.endsWith(ending) }.map { (ending, base) -> name.dropLast(ending.length) + base }
            .filter { it.length > SHORTEST_NAME }.distinct()

    /** The English name, with "in" or "near" if a word beside it says so that no phrase has. */
    private fun placePiece(low: String, span: Span, name: String, language: Language, free: BooleanArray): Piece {
        for ((english, before, after) in listOf(Triple("near ", language.nearBefore, language.nearAfter), Triple("in ", language.before, language.after))) {
            val left = if (before.isEmpty()) null else Patterns.of("(?:$before)$").found(low.substring(0, span.start))
            val right = if (after.isEmpty()) null else Patterns.of(after).matchAt(low, span.end)
            val whole = Span(left?.start() ?: span.start, right?.end() ?: span.end)
            if (whole != span && all(free, whole)) return Piece(whole, listOf(english to whole, name to span))
        }
        return Piece(span, listOf(name to span))
    }

    /** The text with the pieces in place, and spaces around them. */
    private fun joined(text: String, pieces: List<Piece>): Reading {
        val out = StringBuilder()
        val sources = ArrayList<Span>()
        fun add(words: String, source: Span) {
            out.append(words)
            repeat(words.length) { sources.add(source) }
        }
        var at = 0
        for (piece in pieces.sortedBy { it.span }) {
            if (piece.span.start < at) continue // the particle between two names is taken once
            for (i in at until piece.span.start) add(text[i].toString(), Span(i, i + 1))
            if (out.isNotEmpty() && out.last() != ' ') add(" ", Span(piece.span.start, piece.span.start))
            for ((words, source) in piece.parts) add(words, source)
            at = piece.span.end
            if (at < text.length && PyText.isAlnum(text[at].code)) add(" ", Span(at, at))
        }
        for (i in at until text.length) add(text[i].toString(), Span(i, i + 1))
        return Reading(out.toString(), sources)
    }

    private companion object {
        const val MAX_LOOKUPS = 400
        const val LONGEST_NAME = 8
        const val SHORTEST_NAME = 2
        const val MOST_WORDS = 3
        val WORD = Patterns.of("[^\\W\\d_]+")
        val HYPHENATED = Patterns.of("[^\\W\\d_]+(?:-[^\\W\\d_]+)*")
        val IDEOGRAPHS: Pattern = Pattern.compile("[\\u3041-\\u30ff\\u4e00-\\u9fff]+")
        val KATAKANA = '\u30a1'..'\u30ff'
        val NAMED: Pattern = Pattern.compile("<<(@?)([a-z]+)([0-9]?)>>")
        val SLOT: Pattern = Pattern.compile("\\{([a-z]+[0-9]?)(?:-([0-9]))?\\}")
    }
}
