package gamer.indexing

import gamer.album.Words
import gamer.common.PyText
import gamer.common.all

/** An entity in a text: where it starts and ends, its name and its kind. */
internal class Span(val start: Int, val end: Int, val name: String, val kind: String) {
    /** Only a thing or a person may be described by what follows it. */
    val isHead: Boolean get() = kind == "thing" || kind == "person"
}

/** What an entity describes: the position of its parent in the list of spans, and how. */
internal class Link(val parent: Int, val relation: String)

/**
 * How the entities of a memory are related: (head, relation, tail), by the words that stand between them. The
 * paper's example (Chair, 119, IKEA), as "the chair at IKEA costs $119", gives chair -at→ IKEA and chair -costs→ $119. Within a
 * sentence, an entity that follows a preposition or a verb describes an earlier one:
 * - a price describes the nearest thing, and *costs*;
 * - a place directly after a place or after something that is *at* or *in* a place describes that one ("ramen
 *   at Ichiran in Shibuya": Ichiran -in→ Shibuya), so that a walk of the graph learns where things are;
 * - another entity describes the last one that itself describes nothing ("coffee with Anna":
 *   coffee -with→ Anna);
 * - an owner describes what is owned ("Anna's dog": dog -of→ Anna);
 * - "with Anna and Tom" relates both as the first.
 *
 * What no rule relates stands alone. Only the entity that describes nothing stands for the photo; its
 * description is reached through the graph.
 */
internal object Relations {
    private const val COSTS = "costs"
    private const val OF = "of"
    private const val PRICE_REACH = 48 // characters between a price and the thing it belongs to
    private const val MAX_SPANS = 64 // entities of a sentence that are compared with each other
    private const val MAX_BETWEEN = 60 // characters between two entities that words relate
    private const val SENTENCE = ".!?…\n;"
    private val LOCATIVE = words("at in near on inside outside")
    private val RELATIONS = LOCATIVE + words(
        "from to with by of for into onto behind beside under over above below between along across through around before after during " +
            "without against toward towards named called as",
    )
    private val BE = words("is are was were")
    private val JOINS = words("and or plus")
    private val DETERMINERS = words("the a an my our his her their")
    private val OWNED = setOf("'s", "’s")

    private fun words(text: String): Set<String> = text.split(' ').toHashSet()

    /** Position of a span → what it describes. [spans]: in order of start, without overlaps. */
    fun related(text: String, spans: List<Span>): Map<Int, Link> = Reading(text, spans).links()

    /** The last preposition or verb; empty if there is none. */
    private fun relation(words: List<String>): String = words.lastOrNull { word ->
        word in RELATIONS || word in BE || word in Words.verbs || (word !in Words.stopWords && Words.looksVerbal(word))
    } ?: ""

    private class Reading(private val text: String, private val spans: List<Span>) {
        private val links = HashMap<Int, Link>()

        fun links(): Map<Int, Link> {
            for (sentence in sentences()) relate(sentence)
            return links
        }

        /** The positions of the spans of each sentence, which ends after MAX_SPANS of them. */
        private fun sentences(): List<List<Int>> {
            val out = ArrayList<ArrayList<Int>>()
            for ((at, span) in spans.withIndex()) {
                val begins = out.isEmpty() || out.last().size == MAX_SPANS
                if (begins || text.substring(spans[at - 1].end, span.start).any { it in SENTENCE }) out.add(ArrayList())
                out.last().add(at)
            }
            return out
        }

        private fun relate(sentence: List<Int>) {
            // What comes before anything that it could describe, and its relation.
            val waiting = ArrayList<Pair<Int, String>>()
            for ((nth, at) in sentence.withIndex()) {
                val words = if (nth == 0) opening(spans[at].start) else folded(text.substring(spans[sentence[nth - 1]].end, spans[at].start))
                val link = if (spans[at].kind == "price") price(sentence, at, nth) else if (nth > 0) link(sentence.subList(0, nth), at, words) else null
                if (link != null) {
                    links[at] = link
                } else if (owns(spans[at])) {
                    continue // an owner describes what is owned, which comes next
                } else if (spans[at].isHead) {
                    for ((place, how) in waiting) links[place] = Link(at, how)
                    waiting.clear()
                } else if (spans[at].kind == "place" || spans[at].kind == "date") {
                    relation(words).takeIf { it.isNotEmpty() }?.let { waiting.add(at to it) }
                }
            }
        }

        /** The last few words before the first entity of a sentence. */
        private fun opening(end: Int): List<String> = folded(text.substring(PyText.before(text, end, MAX_BETWEEN), end)).takeLast(3)

        private fun folded(between: String): List<String> = Words.WORD.all(between).map { PyText.casefold(it) }

        private fun link(earlier: List<Int>, at: Int, words: List<String>): Link? {
            val before = earlier.last()
            val gap = text.substring(spans[before].end, spans[at].start)
            if (gap.codePointCount(0, gap.length) > MAX_BETWEEN) return null
            val between = PyText.strip(gap)
            if (owns(spans[before]) && between.isEmpty()) return owned(before, at)
            if (between == "," && Words.startsUpper(spans[at].name)) return if (spans[before].kind == "place") Link(before, "in") else links[before]
            if (words.any { it in JOINS } && words.all { it in JOINS || it in DETERMINERS }) return links[before]
            val relation = relation(words)
            if (relation.isEmpty()) return null
            if (spans[at].kind == "place" && relation in LOCATIVE && isWhere(before)) return Link(before, relation)
            val heads = earlier.filter { it !in links && spans[it].isHead }
            // The subject of a verb comes first; what a preposition describes comes last.
            return (if (relation in RELATIONS) heads.lastOrNull() else heads.firstOrNull())?.let { Link(it, relation) }
        }

        /** Relates an owner to what it owns; what is owned takes over what the owner would have described. */
        private fun owned(owner: Int, at: Int): Link? = links.put(owner, Link(at, OF))?.takeIf { it.parent != at }

        /** Whether a span says where something is: a place, or what something is at or in. */
        private fun isWhere(at: Int): Boolean = spans[at].kind == "place" || links[at]?.relation in LOCATIVE

        private fun owns(span: Span): Boolean = PyText.casefold(text.substring(maxOf(span.start, span.end - 2), span.end)) in OWNED

        /** The nearest thing in the price's sentence; one before the price is preferred to one after it. */
        private fun price(sentence: List<Int>, at: Int, nth: Int): Link? =
            (sentence.subList(0, nth).asReversed() + sentence.drop(nth + 1)).firstOrNull { spans[it].kind == "thing" && isNear(spans[at], spans[it]) }
                ?.let { Link(it, COSTS) }

        private fun isNear(one: Span, other: Span): Boolean {
            val (first, second) = if (one.start < other.start) one to other else other to one
            return text.codePointCount(first.end, second.start) <= PRICE_REACH
        }
    }
}
