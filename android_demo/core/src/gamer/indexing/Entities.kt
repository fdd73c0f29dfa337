package gamer.indexing

import gamer.album.Mention
import gamer.album.Words
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.found
import gamer.common.matchAt
import gamer.common.replaced
import java.util.regex.Matcher
import java.util.regex.Pattern

/**
 * Deterministic entity extraction by rules: memory text in, mentions out. Entities are searched for in this
 * order: quoted names, prices, dates, capitalised names, noun-like phrases (runs of words between stop
 * words). [Relations] says which of them describe others, as in the paper's example Chair → IKEA, 119.
 */
object Entities {
    private const val MAX_MENTIONS = 12
    // Characters; a longer memory is a document, and its beginning says what it is about.
    private const val MAX_TEXT = 20_000
    private const val MONTH =
        "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
    private const val CAPITAL = "[^\\W\\d_a-zß-öø-ÿ][\\w’'\\-]*"
    private val POSSESSIVE = Patterns.of("['’]s\\b")
    private val POSSESSIVE_END = Patterns.of("['’]s$")
    private val QUOTED = Patterns.of("[\"“«]([^\"“”«»\\n]{2,60})[\"”»]|(?<![\\w'])'([^'\\n]{2,60})'(?!\\w)")
    private val PRICE = Patterns.of(
        "[\$€£¥]\\s?\\d[\\d,]{0,20}(?:\\.\\d{1,20})?|(?<![\\w.])\\d[\\d,]{0,20}(?:\\.\\d{1,20})?\\s?(?:[€£¥]|(?:dollars?|euros?|pounds|yuan|yen|bucks|usd|eur|gbp|cny|rmb)\\b)",
        ignoreCase = true,
    )
    private val PRICE_SPACE = Patterns.of("(?<=[\$€£¥])\\s+")
    private val DATE = Patterns.of(
        "\\b\\d{4}-\\d{2}-\\d{2}\\b|\\b$MONTH\\.?\\s+\\d{1,2}(?:st|nd|rd|th)?(?:,?\\s+\\d{4})?\\b" +
            "|\\b\\d{1,2}(?:st|nd|rd|th)?\\s+(?:of\\s+)?$MONTH(?:,?\\s+\\d{4})?\\b|\\b$MONTH\\s+\\d{4}\\b|\\b(?:19|20)\\d{2}\\b",
        ignoreCase = true,
    )
    private val NAME = Patterns.of("$CAPITAL(?:[ \\t]+(?:(?:of|de|la|da|van|von|the|&)[ \\t]+)?$CAPITAL)*")
    private val PLACE_BEFORE =
        Patterns.of("\\b(?:in|at|from|near|to|around|toward|towards|outside|inside|visiting|visited)\\s+(?:the\\s+)?$", ignoreCase = true)
    // What follows a speaker is speech; "Chair: 119 at IKEA" is a note about a chair.
    private const val NOTED = "\\d[\\d,]{0,20}(?:\\.\\d{1,20})?(?=\\s*(?:$|[,;\\n])|\\s+(?:at|in|from)\\b)"
    private val SPEAKER_AFTER = Patterns.of("\\s?:\\s(?!\\s*$NOTED)", ignoreCase = true)
    private val NOTED_PRICE = Patterns.of("(?<=\\w:\\s)$NOTED", ignoreCase = true)
    private val SENTENCE_START = Patterns.of("(?:^|[.!?:…\\n\"“(]\\s*|[^\\w\\s,;'’&/-]\\s*)$")
    private val BREAK = Patterns.of("[.!?;:,\\n()…—–/]")

    private class Name(val start: Int, val end: Int, val text: String, val speaks: Boolean)

    private class Piece(val start: Int, val end: Int, val text: String)

    /** The key of an entity's spellings: lower case, single spaces, no possessive, last word singular. */
    fun canonical(name: String): String {
        val words = PyText.split(POSSESSIVE.replaced(PyText.casefold(name), ""))
        return if (words.isEmpty()) "" else (words.dropLast(1) + Words.singular(words.last())).joinToString(" ")
    }

    /** At most MAX_MENTIONS mentions, names before phrases, one per canonical name. */
    fun extract(text: String): List<Mention> = Reading(PyText.head(text, MAX_TEXT)).mentions()

    private fun plain(word: String): String = word.replace('’', '\'').removeSuffix("'s")

    private fun isStop(word: String): Boolean = PyText.casefold(plain(word)) in Words.notEntities

    private fun isContent(word: String): Boolean {
        val lower = PyText.casefold(plain(word))
        val size = lower.codePointCount(0, lower.length)
        return size >= 3 && lower !in Words.notEntities && !PyText.codePoints(lower).all { Character.isDigit(it) } && !(lower.endsWith("ly") && size > 5)
    }

    /** One text, and which of its characters are part of an entity already. */
    private class Reading(private val text: String) {
        private val taken = BooleanArray(text.length)
        private val found = ArrayList<Span>()

        fun mentions(): List<Mention> {
            each(QUOTED) { take(it.start(), it.end(), (it.group(1) ?: it.group(2)).trim { c -> c in " ,.!?" }, "thing") }
            each(PRICE) { take(it.start(), it.end(), PRICE_SPACE.replaced(it.group(), ""), "price") }
            each(NOTED_PRICE) { take(it.start(), it.end(), it.group(), "price") }
            each(DATE) { if (it.group() != "may") take(it.start(), it.end(), PyText.joined(it.group()), "date") }
            names()
            phrases()
            return linked()
        }

        private fun each(pattern: Pattern, use: (Matcher) -> Unit) {
            val m = pattern.matcher(text)
            while (m.find()) use(m)
        }

        private fun take(start: Int, end: Int, name: String, kind: String) {
            if (name.codePointCount(0, name.length) <= 1 || (start until end).any { taken[it] }) return
            for (i in start until end) taken[i] = true
            found.add(Span(start, end, name, kind))
        }

        /**
         * Takes runs of capitalised words as names. A single word at a sentence's start is a name only if it
         * is a speaker ("Anna: ...") or an owner ("Anna's dog"), or is capitalised within a sentence
         * elsewhere in the text.
         */
        private fun names() {
            val inner = HashSet<String>()
            val kept = ArrayList<Name>()
            val candidates = ArrayList<Piece>()
            each(NAME) { if (!taken[it.start()]) candidates.add(Piece(it.start(), it.end(), it.group())) }
            for (match in candidates) {
                var start = match.start
                var name = match.text.trimEnd { it in "’'-" }
                var atStart = SENTENCE_START.found(text.substring(PyText.before(text, start, 8), start)) != null
                // "The Golden Gate" → "Golden Gate".
                while (' ' in name && isStop(name.substringBefore(' ')) && name.substringAfter(' ').isNotEmpty()) {
                    val rest = name.substringAfter(' ')
                    start = match.start + match.text.indexOf(rest, name.substringBefore(' ').length)
                    name = rest.trimStart { PyText.isSpace(it) }
                    atStart = false
                }
                // "Tokyo I" → "Tokyo".
                while (' ' in name && PyText.casefold(name.substringAfterLast(' ')) in Words.stopWords) {
                    name = name.substringBeforeLast(' ').trimEnd { PyText.isSpace(it) }
                }
                if (' ' !in name && isStop(name)) continue
                val speaks = SPEAKER_AFTER.matchAt(text, match.end) != null
                if (!atStart || ' ' in name || speaks || plain(name) != name) inner.add(canonical(name))
                kept.add(Name(start, match.end, POSSESSIVE_END.replaced(PyText.joined(name), ""), speaks))
            }
            for (name in kept) {
                if (canonical(name.text) !in inner) continue
                val isPlace = PLACE_BEFORE.found(text.substring(PyText.before(text, name.start, 24), name.start)) != null
                take(name.start, name.end, name.text, if (name.speaks) "person" else if (isPlace) "place" else "thing")
            }
        }

        /**
         * Takes runs of content words as things: at most the last two words, where English has its head noun.
         * Frequent phrases come first, then early ones.
         */
        private fun phrases() {
            val spans = runs().mapNotNull { run ->
                // "line stretching" → "line", but "dining table" stays.
                val kept = run.dropLastWhile { Words.looksVerbal(plain(it.text).lowercase()) }
                kept.takeLast(2).takeIf { it.isNotEmpty() }
            }
            val names = spans.map { span -> (span.dropLast(1).map { it.text.lowercase() } + Words.singular(span.last().text.lowercase())).joinToString(" ") }
            val counts = names.groupingBy { it }.eachCount()
            val ranked = spans.indices.sortedWith(compareBy({ -counts.getValue(names[it]) }, { -spans[it].size }, { spans[it][0].start }))
            for (i in ranked) take(spans[i].first().start, spans[i].last().end, names[i], "thing")
        }

        private fun runs(): List<List<Piece>> {
            val runs = arrayListOf(ArrayList<Piece>())
            var last = 0
            each(Words.WORD) { m ->
                if (runs.last().isNotEmpty() && (BREAK.found(text.substring(last, m.start())) != null || taken[m.start()])) runs.add(ArrayList())
                last = m.end()
                if (!taken[m.start()]) {
                    if (isContent(m.group())) runs.last().add(Piece(m.start(), m.end(), m.group()))
                    else if (runs.last().isNotEmpty()) runs.add(ArrayList())
                }
            }
            return runs.filter { it.isNotEmpty() }
        }

        /**
         * Limits the mentions to MAX_MENTIONS without repeats, and says what each describes. A parent is
         * included even if the limit would have dropped it.
         */
        private fun linked(): List<Mention> {
            val parents = parents(found.sortedBy { it.start })
            val chosen = LinkedHashMap<String, Span>()
            for (item in found) {
                val key = canonical(item.name)
                if (key.isNotEmpty() && key !in Words.stopWords && chosen.size < MAX_MENTIONS && key !in chosen) chosen[key] = item
            }
            val selected = chosen.keys.toList()
            for (key in selected) {
                val parent = parents[key]?.first ?: continue
                val above = canonical(parent.name)
                if (above.isNotEmpty() && above !in chosen) chosen[above] = parent
            }
            val extra = chosen.keys.drop(selected.size)
            val kept = if (extra.size < MAX_MENTIONS) selected.take(MAX_MENTIONS - extra.size) + extra else selected
            val items = kept.associateWith { chosen.getValue(it) }
            return items.entries.sortedBy { it.value.start }.map { (key, item) -> mention(item, items, parents[key]) }
        }

        /** Canonical name → the parent, and the relation. Of several the first counts that closes no circle. */
        private fun parents(ordered: List<Span>): Map<String, Pair<Span, String>> {
            val parents = HashMap<String, Pair<Span, String>>()
            for ((at, link) in Relations.related(text, ordered).toSortedMap()) {
                val name = canonical(ordered[at].name)
                val upwards = generateSequence(canonical(ordered[link.parent].name)) { above -> parents[above]?.let { canonical(it.first.name) } }
                if (name !in upwards && name !in parents) parents[name] = ordered[link.parent] to link.relation
            }
            return parents
        }

        private fun mention(item: Span, kept: Map<String, Span>, parent: Pair<Span, String>?): Mention {
            val above = parent?.let { kept[canonical(it.first.name)] }
            if (parent == null || above == null || canonical(above.name) == canonical(item.name)) return Mention(item.name, item.kind)
            return Mention(item.name, item.kind, above.name, parent.second)
        }
    }
}
