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
        val SELF = setOf("i", "i'd", "i've", "we", "we'd", "we've")
        val WAS_AT = setOf("went to", "was at", "were at", "was in", "were in")
        val TO = setOf("to", "in", "at")
        val STOPS = setOf("?", "!", ".")
        val WHO = setOf("i", "we", "there")
        val FACTS = setOf("came", "went", "cost", "should")
        val NEAR = setOf("right", "just", "shortly", "soon")
    }
}
