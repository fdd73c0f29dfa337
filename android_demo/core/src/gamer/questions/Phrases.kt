package gamer.questions

import gamer.common.PyText

/** What a run of words is: what it counts, an event, words that say nothing (runtime/questions/query.py, phrases.py). */
class Phrases(private val vocabulary: Vocabulary) {
    /** A text without the words at its ends that say nothing of what photos show; "" if it says nothing. */
    fun content(text: String): String = Vocabulary.text(stripped(vocabulary.words(PyText.joined(text))))

    private fun stripped(words: List<Word>): List<Word> {
        val edges = vocabulary.listed("edges")
        fun isEdge(word: Word) = word.isMark || edges.any { word.has(it) }
        fun trimmed(run: List<Word>) = run.dropWhile(::isEdge).dropLastWhile(::isEdge)
        val runs = arrayListOf(ArrayList<Word>())
        for (word in words) if (word.text == ",") runs.add(ArrayList()) else runs.last().add(word)
        var left: List<Word> = runs.filter { trimmed(it).isNotEmpty() }.flatten()
        while (left.isNotEmpty() && (isEdge(left[0]) || saidLength(left) > 0)) left = left.drop(maxOf(saidLength(left), 1))
        for (at in 1 until left.size) {
            val size = saidLength(left.drop(at)) // "the whale that I saw"
            if (size == 0) continue
            left = left.take(if (left[at - 1].key == "that" || left[at - 1].key == "which") at - 1 else at) + left.drop(at + size)
            break
        }
        return trimmed(left)
    }

    /** The number of words of "I saw", "we also photographed" at the beginning; 0 without them. */
    private fun saidLength(words: List<Word>): Int {
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
     * What "the last photo of Rex", "my 3 oldest pictures" ask for; null for other questions, of which `gamer search` reads more:
     * those with an anchor ("the last one before the wedding"), and what is asked otherwise ("which photo is the oldest").
     */
    internal fun ordered(words: List<Word>): Ordered? {
        val said = words.dropWhile { it.isMark || it.has("article", "courtesy", "definite", "filler", "modal", "request", "self") }
            .dropLastWhile { it.isMark || it.has("courtesy", "filler") }
        if (said.any { it.text in ASIDES }) return null
        val at = if (said.size > 1 && said[0].number > 0 && said[1].has("order")) 1 else 0
        var order = said.getOrNull(at)?.values?.get("order")?.toInt() ?: return null
        var end = at + 1
        if (said.getOrNull(end)?.has("order") == true) { // "the second last"
            val last = said[end++].values.getValue("order").toInt()
            if (order < 2 || last != 1 && last != -1) return null
            order *= last
        }
        var number = if (at > 0) said[0].number else 0
        val counted = said.getOrNull(end) ?: return null
        if (at == 0 && counted.number > 0 && counted.key !in ONE) {
            number = counted.number
            end++
        }
        val noun = said.getOrNull(end) ?: return null
        val tail = said.drop(end + 1)
        if (!noun.has("picture", "pictured") || tail.any { word -> word.has(*RELATING) || word.key in RELATED }) return null
        val isSeveral = (tail + noun).any { it.key == "ones" || it.key == "others" || it.has("picture", "pictured") && it.key.endsWith("s") }
        return Ordered(order, if (number > 0) number else if (isSeveral) 0 else 1, Vocabulary.text(stripped(said.drop(end))))
    }

    /**
     * The words without what "how many cats a month", "which year did I photograph most" count by, and that (runtime/questions/grouped.py);
     * the words themselves for other questions.
     */
    internal fun grouped(words: List<Word>): Pair<List<Word>, Grouped?> {
        for (at in 1 until words.size - 1) {
            val by = unit(words[at + 1])
            val isEach = words[at].key in EACH || words[at].key == "a" && words[at - 1].has("picture", "howmany")
            if (by.isEmpty() || !isEach || words.take(at).none { it.has("howmany") }) continue
            val rest = words.take(at) + words.drop(at + 2)
            return rest to Grouped(by, false, Vocabulary.text(stripped(counted(rest).ifEmpty { rest.dropWhile { it.has("howmany") } })))
        }
        val most = words.indices.firstOrNull { words[it].key == "most" && isOfPhotos(words.drop(it + 1)) } ?: return words to null
        val which = if (words[0].has("where")) -1 else words.take(3).indexOfFirst { it.has("which") }
        val by = if (words[0].has("where")) "place" else words.getOrNull(which + 1)?.takeIf { which >= 0 }?.let(::unit).orEmpty()
        if (most == 0 || by.isEmpty()) return words to null
        val rest = words.take(if (words[most - 1].key == "the") most - 1 else most) + words.drop(most + 1)
        val said = rest.drop(which + 2).filter { !it.has("aux", "self", "subject", "made", "seen") && it.key !in vocabulary.listed("having_taken") }
        return rest to Grouped(by, true, Vocabulary.text(stripped(said)))
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
        const val ASIDES = ",.?!;:—–…" // marks of what is said beside the question
        val ONE = setOf("a", "an", "one")
        val RELATING = arrayOf("after", "aux", "before", "earlier", "howmany", "later", "occasion", "order", "them", "unit", "way", "when", "where", "which", "who")
        val RELATED = setOf("between", "during", "same", "since", "that", "until", "while")
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
