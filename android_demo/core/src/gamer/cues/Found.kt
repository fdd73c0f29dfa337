package gamer.cues

import java.util.regex.Matcher
import java.util.regex.Pattern

/**
 * A pattern with the names of its groups: asking a matcher for a group that it lacks is an error on this
 * platform.
 */
class Rule(text: String, val pattern: Pattern = Pattern.compile(text)) {
    private val names: Set<String> = GROUP.matcher(text).let { m -> generateSequence { if (m.find()) m.group(1) else null }.toSet() }

    fun all(text: CharSequence): List<Found> {
        val m = pattern.matcher(text)
        val out = ArrayList<Found>()
        while (m.find()) out.add(Found(m, names))
        return out
    }

    /** The first match that begins at [at] or later. */
    fun from(text: CharSequence, at: Int): Found? = pattern.matcher(text).let { if (it.find(at)) Found(it, names) else null }

    fun first(text: CharSequence): Found? = pattern.matcher(text).let { if (it.find()) Found(it, names) else null }

    private companion object {
        val GROUP: Pattern = Pattern.compile("\\(\\?<([a-zA-Z][a-zA-Z0-9]*)>")
    }
}

/**
 * One match: its text, its position, and its groups by name (null if a group took no part or does not exist).
 */
class Found(m: Matcher, names: Set<String>) {
    val text: String = m.group()
    val start: Int = m.start()
    val end: Int = m.end()
    private val groups: Map<String, String?> = names.associateWith { m.group(it) }
    private val spans: Map<String, Span> = names.associateWith { Span(m.start(it), m.end(it)) }

    operator fun get(name: String): String? = groups[name]

    fun has(name: String): Boolean = name in groups

    fun must(name: String): String = groups[name] ?: throw NoDate()

    fun span(name: String): Span = spans.getValue(name)

    val span: Span get() = Span(start, end)
}

/** Characters [start, end) of the query. */
data class Span(val start: Int, val end: Int) : Comparable<Span> {
    override fun compareTo(other: Span): Int = compareValuesBy(this, other, { it.start }, { it.end })
}

/** The words are not a date, such as 31 April or the year 0. */
class NoDate : RuntimeException()
