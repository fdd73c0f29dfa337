package gamer.cues

import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Calendar.Companion.MAX_INTERVALS
import gamer.cues.Calendar.Companion.msOf
import gamer.cues.Calendar.Companion.yearOf
import java.util.regex.Pattern

/**
 * One interval that the query names. A month without a year yields several cues with the same span, one per
 * year. [start], [end]: ms of wall time as UTC, both included, null when open. [span]: the cue's characters
 * in the query. [confidence]: the share of the photos meant by such words that lie inside; the ranking takes
 * it as evidence.
 */
data class TimeCue(val text: String, val start: Long?, val end: Long?, val span: Span, val kind: String, val confidence: Double)

/** The time cues of a text, and the spans inside them that stay in the text (holiday names). */
class FoundTimes(val cues: List<TimeCue>, val keep: List<Span>)

/**
 * Joins time expressions into cues: ranges, bounds ("since May"), offsets ("two days after Christmas"). Rules
 * only, no model.
 */
class Times(private val tables: CueTables, private val atoms: Atoms, private val offsets: Offsets) {
    /** One atom, or two joined into a range, with the words around it. [used]: the number of atoms. */
    private data class Read(val span: Span, val spans: List<Interval>, val kind: String, val keep: Span? = null, val used: Int = 1)

    private val reported: Pattern by lazy { Pattern.compile("\\b(?:" + tables.expand("<<reporting>>") + ")") }
    private val made: Pattern by lazy { Pattern.compile(tables.expand("<<making>>") + "$") }

    /** The time cues of a text, and the spans inside them that should stay in the text. */
    fun find(text: String, ctx: TimeContext): FoundTimes {
        val found = atoms.read(text, ctx)
        if (found.isEmpty()) return FoundTimes(emptyList(), emptyList())
        val flat = Flat.of(text)
        var reads: List<Read> = ArrayList<Read>().also { out ->
            var i = 0
            while (i < found.size) {
                val read = found.getOrNull(i + 1)?.let { range(flat, found[i], it, ctx) } ?: single(flat, found[i], ctx)
                out.add(read)
                i += read.used
            }
        }
        ctx.extent?.let { album -> reads = reads.filter { !ofThing(flat, it, album.first) } }
        reads = namedDays(flat, reads)
        // "this weekend, as said on 20260703": the date is that of the message, and so the photo's; words
        // such as "this weekend" are relative to it and not to the present day.
        if (reads.any { it.kind == "day" || it.kind == "span" }) reads = reads.filter { it.kind !in DEICTIC }
        // "did he ask her for advice this week" means the week when he asked.
        if (reported.matcher(flat).find()) {
            reads = reads.filter { it.kind !in DEICTIC || !THIS.matcher(flat.substring(it.span.start, it.span.end)).find() }
        }
        val cues = reads.flatMap { r ->
            r.spans.map { TimeCue(text.substring(r.span.start, r.span.end), it.start, it.end, r.span, r.kind, tables.trust.getValue(r.kind)) }
        }
        return FoundTimes(cues, reads.mapNotNull { it.keep })
    }

    /** Whether a time is that of a thing, and ended before the first photo: "the castle built before 1950". */
    private fun ofThing(flat: String, read: Read, first: Long): Boolean =
        read.spans.all { it.end != null && it.end < first } &&
            made.matcher(flat.substring(maxOf(0, read.span.start - 60), read.span.start)).find()

    /** Joins a weekday with the date that follows it: "on Sunday, July 4th". */
    private fun namedDays(flat: String, reads: List<Read>): List<Read> {
        val out = ArrayList<Read>()
        for (read in reads) {
            val before = out.lastOrNull()
            if (before?.kind == "weekday" && NEXT.matcher(slice(flat, before.span.end, read.span.start)).matches()) {
                out[out.size - 1] = read.copy(span = Span(before.span.start, read.span.end))
            } else out.add(read)
        }
        return out
    }

    private fun slice(text: String, from: Int, to: Int): String = if (from < to) text.substring(from, to) else ""

    /**
     * Reads "from March to May" or "between 2008 and 2010"; null if the words between do not make a range.
     */
    private fun range(flat: String, atom: Atom, other: Atom, ctx: TimeContext): Read? {
        val (a, b) = atom.span
        val gap = slice(flat, b, other.span.start)
        if (!JOIN.matcher(gap).matches()) return null
        val lead = BETWEEN.matcher(flat.substring(0, a)).let { if (it.find()) it.start() else null }
        val spans = if (lead != null || "and" !in gap) joined(atom, other, ctx) else emptyList()
        if (spans.isEmpty()) return null
        val start = lead ?: FROM.matcher(flat.substring(0, a)).let { if (it.find()) it.start() else a }
        return Read(Span(start, other.span.end), spans, "span", used = 2)
    }

    private fun at(atom: Atom, year: Int): Interval = msOf(atom.yearly!!(year))

    /**
     * The intervals from the start of [a] to the end of [b]; empty if they make no range. A missing year is
     * taken from the other expression.
     */
    private fun joined(a: Atom, b: Atom, ctx: TimeContext): List<Interval> {
        val pairs = ArrayList<Pair<Interval, Interval>>()
        try {
            if (a.fixed.isNotEmpty() && b.fixed.isNotEmpty()) {
                pairs.add(a.fixed.first() to b.fixed.last())
            } else if (b.fixed.isNotEmpty()) {
                val last = b.fixed.last()
                val y = yearOf(last.end ?: 0)
                val first = at(a, y)
                pairs.add((if ((first.start ?: 0) <= (last.start ?: 0)) first else at(a, y - 1)) to last)
            } else if (a.fixed.isNotEmpty()) {
                val first = a.fixed.first()
                val y = yearOf(first.start ?: 0)
                pairs.add(first to ending(at(b, y), first, b, y))
            } else {
                for (y in ctx.years) at(a, y).let { first -> pairs.add(first to ending(at(b, y), first, b, y)) }
            }
        } catch (error: NoDate) {
            return emptyList()
        }
        val spans = pairs.map { (first, last) -> Interval(first.start, last.end) }.filter { (it.start ?: 0) <= (it.end ?: 0) }
        return if (a.fixed.isEmpty() && b.fixed.isEmpty()) covered(spans, ctx) else spans
    }

    private fun ending(last: Interval, first: Interval, b: Atom, y: Int): Interval = if ((last.end ?: 0) >= (first.start ?: 0)) last else at(b, y + 1)

    /**
     * The intervals that overlap the album's extent, at most the latest [MAX_INTERVALS]. The latest that has
     * begun, if the extent is unknown or no interval overlaps it.
     */
    private fun covered(spans: List<Interval>, ctx: TimeContext): List<Interval> {
        val begun = spans.filter { (it.start ?: 0) <= ctx.nowMs }.ifEmpty { spans.take(1) }
        if (ctx.extent == null) return begun.takeLast(1)
        val inside = spans.filter { (it.end ?: 0) >= ctx.extent.first && (it.start ?: 0) <= ctx.extent.last }
        return inside.takeLast(MAX_INTERVALS).ifEmpty { begun.takeLast(1) }
    }

    private fun everyYear(atom: Atom, ctx: TimeContext): List<Interval> {
        val spans = ctx.years.mapNotNull { orNull { at(atom, it) } } // 29 February of a common year
        if (spans.isNotEmpty()) return covered(spans, ctx)
        for (y in ctx.now.year downTo ctx.now.year - 8) orNull { at(atom, y) }?.let { return listOf(it) }
        return emptyList()
    }

    private fun <T> orNull(make: () -> T): T? = try {
        make()
    } catch (error: NoDate) {
        null
    }

    private fun bounded(spans: List<Interval>, word: String, ctx: TimeContext): List<Interval> {
        val first = spans.first()
        val last = spans.last()
        return listOf(
            when (word) {
                "since", "from" -> Interval(first.start, ctx.nowMs.takeIf { (first.start ?: 0) <= it })
                "after" -> Interval(last.end?.plus(1), null)
                "until", "till", "by" -> Interval(null, last.end)
                else -> Interval(null, first.start?.minus(1))
            },
        )
    }

    private fun single(flat: String, atom: Atom, ctx: TimeContext): Read {
        val (a, b) = atom.span
        val exact = atom.exact ?: atom
        val offset = offsets.read(flat, a)
        if (offset != null) {
            val spans = exact.fixed.ifEmpty { everyYear(exact, ctx) }
            if (spans.isNotEmpty()) return Read(Span(offset.span.start, b), spans.map { offsets.shifted(it, offset) }, "span")
        }
        if (atom.kind == "day" && atom.fixed.isNotEmpty()) {
            val from = maxOf(0, a - 40)
            WEEK_OF.first(flat.substring(from, a))?.let { week ->
                // "the week of" a date: the date is the first day of the week, or a day within it.
                val (before, after) = if (week["unit"] == "week") 1L to 6L else 2L to 2L
                val spans = atom.fixed.map { Interval((it.start ?: 0) - before * DAY_MS, (it.end ?: 0) + after * DAY_MS) }
                return Read(Span(from + week.start, b), spans, "span")
            }
        }
        val keep = atom.keep.takeIf { !OPEN.matcher(flat.substring(0, a)).find() }
        return withBounds(flat, atom, atom.fixed.ifEmpty { everyYear(atom, ctx) }, keep, ctx)
    }

    /** Applies the words around an expression: "since", "before", "onwards". */
    private fun withBounds(flat: String, atom: Atom, spans: List<Interval>, keep: Span?, ctx: TimeContext): Read {
        var (a, b) = atom.span
        val inner = LEAD.matcher(flat.substring(a, b)).let { if (it.lookingAt()) it.group().trim() else null }
        val outer = OPEN.matcher(flat.substring(0, a)).takeIf { it.find() }
        var word = inner ?: outer?.group(1) ?: ""
        val onward = ONWARD.matcher(flat.substring(b)).takeIf { it.lookingAt() }
        if (onward != null && spans.isNotEmpty() && word in setOf("from", "since", "") && flat.substring(b).trim().take(3) != "on ") {
            return Read(Span(outer?.start() ?: a, b + onward.end()), bounded(spans.take(1), "since", ctx), "open", keep)
        }
        val compares = word.endsWith("than")
        word = MEANS[word] ?: word
        if (word.isEmpty() || word == "from" || word == "by" || spans.isEmpty()) return Read(Span(a, b), spans, atom.kind, keep)
        if (outer != null && inner == null) a = outer.start()
        // "after Christmas" or "before Christmas" without a year: the two weeks after or before it.
        if (atom.yearly != null && !compares && (word == "before" || word == "after")) {
            val exact = if (atom.exact != null) everyYear(atom.exact, ctx) else spans
            return Read(Span(a, b), exact.map { nextTo(it, word) }, "yearly", keep)
        }
        return Read(Span(a, b), bounded(if (atom.yearly != null) spans.takeLast(1) else spans, word, ctx), "open", keep)
    }

    private fun nextTo(span: Interval, word: String): Interval =
        if (word == "before") Interval(span.start?.minus(14 * DAY_MS), span.start?.minus(1)) else Interval(span.end?.plus(1), span.end?.plus(14 * DAY_MS))

    companion object {
        val DEICTIC = setOf("today", "relative", "weekday")
        private val JOIN = Pattern.compile("\\s*(?:(?:,\\s*)?(?:to|until|till|til|through|thru|and|up to)\\b|-)\\s*")
        private val OPEN = Pattern.compile("\\b(since|after|before|until|till|prior to|by|from|(?:no )?(?:old|new)er than)\\s+(?:the\\s+)?$")
        private val MEANS = mapOf(
            "prior to" to "before", "older than" to "before", "newer than" to "after", "no older than" to "since", "no newer than" to "until",
        )
        private val ONWARD = Pattern.compile("\\s+(?:onwards?|on|until now|to now|up to now|until today|and later)\\b")
        private val LEAD = Pattern.compile("^(?:from|since|after|before|until|till|by|(?:no )?(?:old|new)er than)\\s+")
        private val BETWEEN = Pattern.compile("\\bbetween\\s+(?:the\\s+)?$")
        private val FROM = Pattern.compile("\\bfrom\\s+$")
        private val THIS = Pattern.compile("\\bthis\\b")
        private val NEXT = Pattern.compile(",?\\s+(?:the\\s+)?")
        private val WEEK_OF = Rule("(?:(?:in|on|during|from)\\s+)?the\\s+(?<unit>week|weekend)\\s+(?:of\\s+)?$")

        /**
         * The cues as one list of intervals, at most the latest [MAX_INTERVALS]. The intervals of cues with
         * different spans are intersected if they overlap ("May … 2012"), else united.
         */
        fun merged(times: List<TimeCue>): List<Interval> {
            var result: List<Interval> = emptyList()
            for (group in times.groupBy { it.span }.values) {
                val spans = group.map { Interval(it.start, it.end) }
                val both = result.flatMap { s -> spans.mapNotNull { meet(s, it) } }
                result = both.ifEmpty { result + spans }
            }
            return result.distinct().takeLast(MAX_INTERVALS)
        }

        private fun meet(a: Interval, b: Interval): Interval? {
            val start = if (a.start == null) b.start else if (b.start == null) a.start else maxOf(a.start, b.start)
            val end = if (a.end == null) b.end else if (b.end == null) a.end else minOf(a.end, b.end)
            return if (start != null && end != null && start > end) null else Interval(start, end)
        }
    }
}
