package gamer.questions

import gamer.common.PyText

/**
 * What a query asks for besides resemblance (runtime/questions/question.py). [query]: the text that a search takes, without what
 * the others say. [without]: what the photos must not show. [favourites]: only photos that the person marked. [isBare]: whether it
 * says nothing else of what photos show. [pictures]: whether photos are asked for by name, not what was said. [facets]: what the
 * album knows of the photos. [counts]: whether their number is asked for. [soon]: [query] with "after the wedding" as "in the week
 * after the wedding", or "". [wanted]: the photos that are asked for. [grouped]: by what their number is, or null.
 */
class Question(
    val query: String,
    val without: List<String>,
    val favourites: Boolean,
    val isBare: Boolean,
    val pictures: Boolean,
    val facets: List<Facet>,
    val counts: Boolean,
    val soon: String,
    val wanted: Wanted,
    val grouped: Grouped?,
) {
    /** What photos are asked for by their order in time alone, or null. */
    val ordered: Wanted? get() = wanted.takeIf { it.isOrdered && grouped == null }
}

/** The number of photos by day, month, year, place or country. [isMost]: whether only that with the most of them is asked for. */
class Grouped(val by: String, val isMost: Boolean)

/** Reads a query into a [Question] (runtime/questions/reader.py, excluded.py). */
class QuestionReader(val vocabulary: Vocabulary) {
    val phrases = Phrases(vocabulary)
    private val wanted = WantedReader(vocabulary, phrases)

    /**
     * [has]: whether the album has a facet ("in portrait format"); else it is words too. [isCue]: whether what is left out is a time
     * or place ("except 2024"), which the reader of cues excludes. [hasFavourites]: whether a photo of the album is marked; else "my
     * favourite cat" is only words. [language]: see [Vocabulary.words]. [isTime]: whether a phrase is nothing but a time or place ("2015",
     * "Christmas"), which is no anchor; [isPlace]: nothing but a place, which may be compared with another.
     */
    fun read(
        text: String, language: String = "", hasFavourites: Boolean = true, has: (Facet) -> Boolean = { false }, isCue: (String) -> Boolean = { false },
        isTime: (String) -> Boolean = { false }, isPlace: (String) -> Boolean = { false },
    ): Question {
        val source = PyText.joined(PyText.head(text, MAX_READ))
        val written = vocabulary.words(source, language)
        val (rest, things) = leaveOut(written, isCue)
        val (left, favourites) = if (hasFavourites) takeFavourites(rest) else rest to false
        val (told, facets) = FacetReader(vocabulary, has).taken(left)
        val (words, grouped) = phrases.grouped(told)
        val counted = phrases.counted(words)
        val said = if (counted.isNotEmpty()) said(counted) else if (words == written) source else said(words).ifEmpty { "photos" }
        val first = Vocabulary.indexOf(words.take(5), "picture", "one")
        return Question(
            if (PyText.head(text, MAX_READ) != text) text else said, things, favourites, trimmed(words, *vocabulary.roles("edges")).isEmpty(),
            first >= 0 && words.take(first).none { it.isMark }, facets, counted.isNotEmpty(), phrases.soon(counted.ifEmpty { words }, ::said),
            wanted.read(words, isTime, isPlace, things.isNotEmpty() || favourites || facets.isNotEmpty()), grouped,
        )
    }

    /** The fact, such as "date", if a phrase names nothing but it, "" otherwise: "without a date". */
    fun factOf(phrase: String): String = vocabulary.words(PyText.joined(phrase)).map { it.values["fact"].orEmpty() }.distinct().singleOrNull().orEmpty()

    /** The text of words without what another language calls a photo; "photos" where nothing else is said. */
    private fun said(words: List<Word>): String {
        val rest = words.filter { !(it.has("picture") && it.key != it.text.lowercase()) }
        return Vocabulary.text(rest.ifEmpty { words.map { it.copy(text = it.key) } })
    }

    /** The words without what is left out, and the things that are. A time or a place stays in the words, for the reader of cues. */
    private fun leaveOut(words: List<Word>, isCue: (String) -> Boolean): Pair<List<Word>, List<String>> {
        var left = words
        val things = ArrayList<String>()
        var at = 0
        while (at < left.size) {
            val first = marker(left, at)
            val (named, end) = if (first > 0) things(left, first) else emptyList<List<Word>>() to at
            val cues = named.map { it[0].key in listed("time_or_place") || isCue(Vocabulary.text(it)) }
            val begin = if (at > 0 && left[at - 1].text == ",") at - 1 else at
            if (named.isEmpty() || cues.all { it } || (left.take(begin) + left.drop(end)).all { it.isMark }) {
                at++
                continue
            }
            val stays = named.indices.filter { cues[it] }.flatMap { negated(left[at], named[it]) }
            named.indices.filter { !cues[it] }.mapTo(things) { n -> Vocabulary.text(named[n]).let { if (it.lowercase() in listed("anybody")) "people" else it } }
            left = left.take(begin) + stays + left.drop(end)
            at = begin + stays.size
        }
        return left to things
    }

    private fun listed(name: String): Set<String> = vocabulary.listed(name)

    /** ", not" before a time or a place that stays. */
    private fun negated(at: Word, thing: List<Word>): List<Word> =
        listOf(at.copy(text = ",", key = ",", end = -1, values = emptyMap()), at.copy(text = "not", key = "not")) + thing

    /** The index of the first word after a marker of exclusion that begins at [at]; 0 if none does. */
    private fun marker(words: List<Word>, at: Int): Int {
        val word = words[at]
        val follows = words.getOrNull(at + 1)
        if (word.key in RELATIVE) noAfter(words, at).let { if (it > 0) return it + 1 }
        if (word.has("without")) return if (isScene(words, at)) 0 else at + 1
        if ((word.key == "but" || word.key == "and") && follows != null) {
            val skipped = if (follows.key == "also") at + 2 else at + 1
            val next = words.getOrNull(skipped)
            if (next != null && (next.key == "no" || word.key == "but" && (next.key == "not" || next.has("without")))) return skipped + 1
        }
        val isNone = word.key in NONE && follows != null && follows.key in OF_NONE
        val isAfterComma = at > 0 && words[at - 1].text == ","
        return if (isAfterComma && (isNone || word.key == "no" || word.key == "not")) at + 1 else 0
    }

    /** The index of "no" of "where there is no", "that have no"; 0 without one. */
    private fun noAfter(words: List<Word>, at: Int): Int {
        for (no in at + 2 until minOf(at + 4, words.size)) {
            if (words[no - 1].key in NEGATED) return if (words[no].key in SHOWING) no else no - 1
            if (words[no].key == "no" && words[no - 1].key in listed("shown")) return no
        }
        return 0
    }

    /** Whether what is missing is worn or a part of what is shown: "goalkeeper without gloves". */
    private fun isScene(words: List<Word>, at: Int): Boolean {
        if (words[at].key != "without" && words[at].key != "with no" || at == 0 || words[at - 1].text == ",") return false
        if (Vocabulary.indexOf(words.take(at), "picture", "howmany", "favourite") >= 0) return false
        if (words.getOrNull(at + 1)?.has("possessive") == true) return true // "the telescope without its mount"
        val first = things(words, at + 1).first.firstOrNull() ?: return false
        return first.last().has("worn") || first[0].has("worn")
    }

    /** The things of a list that begins at [at], and the index after it. */
    private fun things(words: List<Word>, at: Int): Pair<List<List<Word>>, Int> {
        val (thing, end) = thing(words, at)
        if (thing.isEmpty() || thing.size == 1 && thing[0].key in NO_THING) return emptyList<List<Word>>() to at
        val inside = inIt(words, end)
        if (inside > end) return listOf(thing) to inside
        var more = end
        val isComma = words.getOrNull(more)?.text == ","
        if (isComma) more++
        val isLinked = more < words.size && words[more].key in listed("links")
        if (isLinked) more++
        if (words.getOrNull(more)?.key == "also") more++
        val isNegated = more < words.size && (words[more].key == "no" || words[more].key == "not" || words[more].has("without"))
        if (isNegated) more++
        if (!isComma && !isLinked) return listOf(thing) to end
        val (rest, last) = things(words, more)
        // A comma alone goes on with the list only if a link ends it: "Tom, Lena or a dog".
        return if (rest.isEmpty() || !(isLinked || isNegated || rest.size > 1)) listOf(thing) to end else (listOf(thing) + rest) to last
    }

    private fun thing(words: List<Word>, begin: Int): Pair<List<Word>, Int> {
        var at = begin
        while (at < words.size) {
            val goesOn = words.getOrNull(at + 1)?.key.let { it == "with" || it == "of" }
            val isBefore = words[at].key in listed("determiners") || at > begin && words[at].key in listed("having") || words[at].has("one") && goesOn
            if (!isBefore) break
            at++
        }
        val thing = words.drop(at).take(MOST_WORDS).takeWhile { !endsThing(it) }
        return thing to at + thing.size
    }

    private fun endsThing(word: Word): Boolean =
        word.isMark || word.key in listed("ends") || word.key in listed("links") || word.key in ENDS || word.has("without", "after", "before")

    /** The index after "in them", "on the photo"; [at] without one. */
    private fun inIt(words: List<Word>, at: Int): Int {
        val keys = words.drop(at).take(3).map { it.key }
        if (keys.size < 2 || keys[0] != "in" && keys[0] != "on") return at
        if (keys[1] in IN_IT) return at + 2
        return if (keys[1] == "the" && keys.size > 2 && words[at + 2].has("picture")) at + 3 else at
    }

    /** The words without what asks for marked photos, and whether something did. */
    private fun takeFavourites(words: List<Word>): Pair<List<Word>, Boolean> {
        var at = Vocabulary.indexOf(words, "favourite")
        while (at >= 0) {
            val word = words[at]
            val near = words.drop(at + 1).take(3)
            val next = near.firstOrNull()
            var before = at
            while (before > 0 && words[before - 1].key in OWNED) before--
            val noun = Vocabulary.indexOf(near, "picture", "one")
            if (noun >= 0 && near.take(noun).none { it.isMark }) return words.take(before) + words.drop(at + 1) to true
            if (at > 0 && words[at - 1].has("picture") && word.key != word.text.lowercase()) return words.take(at) + words.drop(at + 1) to true // "fotos favoritas"
            if ((word.key == "hearted" || word.key == "starred") && at > 0 && (words[at - 1].key == "i" || words[at - 1].key == "we")) {
                return words.take(at - 1) + words.drop(at + 1) to true
            }
            val isAlone = (next == null || next.isMark || next.has("preposition", "before", "after", "without")) && !followsNoun(words, at)
            val isOnly = next?.key == "only"
            val isPlural = word.key == "favourites"
            if (isAlone || isPlural && (before < at || isOnly)) {
                val said = if (isPlural) "photos" else "photo"
                val photos = word.copy(text = said, key = said, values = mapOf("picture" to ""))
                return words.take(before) + photos + words.drop(if (isOnly) at + 2 else at + 1) to true
            }
            at = Vocabulary.indexOf(words, "favourite", start = at + 1)
        }
        return takeHeart(words)
    }

    /** "Mis libros favoritos": not the photos that are marked. */
    private fun followsNoun(words: List<Word>, at: Int): Boolean {
        val before = words.getOrNull(at - 1) ?: return false
        if (words[at].text.lowercase() !in listed("favourite_adjectives") || before.isMark || before.key in listed("no_nouns")) return false
        return !before.has("all", "article", "link", "only", "picture", "preposition", "request", "without")
    }

    /** "… that I marked with a heart". */
    private fun takeHeart(words: List<Word>): Pair<List<Word>, Boolean> {
        val at = Vocabulary.indexOf(words, "heart")
        var first = at
        while (first > 0 && at - first < 6 && !words[first - 1].isMark && !words[first - 1].has("picture", "one")) {
            first--
            if (words[first].key in BEGINS_HEART) break
        }
        val keys = if (at >= 0) words.subList(first, at).map { it.key } else emptyList()
        if (keys.none { it in listed("given") } || keys.none { it == "i" || it == "we" || it == "marked" }) return words to false
        if (first > 0 && (words[first - 1].key == "that" || words[first - 1].key == "which")) first--
        return words.take(first) + words.drop(at + 1) to true
    }

    companion object {
        const val MAX_READ = 1_000 // characters of a query that are read
        private const val MOST_WORDS = 4 // of a thing that is left out
        private val RELATIVE = setOf("where", "that", "which")
        private val NONE = setOf("none", "nothing")
        private val OF_NONE = setOf("showing", "with", "of")
        private val NEGATED = setOf("aren't", "arent", "isn't", "isnt", "don't", "doesn't")
        private val SHOWING = setOf("showing", "wearing", "show", "have", "any")
        private val NO_THING = setOf("ones", "wait", "more")
        private val ENDS = setOf("but", "no", "not", "please", "thank you", "thanks", "in", "at", "on", "from", "by", "with")
        private val IN_IT = setOf("it", "them", "sight", "there")
        private val OWNED = setOf("my", "our", "the", "all", "only")
        private val BEGINS_HEART = setOf("that", "which", "i")
    }
}
