package gamer.questions

import gamer.common.PyText

/** What a run of words is: what it counts, an event, words that say nothing (runtime/questions/query.py, phrases.py). */
class Phrases(private val vocabulary: Vocabulary) {
    private val edges = vocabulary.roles("edges")

    /** A text without the words at its ends that say nothing of what photos show; "" if it says nothing. */
    fun content(text: String): String = Vocabulary.text(stripped(vocabulary.words(PyText.joined(text))))

    /**
     * The words without those at the ends, and the runs between commas, that say nothing of what photos show. [keepsVerbs]: whether the
     * verbs at the ends stay, as in "who came to tea".
     */
    internal fun stripped(words: List<Word>, keepsVerbs: Boolean = false): List<Word> {
        val roles = if (keepsVerbs) edges.filter { it != "seen" && it != "generic" }.toTypedArray() else edges
        var left = split(words) { it.text == "," }.filter { trimmed(it, *edges).isNotEmpty() }.flatten()
        while (left.isNotEmpty()) left = left.drop(saidLength(left).let { if (it > 0) it else if (left[0].isMark || left[0].has(*roles)) 1 else break })
        for (at in 1 until left.size) {
            val size = saidLength(left.drop(at)) // "the whale that I saw"
            if (size == 0) continue
            left = left.take(if (left[at - 1].key == "that" || left[at - 1].key == "which") at - 1 else at) + left.drop(at + size)
            break
        }
        return trimmed(left, *roles)
    }

    /** Whether the words say that somebody did something, or something happened. */
    internal fun isClause(words: List<Word>): Boolean = words.firstOrNull()?.has("subject") == true || (1 until words.size).any { at ->
        val word = words[at]
        (word.has("verb", "aux") || word.key.endsWith("ed") && word.key.length > 4) && !words[at - 1].has("article", "definite", "preposition", "order")
    }

    /** "I saw …", "the photo of …". */
    internal fun isMoment(words: List<Word>): Boolean {
        val rest = if (words.firstOrNull()?.key == "when") words.drop(1) else words
        return saidLength(rest) > 0 || rest.size > 1 && rest[0].has("definite") && rest[1].has("picture", "one")
    }

    /** Whether the words name something known: "the wedding", "we moved". */
    internal fun isDefinite(words: List<Word>): Boolean = words.isNotEmpty() && (words[0].has("definite") || isClause(words))

    /** "That", "it": what was told before. */
    internal fun refers(words: List<Word>): Boolean = words.size == 1 && words[0].has("them")

    /** "The photo after …", "a sunset after …": one of them. */
    internal fun namesOne(words: List<Word>): Boolean = words.any { it.key in ONE || it.has("picture", "pictured") && !it.key.endsWith("s") }

    /** "Photos", "the other ones". */
    internal fun namesSeveral(words: List<Word>): Boolean =
        words.any { it.key == "ones" || it.key == "others" || it.has("picture", "pictured") && it.key.endsWith("s") }

    /** Whether all photos that fit are asked for. */
    internal fun isPlural(head: List<Word>, request: Asking): Boolean =
        namesSeveral(head) || request.everything || Vocabulary.indexOf(head.take(2), "all") >= 0

    /** Whether photos are asked for, and the words do not only describe one. */
    internal fun isAboutPhotos(head: List<Word>, request: Asking): Boolean =
        request.isAsked || request.did || Vocabulary.indexOf(head, "picture", "all", "more", "one") >= 0

    /** Whether something is asked for beside the anchor. */
    internal fun asksForMore(head: List<Word>, request: Asking): Boolean =
        isPlural(head, request) || Vocabulary.indexOf(head, "more", "order") >= 0 || trimmed(head, *edges).isNotEmpty()

    /** The number of words of "I saw", "we also photographed" at the beginning; 0 without them. */
    internal fun saidLength(words: List<Word>): Int {
        if (words.firstOrNull()?.key !in SELF) return 0
        var at = 1
        var had = 0
        while (at < words.size && (words[at].key in vocabulary.listed("said_between") || words[at].key.endsWith("ly"))) if (words[at++].key == "had") had = at
        if (at < words.size && words[at].has("seen")) return at + 1
        if (had > 0) return had // "I had breakfast"
        return if (words.drop(at).take(2).joinToString(" ") { it.key } in WAS_AT) at + 2 else 0
    }

    /** "India" of "our trip to India"; "" of anything else. A place or a time. */
    fun goneTo(text: String): String {
        val words = vocabulary.words(text)
        val at = Vocabulary.indexOf(words, "stay")
        val asking = vocabulary.listed("only_asking")
        val isTo = at >= 0 && at + 2 < words.size && words[at + 1].key in TO
        val isSaid = isTo && words.take(at).all { word -> word.has("article", "picture", "preposition") || asking.any { word.has(it) } }
        return if (isSaid) Vocabulary.text(words.drop(at + 2)) else ""
    }

    /** What "how many cats do we have" counts; nothing where it asks for a fact ("how many people came"). */
    internal fun counted(words: List<Word>): List<Word> {
        if (words.firstOrNull()?.key != "how many") return emptyList()
        var rest = words.drop(1).filter { it.text !in STOPS }
        if (rest.firstOrNull()?.key == "different") rest = rest.drop(1)
        val asks = (1 until rest.size - 1).firstOrNull { rest[it].has("aux") && rest[it + 1].key in WHO }
        if (asks != null) {
            val isHaving = rest.getOrNull(asks + 2)?.key in vocabulary.listed("having_taken")
            rest = rest.take(asks) + rest.drop(asks + if (isHaving) 3 else 2)
        }
        if (rest.size > 2 && rest[0].key == "of" && rest[1].key in vocabulary.listed("owners")) rest = rest.drop(2)
        val isFact = rest.any { it.has("aux") || it.key in FACTS }
        return if (rest.isEmpty() || isFact || rest[0].has("duration") || rest[0].key in vocabulary.listed("uncounted")) emptyList() else rest
    }

    /**
     * The words without what "how many cats a month", "which year did I photograph most" count by, and that (runtime/questions/grouped.py);
     * the words themselves for other questions.
     */
    internal fun grouped(words: List<Word>): Pair<List<Word>, Grouped?> {
        for (at in 1 until words.size - 1) {
            val by = unit(words[at + 1])
            val isEach = words[at].key in EACH || words[at].key == "a" && words[at - 1].has("picture", "howmany")
            if (by.isNotEmpty() && isEach && words.take(at).any { it.has("howmany") }) return words.take(at) + words.drop(at + 2) to Grouped(by, false)
        }
        val most = words.indices.firstOrNull { words[it].key == "most" && isOfPhotos(words.drop(it + 1)) } ?: return words to null
        val which = Vocabulary.indexOf(words.take(3), "which")
        val by = if (words[0].has("where")) "place" else words.getOrNull(which + 1)?.takeIf { which >= 0 }?.let(::unit).orEmpty()
        if (most == 0 || by.isEmpty()) return words to null
        return words.take(if (words[most - 1].key == "the") most - 1 else most) + words.drop(most + 1) to Grouped(by, true)
    }

    /** Whether "most", before these words, is of photos: it ends the question, or a picture follows, not "beautiful". */
    private fun isOfPhotos(after: List<Word>): Boolean =
        after.firstOrNull { !it.isMark }?.let { it.has("picture", "medium") || it.key in setOf("of", "often", "in") } ?: true

    private fun unit(word: Word): String = UNITS[word.values["unit"] ?: word.key].orEmpty()

    /** "Photos in the week after the wedding" for "photos after the wedding"; "" without an event. [said]: the text of words. */
    internal fun soon(words: List<Word>, said: (List<Word>) -> String): String {
        val at = words.indexOfFirst { it.key == "before" || it.key == "after" || it.has("way") }
        val event = words.drop(at + 1).filter { it.text !in STOPS }
        if (at < 0 || event.isEmpty() || event.size == 1 && event[0].has("definite")) return ""
        val head = words.take(at).dropLastWhile { it.key in NEAR }
        val isOwned = words[at].has("way") || event[0].has("definite") || event[0].key.endsWith("'s")
        if (!isOwned || (head + event).any { it.text == "," || it.text == ";" }) return ""
        // What a street looks like after the rain is no matter of a week; "the day after" is for the cues.
        if (head.isNotEmpty() && head.last().has("unit") || event.last().has("weather")) return ""
        return "${if (head.isEmpty()) "photos" else said(head)} in the week ${words[at].key} ${Vocabulary.text(event)}"
    }

    private companion object {
        val ONE = setOf("a", "an", "one")
        val SELF = setOf("i", "i'd", "i've", "we", "we'd", "we've")
        val WAS_AT = setOf("went to", "was at", "were at", "was in", "were in")
        val TO = setOf("to", "in", "at")
        val EACH = setOf("each", "every", "per")
        val UNITS = mapOf("day" to "day", "month" to "month", "year" to "year", "city" to "place", "place" to "place", "country" to "country")
        val STOPS = setOf("?", "!", ".")
        val WHO = setOf("i", "we", "there")
        val FACTS = setOf("came", "went", "cost", "should")
        val NEAR = setOf("right", "just", "shortly", "soon")
    }
}
