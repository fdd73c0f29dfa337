package gamer.questions

/**
 * The words of what is asked for, [head], and of its [anchor] (runtime/questions/relations.py). [other]: the second anchor of "between".
 * [exact]: right after. The rest: see [Question]. Without a relation the anchors are compared: which was first.
 */
internal data class Split(
    val head: List<Word>, val anchor: List<Word>, val relation: String = "same", val other: List<Word> = emptyList(), val unit: String = "", val shift: Int = 0,
    val side: String = "", val exact: Boolean = false,
)

/**
 * Tells the words of what is asked for from those of its anchor: before, after, between, the same day. A wrong reading is worse than
 * none: a plain search still finds the photo. Where words only sound like an order ("cat chasing after a ball"), there is none.
 */
internal class RelationReader(vocabulary: Vocabulary, private val phrases: Phrases) {
    private val edges = vocabulary.roles("edges")

    /** Null for a request without an anchor; a time is none, and a place only one that is compared. */
    fun split(request: Asking, isTime: (String) -> Boolean, isPlace: (String) -> Boolean): Split? {
        for (part in listOf(::whichFirst, ::shifted, ::same, ::between, ::around, ::atAnEvent)) {
            val split = part(request) ?: continue
            val anchors = if (split.relation == "" || split.relation == "between") listOf(text(split.anchor), text(split.other)) else listOf(text(split.anchor))
            val bound = "${split.relation} ${anchors[0]}" // "after May": a month, though "May" alone may be a name
            val compared = anchors.filter { split.relation.isNotEmpty() || !isPlace(it) } + (if (split.relation.isEmpty()) emptyList() else listOf(bound))
            if (anchors.all { it.isNotEmpty() } && compared.none(isTime)) return split
        }
        return if (request.sentence.isEmpty()) null else told(request, isTime)
    }

    private fun text(words: List<Word>): String = Vocabulary.text(words)

    /** The anchor that a story names: "The week before the hike we bought boots. Find the boots." */
    private fun told(request: Asking, isTime: (String) -> Boolean): Split? {
        val story = request.copy(words = request.sentence, sentence = emptyList(), story = emptyList(), isQuestion = false, isAsked = true)
        val split = listOf(::shifted, ::same, ::between).firstNotNullOfOrNull { part -> part(story)?.takeIf { it.anchor.isNotEmpty() && !isTime(text(it.anchor)) } }
        return split?.copy(head = request.words)
    }

    /** "Did I see A first, or B?", "which came first, A or B", "was A before B?". */
    private fun whichFirst(request: Asking): Split? {
        val words = request.words
        val keys = words.map { it.key }
        if (request.asks != "fact" && request.asks != "where" || keys.none { it == "after" || it == "before" || it == "or" }) return null
        var around = Vocabulary.indexOf(words, "before", "after")
        if ("or" !in keys || around > 0 && words.getOrNull(around + 2)?.has("after") == true) {
            val then = if (keys.getOrNull(around + 1) == "or") around + 3 else around + 1
            // "Was the wedding before the move", not "were the kids happy before the move"
            val begins = words[0].has("definite") && around == 2
            val isNamed = around > 0 && (begins || words.take(around).all { isCapital(it) })
            val after = words.drop(then)
            val isOther = after.isNotEmpty() && (after[0].has("definite") || isCapital(after[0]))
            return if (request.was && isNamed && isOther) two(words.take(around), after) else null
        }
        val link = keys.indexOf("or")
        val first = keys.indexOfFirst { it in FIRST }
        val mark = (link - 1 downTo 0).firstOrNull { words[it].isMark } ?: -1
        if (first >= 0 && first == mark - 1 && mark < link - 1) return two(words.subList(mark + 1, link), words.drop(link + 1)) // not "the first night"
        if (request.asks != "fact") return null
        if (keys[0] == "which" || keys[0] == "what" || "came" in keys.take(link)) {
            return if (first in 0 until link) two(words.subList(first + 1, link), words.drop(link + 1)) else null
        }
        around = Vocabulary.indexOf(words.take(link), "before", "after")
        if (around > 0 && "way" in keys.drop(link)) return two(words.take(around), words.subList(around + 1, link))
        if (first < 0) return null
        return two(words.take(minOf(first, link)), words.drop(link + 1).filter { it.key != "first" })
    }

    private fun isCapital(word: Word): Boolean = word.text.first().isUpperCase()

    private fun two(one: List<Word>, other: List<Word>): Split? {
        val (anchor, second) = named(one) to named(other)
        return if (anchor.isEmpty() || second.isEmpty()) null else Split(emptyList(), anchor, "", second)
    }

    /** What is compared, without "did I see". */
    private fun named(words: List<Word>): List<Word> =
        trimmed(words, "courtesy", "aux", "self", "which", "generic").dropWhile { (it.has("seen") || it.key == "it") && it.key != "meet" && it.key != "met" }

    /** "Two days after the concert": another day, counted from the anchor's. */
    private fun shifted(request: Asking): Split? {
        val words = request.words
        for (at in 0 until words.size - 1) {
            val way = words[at + 1]
            if (!way.has("before", "after") || way.key in NO_WAYS) continue
            // "Earlier that day before the eagle" is within the day.
            if (at > 0 && words[at - 1].key in THAT) continue
            val unit = words[at].values["unit"]?.takeIf { it != "event" && it != "trip" } ?: continue
            val count = if (at > 0) words[at - 1].number else 0
            var first = if (count > 0) at - 1 else at
            while (first > 0 && (words[first - 1].has("definite", "order", "preposition") || words[first - 1].key == "following" || words[first - 1].key == "very")) first--
            val (anchor, tail) = anchorAndTail(words, at + 2)
            if (anchor.isEmpty() || anchor[0].key in DATES || anchor.all { it.has("unit", "definite") }) continue
            return Split(words.take(first) + tail, anchor, unit = unit, shift = (if (way.has("before")) -1 else 1) * maxOf(count, 1))
        }
        return null
    }

    /** "The same day as", "the day of", "that evening": the anchor's unit of time. */
    private fun same(request: Asking): Split? {
        // "The days of the week" are no day.
        for ((at, word) in request.words.withIndex()) if (word.has("unit") && !word.key.endsWith("s")) sameAt(request, at)?.let { return it }
        return null
    }

    /** The same for the unit at index [at]. */
    private fun sameAt(request: Asking, at: Int): Split? {
        val words = request.words
        val unit = words[at].values.getValue("unit")
        val isSame = at > 0 && words[at - 1].key == "same"
        var first = if (isSame) at - 1 else at
        while (first > 0 && words[first - 1].has("definite", "preposition")) first--
        if (first > 0 && words[first - 1].key in MADE) first--
        val follows = words.drop(at + 1)
        val (side, said) = side(words.take(first))
        val isOf = follows.firstOrNull()?.key == "of"
        val isSided = isOf && (request.isQuestion || Vocabulary.indexOf(follows, "earlier", "later") >= 0)
        val isClause = at == 0 && follows.firstOrNull()?.has("subject") == true // "year I moved"
        if (first == at && !(isSided || isClause)) return null // "walk of fame", "day trip"
        if (said.lastOrNull()?.has("before", "after") == true) return null // "after the day of …": of its whole
        var head = said
        val start = anchorAt(words, at, isSame)
        if (start > 0) {
            val (found, tail) = anchorAndTail(words, start)
            val (anchor, late) = lateSide(found)
            head = head + tail
            var isScene = (isOf || follows[0].key == "with") && !isSame && !phrases.isMoment(anchor) && !request.isAsked
            isScene = isScene && !(isOf && anchor.isNotEmpty() && isOwned(anchor[0]))
            if (isScene && !(phrases.asksForMore(head, request) || isOf && request.isQuestion)) return null // "the party with balloons"
            if (anchor.isNotEmpty()) return Split(head, anchor, unit = unit, side = side.ifEmpty { late })
        }
        return toldUnit(request, at, head, side)
    }

    /** "Mom's scan", "my exam". */
    private fun isOwned(word: Word): Boolean = word.key == "my" || word.key == "our" || word.has("possessive") || word.key.endsWith("'s") || word.key.endsWith("s'")

    /** Where the anchor begins after the unit at index [at]; 0 where none follows. */
    private fun anchorAt(words: List<Word>, at: Int, isSame: Boolean): Int {
        val follows = words.getOrNull(at + 1) ?: return 0
        if ((follows.key == "in" || follows.key == "on") && words.getOrNull(at + 2)?.key == "which") return at + 3
        if (follows.key in LINKING || isSame && (follows.key == "as" || follows.key == "like")) return at + 2
        if (follows.has("subject")) return at + 1 // "the day we moved"
        val isDefinite = at > 0 && follows.has("definite") && words[at - 1].has("definite")
        return if (isDefinite && phrases.isClause(anchorAndTail(words, at + 1).first)) at + 1 else 0
    }

    /** "That evening", "the following day" of what was told; "that morning, earlier than the cake". */
    private fun toldUnit(request: Asking, at: Int, head: List<Word>, side: String): Split? {
        val words = request.words
        val unit = words[at].values.getValue("unit")
        val before = words.getOrNull(at - 1)?.key
        val follows = words.drop(at + 1)
        val (late, rest) = side(follows)
        if (request.story.isNotEmpty() && (before == "following" || before == "next")) return Split(words.take(at - 1) + follows, request.story, unit = unit, shift = 1)
        if (request.story.isNotEmpty() && before in THAT) return Split(head + rest, request.story, unit = unit, side = side.ifEmpty { late })
        val than = follows.take(3).indexOfFirst { it.key == "earlier than" || it.key == "later than" }
        if (before != "that" || than < 0) return null
        val (anchor, tail) = anchorAndTail(follows, than + 1)
        return Split(head + tail, anchor, unit = unit, side = if (follows[than].has("before")) "earlier" else "later")
    }

    private fun between(request: Asking): Split? {
        val words = request.words
        val at = words.indexOfFirst { it.key == "between" || it.key == "in between" }
        val link = if (at < 0) null else (at + 2 until words.size).firstOrNull { words[it].key == "and" }
        if (link == null) return fromUntil(request)
        val (other, tail) = anchorAndTail(words, link + 1)
        val head = words.take(at) + tail
        val anchor = words.subList(at + 1, link)
        var isWanted = phrases.isPlural(head, request) || request.did || request.asks == "count" || Vocabulary.indexOf(head, "order") >= 0
        isWanted = isWanted || phrases.isAboutPhotos(head, request) && trimmed(head, *edges).isEmpty()
        val isSetOff = at > 1 && words.subList(at - 2, at).any { it.isMark }
        val isSaid = request.isAsked || isSetOff || trimmed(words.take(at), "preposition").isEmpty()
        val isDefinite = anchor[0].has("definite") && phrases.isDefinite(other) && isSaid || trimmed(head).isEmpty()
        // "The bridge between two towers" is a scene.
        return if (isWanted || isDefinite) Split(head, anchor, "between", other) else null
    }

    /** "From A until B", "after A but before B". */
    private fun fromUntil(request: Asking): Split? {
        val words = request.words
        val last = words.indices.firstOrNull { endsASpan(words, it) } ?: return null
        val first = words.take(last).indexOfFirst { it.key == "after" || it.key == "from" || it.key == "since" }
        if (first < 0) return null
        val anchor = words.subList(first + 1, last).filter { it.key != "but" && it.key != "when" }
        val (other, tail) = anchorAndTail(words, last + 1)
        return if (anchor.isEmpty() || other.isEmpty()) null else Split(words.take(first) + tail, anchor, "between", other)
    }

    /** "Until", "but before". */
    private fun endsASpan(words: List<Word>, at: Int): Boolean =
        if (words[at].key == "before") at > 0 && words[at - 1].key == "but" else words[at].key in UNTIL

    /** Before or after an anchor, or its whole unit of time. */
    private fun around(request: Asking): Split? {
        val words = request.words
        val at = wayAt(words)
        if (at < 0) return null
        var (anchor, tail) = anchorAndTail(words, at + 1)
        var edge = at
        while (edge > 0 && (words[edge - 1].has("exactly") || words[edge - 1].key in CAME)) edge--
        val isExact = Vocabulary.indexOf(words.subList(edge, at), "exactly") >= 0
        var before = words.take(edge)
        if (before.size > 1 && before.last().key == "and" && before[before.size - 2].isMark) before = before.dropLast(1)
        var head = before + tail
        if (request.story.isNotEmpty() && (anchor.isEmpty() || phrases.refers(anchor))) anchor = request.story
        if (anchor.isEmpty() || phrases.refers(anchor)) return null
        val leads = before.isEmpty() && tail.isNotEmpty()
        val isSetOff = leads || before.dropLastWhile { it.key == "from" || it.key == "only" }.lastOrNull()?.isMark == true
        if (!(isExact || leads || isOrder(request, head, trimmed(before), anchor, words[at], isSetOff))) return null
        val (unit, whole) = wholeUnit(anchor)
        anchor = whole
        val (side, rest) = side(head)
        head = rest
        val unitAt = Vocabulary.indexOf(head, "unit")
        if (side.isNotEmpty() && (request.story.isNotEmpty() || unitAt >= 0)) { // "earlier that day, before I fell"
            return Split(head.filter { !it.has("unit") }, anchor, unit = if (unitAt >= 0) head[unitAt].values.getValue("unit") else "day", side = side)
        }
        if (tail.isEmpty() && trimmed(head, *edges).isEmpty() && Vocabulary.indexOf(head, "all") >= 0) shownWith(anchor, head).let { (one, shown) ->
            anchor = one
            head = shown
        }
        return Split(head, anchor, if (words[at].has("after")) "after" else "before", unit = unit, exact = isExact)
    }

    /** The index of "before", "after" or a word like them; -1 without one. "Before and after" is none. */
    private fun wayAt(words: List<Word>): Int {
        for ((at, word) in words.withIndex()) {
            val (next, then) = words.getOrNull(at + 1) to words.getOrNull(at + 2)
            if (word.key == "up to" && next?.has("them") == true) return at
            if (word.has("before", "after")) return if (next?.key == "and" && then?.has("before", "after") == true) -1 else at
        }
        return -1
    }

    /**
     * Whether "before" and "after" mean the order of photos, and not what one of them shows. [spoken]: what of the head stands before
     * the anchor. [isSetOff]: whether a comma stands between them.
     */
    private fun isOrder(request: Asking, head: List<Word>, spoken: List<Word>, anchor: List<Word>, way: Word, isSetOff: Boolean): Boolean {
        if (way.key == "as soon as" || way.key == "once") return phrases.isClause(anchor)
        if (head.indices.any { head[it].has("order") && head.getOrNull(it + 1)?.has("unit") != true }) return true
        if (spoken.lastOrNull()?.has("placed") == true) return false
        val isNamed = spoken.lastOrNull()?.has("made", "one", "picture") == true
        if ((way.key == "following" || way.key == "preceding") && !isNamed) return false // "ducklings following their mother"
        if (phrases.isMoment(anchor) || way.key == "prior to" || way.key == "since") return true
        if (isSetOff || spoken.isEmpty() || request.asks != "photos") return phrases.isDefinite(anchor) || way.has("way")
        if (anchor[0].has("subject") || anchor.size > 2 && anchor[0].has("definite") && anchor[1].has("order")) return true
        return phrases.isAboutPhotos(head, request) && anchor[0].key !in ANY
    }

    /** "Was there a cat at the party?" */
    private fun atAnEvent(request: Asking): Split? {
        val words = request.words
        val at = (words.size - 2 downTo 1).firstOrNull { words[it].key == "at" } ?: return null
        if (!request.isClosed || !words[at + 1].has("definite")) return null
        return Split(words.take(at), words.drop(at + 1), unit = "event")
    }

    /** "Everything after the party with the couch in it": the couch is what is looked for. */
    private fun shownWith(anchor: List<Word>, head: List<Word>): Pair<List<Word>, List<Word>> {
        for (at in 1 until anchor.size - 1) {
            val has = anchor[at].key == "that" && anchor[at + 1].key in HAVING
            if (!has && !(anchor[at].key == "with" && anchor[at + 1].has("definite"))) continue
            val rest = anchor.drop(at + 2)
            val isInside = rest.size > 1 && (rest.last().key == "it" || rest.last().key == "them")
            return anchor.take(at) to head + if (isInside) rest.dropLast(2) else rest
        }
        return anchor to head
    }

    /** The anchor from [start] on, and what follows it behind a mark, or where another clause begins. */
    private fun anchorAndTail(words: List<Word>, start: Int): Pair<List<Word>, List<Word>> {
        val mark = (start until words.size).firstOrNull { words[it].isMark && words[it].text in MARKS }
        if (mark != null) return words.subList(start, mark) to words.drop(mark + 1)
        val other = (start + 2 until words.size).firstOrNull { beginsClause(words, it) } ?: words.size
        return words.take(other).drop(start) to words.drop(other)
    }

    /** "Three days before the operation | I photographed the tree". */
    private fun beginsClause(words: List<Word>, at: Int): Boolean {
        val before = words[at - 1]
        val goesOn = before.has("aux", "one", "picture", "preposition", "unit", "when", "where", "which", "who")
        return words[at].key in SPEAKERS && at + 1 < words.size && !goesOn && before.key != "and" && before.key != "that"
    }

    /** "… as the owl but later". */
    private fun lateSide(anchor: List<Word>): Pair<List<Word>, String> {
        val at = (maxOf(anchor.size - 2, 0) until anchor.size).firstOrNull { anchor[it].has("earlier", "later") }
        if (anchor.size < 3 || at == null) return anchor to ""
        var rest = anchor.take(anchor.indexOf(anchor[at]))
        while (rest.size > 1 && rest.last().key in BUT) rest = rest.dropLast(1)
        return rest to if (anchor[at].has("earlier")) "earlier" else "later"
    }

    private fun side(words: List<Word>): Pair<String, List<Word>> {
        val at = Vocabulary.indexOf(words, "earlier", "later")
        if (at < 0) return "" to words
        val side = if (words[at].has("earlier")) "earlier" else "later"
        return side to words.filter { !it.has(side) }
    }

    /** "The day I saw the whale": the unit, and what it is the unit of. */
    private fun wholeUnit(anchor: List<Word>): Pair<String, List<Word>> {
        if (anchor.size < 3 || !anchor[0].has("definite") || !anchor[1].has("unit")) return "" to anchor
        val isLinked = anchor[2].key in OF_UNIT
        if (!(isLinked || anchor[2].has("subject") || phrases.saidLength(anchor.drop(2)) > 0)) return "" to anchor
        return anchor[1].values.getValue("unit") to anchor.drop(if (isLinked) 3 else 2)
    }

    private companion object {
        const val MARKS = ",:;.—–-"
        val FIRST = setOf("earlier", "first")
        val DATES = setOf("last", "next", "tomorrow", "yesterday")
        val NO_WAYS = setOf("once", "since", "until")
        val THAT = setOf("same", "that", "this")
        val MADE = setOf("made", "shot", "taken")
        val LINKING = setOf("of", "that", "when", "where", "with")
        val OF_UNIT = setOf("of", "that", "when", "where")
        val UNTIL = setOf("through to", "until", "up to")
        val CAME = setOf("came", "comes", "coming", "only", "that")
        val ANY = setOf("a", "an", "and", "another", "some")
        val HAVING = setOf("has", "have", "show", "shows")
        val SPEAKERS = setOf("he", "i", "she", "they", "we")
        val BUT = setOf("a", "bit", "but", "only")
    }
}
