package gamer.cues

import gamer.album.Cube
import gamer.common.Letters
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.found
import gamer.common.replaced
import gamer.cues.Calendar.Companion.DAY_MS
import java.util.regex.Pattern

/**
 * The context in which a query is read. [time]: clock, extent and hemisphere; [near]: the number of the
 * album's photos in a place, or null if no album is given; [home]: the box of the album's home.
 */
class Situation(val time: TimeContext, val near: Near? = null, val home: (() -> Cube?)? = null)

/**
 * Reads time and place from a query and builds the cubes that layer 1 searches (paper section 3.2, layer 1).
 * Deterministic rules of `cue_rules.json`; no network, no model. Words that were not understood stay in the
 * rest.
 */
class CueReader(private val tables: CueTables, gazetteer: Gazetteer?) {
    private val calendar = Calendar(tables)
    private val makers = Makers(tables, calendar)
    private val atoms = Atoms(tables, calendar, makers)
    private val offsets = Offsets(tables, calendar, makers)
    private val times = Times(tables, atoms, offsets)
    private val anchors = Anchors(tables, calendar, offsets)
    private val recurring = Recurring(tables, atoms)
    private val languages = Languages(tables, gazetteer)
    private val places: Places? = gazetteer?.let { Places(tables, it) }
    private val homePattern: Pattern by lazy { Patterns.of("(?<!\\w)(?:" + tables.places.home + ")(?!\\w)", ignoreCase = true) }

    /** The code of the language whose letters the query has, or most of whose words; null for English. */
    fun languageOf(query: String): String? = languages.codeOf(query)

    /**
     * Reads the cues of a query, from its first [MAX_QUERY] characters. Spans, texts and the rest refer to
     * the query as written.
     */
    fun parse(query: String, situation: Situation): Cues {
        val letters = Letters.of(PyText.head(query, MAX_QUERY))
        val reading = languages.translated(letters.text, situation.time.now.year)
        val text = reading?.text ?: letters.text
        val found = times.find(text, situation.time)
        val spans = found.cues.map { it.span }
        var here: List<PlaceCue> = if (situation.home != null && homePattern.found(text) != null) atHome(text, situation.home.invoke()) else emptyList()
        if (places != null) here = here + places.find(text, spans + here.map { it.span }, situation.near) { letters.original(it) }
        val negated = negations(text, spans + here.map { it.span })
        val draft = Cues(
            times = found.cues.filter { it.span !in negated },
            places = here.filter { it.span !in negated },
            negatedTimes = found.cues.filter { it.span in negated },
            negatedPlaces = here.filter { it.span in negated },
            recurring = recurring.find(text, found.cues.filter { it.kind != "today" }.map { it.span }),
            anchors = anchors.read(text, spans),
            query = text,
            extent = situation.time.extent,
            keep = found.keep.filter { k -> negated.keys.none { it.start <= k.start && k.start < it.end } },
        )
        return original(assembled(if (reading == null) draft else asWritten(draft, letters.text, reading, negated)), letters)
    }

    /**
     * The cues of a query that was read in English, with their texts and spans in the query as written. A
     * negated cue's span takes in the negation, which [assembled] finds in English alone.
     */
    private fun asWritten(cues: Cues, written: String, reading: Reading, negated: Map<Span, Span>): Cues {
        fun at(span: Span): Span = reading.original(negated[span] ?: span)
        fun said(span: Span): String = at(span).let { written.substring(it.start, it.end) }
        return cues.copy(
            times = cues.times.map { it.copy(text = said(it.span), span = at(it.span)) },
            places = cues.places.map { it.copy(text = said(it.span), span = at(it.span)) },
            negatedTimes = cues.negatedTimes.map { it.copy(text = said(it.span), span = at(it.span)) },
            negatedPlaces = cues.negatedPlaces.map { it.copy(text = said(it.span), span = at(it.span)) },
            recurring = cues.recurring.map { it.copy(text = said(it.span), span = at(it.span)) },
            anchors = cues.anchors.map { it.copy(text = said(it.span), span = at(it.span)) },
            query = written, keep = cues.keep.map { reading.original(it) },
        )
    }

    /**
     * Turns the anchors whose event [find] knows into time cues; the words of the others stay in the text.
     * [find]: from a phrase to the event's intervals, empty if unsure.
     */
    fun resolve(cues: Cues, find: (String) -> List<Interval>): Cues {
        val found = LinkedHashMap<Anchor, List<TimeCue>>()
        for (anchor in cues.anchors) find(anchor.phrase).let { if (it.isNotEmpty()) found[anchor] = anchors.cuesOf(anchor, it) }
        if (found.isEmpty()) return cues
        // A place within an anchor's words is the event's, not the photo's.
        val kept = cues.places.filter { p -> found.keys.none { it.span.start <= p.span.start && p.span.start < it.span.end } }
        return rejoined(cues.copy(times = cues.times + found.values.flatten(), places = kept, anchors = cues.anchors.filter { it !in found }))
    }

    /**
     * Adds the time and the place that a language model quoted from the query, where the rules read none.
     * [time], [place]: the quotes, "" if there is none. The rules read each quote as if "in" came before it.
     * A quote that is not in the query is dropped, so that the model cannot invent one. The quoted words stay
     * in the rest, since the model may have misread them.
     */
    fun withQuotes(cues: Cues, time: String, place: String, situation: Situation): Cues {
        val letters = Letters.of(cues.query)
        val text = letters.text
        val timeText = Letters.of(time).text
        val placeText = Letters.of(place).text
        val at = if (time.isEmpty()) -1 else text.indexOf(timeText)
        val where = if (place.isEmpty()) -1 else text.indexOf(placeText)
        var newTimes = cues.times
        var newPlaces = cues.places
        if (at >= 0 && cues.times.isEmpty() && cues.negatedTimes.isEmpty()) {
            val span = Span(at, at + timeText.length)
            newTimes = times.find("in ${timeText.lowercase()}", situation.time).cues.map { it.copy(text = time, span = span) }
        }
        if (where >= 0 && places != null && cues.places.isEmpty() && cues.negatedPlaces.isEmpty()) {
            val span = Span(where, where + placeText.length)
            newPlaces = places.find("in ${title(placeText)}", emptyList(), situation.near).take(1).map { it.copy(text = place, span = span) }
        }
        if (newTimes == cues.times && newPlaces == cues.places) return cues
        val added = newTimes.filter { it !in cues.times }.map { it.span } + newPlaces.filter { it !in cues.places }.map { it.span }
        return rejoined(cues.copy(times = newTimes, places = newPlaces, keep = cues.keep + added))
    }

    /** Each word with a capital first letter and the other letters in lower case. */
    private fun title(text: String): String {
        var after = false
        return String(CharArray(text.length) { i ->
            val c = text[i]
            val made = if (!c.isLetter()) c else if (after) c.lowercaseChar() else c.titlecaseChar()
            after = c.isLetter()
            made
        })
    }

    private fun rejoined(cues: Cues): Cues = Letters.of(cues.query).let { original(assembled(cues.copy(query = it.text)), it) }

    private fun original(cues: Cues, letters: Letters): Cues {
        if (letters.original(letters.text) == letters.text) return cues
        fun of(text: String) = letters.original(text)
        return cues.copy(
            times = cues.times.map { it.copy(text = of(it.text)) }, places = cues.places.map { it.copy(text = of(it.text)) }, rest = of(cues.rest),
            negatedTimes = cues.negatedTimes.map { it.copy(text = of(it.text)) }, negatedPlaces = cues.negatedPlaces.map { it.copy(text = of(it.text)) },
            recurring = cues.recurring.map { it.copy(text = of(it.text)) },
            anchors = cues.anchors.map { it.copy(text = of(it.text), phrase = of(it.phrase)) }, query = of(cues.query),
        )
    }

    /** The cue of "at home" in a text, if the album's home is known. */
    private fun atHome(text: String, home: Cube?): List<PlaceCue> {
        val found = homePattern.found(text)
        if (found == null || home == null) return emptyList()
        return listOf(PlaceCue(found.group(), "home", listOf(home), Span(found.start(), found.end()), "home", null, tables.trust.getValue("place")))
    }

    /** The span of each negated cue → that span extended over the negation before it. */
    private fun negations(text: String, spans: List<Span>): Map<Span, Span> {
        val out = HashMap<Span, Span>()
        var before: Span? = null
        for (span in spans.distinct().sorted()) {
            val from = maxOf(0, span.start - 60)
            val found = NOT.found(text.substring(from, span.start))
            if (found != null) {
                out[span] = Span(from + found.start(), span.end)
            } else if (before != null && before in out && AGAIN.matcher(if (before.end < span.start) text.substring(before.end, span.start) else "").matches()) {
                out[span] = Span(before.end, span.end)
            }
            before = span
        }
        return out
    }

    /**
     * Computes `cubes` and `rest` from the cues. A place where the album has no photo makes no cube. Its name
     * stays in the rest, and so does a time outside the album's extent: a memory may mention them.
     */
    private fun assembled(cues: Cues): Cues {
        val spans = cues.times.map { it.span } + cues.places.map { it.span } + cues.negatedTimes.map { it.span } + cues.negatedPlaces.map { it.span }
        val negated = negations(cues.query, spans)
        val cutting = cues.places.filter { it.photos != 0 }
        val excluded = cues.negatedTimes.map { it.span } + cues.negatedPlaces.map { it.span }
        val remove = cues.times.filter { isReached(it, cues.extent) }.map { it.span } + cutting.map { it.span } + negated.values + excluded
        return cues.copy(cubes = cubes(cues.times, cutting), rest = rest(cues.query, remove, cues.keep))
    }

    private fun isReached(cue: TimeCue, extent: LongRange?): Boolean =
        extent == null || cue.kind in Times.DEICTIC || ((cue.end == null || cue.end >= extent.first) && (cue.start == null || cue.start <= extent.last))

    private fun cubes(times: List<TimeCue>, places: List<PlaceCue>): List<Cube> {
        if (times.isEmpty() && places.isEmpty()) return emptyList()
        val boxes: List<Cube> = places.flatMap { it.boxes }.distinct().ifEmpty { listOf(Cube()) }
        val spans = Times.merged(times).ifEmpty { listOf(Interval(null, null)) }
        // Latest first, so that the limit drops the oldest.
        return spans.reversed().flatMap { s -> boxes.map { it.copy(start = s.start, end = s.end) } }.take(MAX_CUBES).reversed()
    }

    /**
     * The text without the spans [remove], except where [keep] overlaps them; unchanged if no word is left.
     * Spaces and punctuation are tidied.
     */
    private fun rest(text: String, remove: List<Span>, keep: List<Span>): String {
        val gone = BooleanArray(text.length)
        for (s in remove) for (i in s.start until minOf(s.end, text.length)) gone[i] = true
        for (s in keep) for (i in s.start until minOf(s.end, text.length)) gone[i] = false
        if (gone.none { it }) return text
        var left = PyText.joined(String(CharArray(text.length) { if (gone[it]) ' ' else text[it] }))
        left = EMPTY.replaced(left, " ")
        left = SPACED.matcher(left).replaceAll("$1")
        val end = END.found(left)
        val tail = end?.let { PyText.strip(it.group()) } ?: ""
        var body = if (end != null) left.substring(0, end.start()) else left
        val last = remove.maxOfOrNull { it.end } ?: 0
        // A cue ended the query: do not leave "photos from".
        if (WORD.found(text.substring(minOf(last, text.length))) == null) body = DANGLING.replaced(body, "")
        body = REPEATED.matcher(body).replaceAll("$1").trim { it in " ,;:-–" }
        return if (WORD.found(body) != null) body + tail else text
    }

    companion object {
        const val MAX_QUERY = 2_000
        const val MAX_CUBES = 40
        private val NOT = Patterns.of(
            "(?:,\\s*)?\\b(?:(?:but\\s+)?(?:not|never)(?:\\s+(?:from|in|at|taken\\s+in|the\\s+ones?\\s+(?:from|in)))?|(?:all\\s+)?except(?:ing)?(?:\\s+for)?" +
                "(?:\\s+(?:those|the\\s+ones?))?|excluding|other\\s+than|apart\\s+from|anywhere\\s+but|everywhere\\s+but|but\\s+not)\\s+(?:the\\s+)?$",
            ignoreCase = true,
        )
        private val AGAIN = Patterns.of("\\s*(?:,\\s*)?(?:or|nor)\\s+(?:in\\s+|from\\s+|at\\s+)?", ignoreCase = true)
        private val DANGLING = Patterns.of(
            // One character a turn and no second way to take a space: "+" inside of "+" took exponential time.
            "(?<![\\s,;:\\-–])(?:[\\s,;:\\-–]|\\b(?:in|on|at|from|of|during|near|around|between|since|to|for|and|the|or|but))+$",
            ignoreCase = true,
        )
        private val EMPTY = Patterns.of("\\(\\s*\\)|\\[\\s*\\]|\"\\s*\"")
        private val SPACED = Patterns.of("(?<!\\s)\\s+([,.;:?!])")
        private val END = Patterns.of("(?<![?!.\\s])[?!.\\s]*$")
        private val REPEATED = Patterns.of("([,;:])(?:\\s*[,;:])+")
        private val WORD = Patterns.of("\\w")
    }
}
