package gamer.questions

import kotlin.math.abs

/**
 * The photos that a question asks for (runtime/questions/question.py). [asks]: for photos, a time, a place, a person, a number or a fact.
 * [target]: what they show; "" for any photo. [relation]: to the [anchor]: in the "same" [unit] of time, "before" or "after" it (or its
 * whole [unit]), or "between" it and [other]; with an anchor and "", which of the two was first. [order]: 1 for the first (or next), 2
 * for the second, -1 for the last (or previous), 0 for no order; [anchorOrder]: the same of the anchor. [number]: how many, 0 for all
 * that fit. [isOccasion]: all photos of the one occasion that [order] names. [isExhaustive]: whether every one is meant. [withAnchor]:
 * whether the anchor belongs to the answer. [shift]: units of time from the anchor's ("the day after" is 1). [side]: "earlier" or
 * "later" than the anchor within its unit.
 */
data class Wanted(
    val asks: String = "photos",
    val target: String = "",
    val relation: String = "",
    val unit: String = "",
    val anchor: String = "",
    val other: String = "",
    val order: Int = 0,
    val anchorOrder: Int = 0,
    val number: Int = 0,
    val isOccasion: Boolean = false,
    val isExhaustive: Boolean = false,
    val withAnchor: Boolean = false,
    val shift: Int = 0,
    val side: String = "",
) {
    /** Whether photos are asked for by their order in time, without an anchor. */
    val isOrdered: Boolean get() = order != 0 && asks == "photos" && relation.isEmpty()
}

/** Reads what a request wants, with or without an anchor (runtime/questions/reader.py). */
internal class WantedReader(private val vocabulary: Vocabulary, private val phrases: Phrases) {
    private val asking = AskingReader(vocabulary, phrases)
    private val relations = RelationReader(vocabulary, phrases)

    /** [isTime], [isPlace]: whether a phrase is nothing but a time or place. [isLimited]: whether the question says which photos of its target. */
    fun read(words: List<Word>, isTime: (String) -> Boolean, isPlace: (String) -> Boolean, isLimited: Boolean): Wanted {
        val request = asking.read(words)
        val split = relations.split(request, isTime, isPlace)
        val base = Wanted(request.asks, isExhaustive = words.any { it.key in EVERY })
        return if (split == null) plain(base, request, isLimited) else related(base, request, split)
    }

    private fun related(base: Wanted, request: Asking, split: Split): Wanted {
        val other = Vocabulary.text(anchor(split.other)).ifEmpty { Vocabulary.text(split.other) }
        if (split.relation.isEmpty()) return base.copy(anchor = Vocabulary.text(split.anchor), other = other)
        val wanted = wanted(base, request, split.head, split)
        val (order, phrase) = anchorOrder(split.anchor)
        var anchor = Vocabulary.text(anchor(ofOne(phrase, wanted.target))).ifEmpty { Vocabulary.text(split.anchor) }
        if (wanted.isOccasion && wanted.target.isNotEmpty() && wanted.order != 0 && !sharesAWord(wanted.target, anchor)) {
            anchor = "${wanted.target} $anchor" // "the next jellyfish after the big swarm": a swarm of these
        }
        return wanted.copy(
            asks = if (base.asks == "fact" && request.isOfAPhoto) "photos" else base.asks, relation = split.relation, unit = split.unit, shift = split.shift,
            side = split.side, anchor = anchor, anchorOrder = order, other = other,
            withAnchor = split.relation == "same" && (split.shift != 0 || Vocabulary.indexOf(split.head, "more") < 0),
        )
    }

    private fun plain(base: Wanted, request: Asking, isLimited: Boolean): Wanted {
        val wanted = wanted(base, request, request.words, null)
        val asks = request.isQuestion || request.isAsked || request.words.firstOrNull()?.has("all") == true
        return if (asks || isLimited || wanted.order != 0 || wanted.number != 0) wanted else wanted.copy(target = Vocabulary.text(request.words))
    }

    /** Reads order, number and target from what a question says besides its anchor. */
    private fun wanted(base: Wanted, request: Asking, words: List<Word>, split: Split?): Wanted {
        val head = putBefore(countedBack(words))
        val at = orderAt(head, request, split != null)
        val order = if (at >= 0) order(head[at]) else 0
        val counted = numberAt(head, at)
        val number = if (counted >= 0) head[counted].number else 0
        val isSeveral = phrases.namesSeveral(head) || at >= 0 && isPluralNoun(head.getOrNull(at + 1))
        val isTime = at >= 0 && head.getOrNull(at + 1)?.key in TIMES
        val isSingle = if (order != 0) !isSeveral else split != null && isNear(request, head, split)
        return base.copy(
            order = order,
            number = if (number > 0) number else if (isSingle && request.asks != "count") 1 else 0,
            isOccasion = isTime || order != 0 && isSeveral && number == 0 && split != null && split.relation != "same",
            target = Vocabulary.text(phrases.stripped(head.filterIndexed { n, _ -> n != at && n != counted }, request.asks == "who")),
        )
    }

    private fun order(word: Word): Int = word.values.getValue("order").toInt()

    /** "The third last", "the second to last": one word of order, counted from the end. */
    private fun countedBack(head: List<Word>): List<Word> {
        for (at in 0 until head.size - 1) {
            var end = at + 1
            for (link in listOf("to", "the")) if (head.getOrNull(end)?.key == link) end++
            if (!head[at].has("order") || head.getOrNull(end)?.has("order") != true) continue
            val (first, then) = order(head[at]) to order(head[end])
            if (first <= 1 || abs(then) != 1) continue
            return head.take(at) + head[end].copy(values = head[end].values + ("order" to "${first * then}")) + head.drop(end + 1)
        }
        return head
    }

    /** "Which of the photos of the cat is the oldest": the oldest photo of the cat. */
    private fun putBefore(head: List<Word>): List<Word> {
        val at = Vocabulary.indexOf(head, "picture")
        val rest = head.dropLast(1).dropLastWhile { it.has("definite") }
        val isAsked = at >= 0 && (head[0].key == "which" || head[0].key == "what") && head.last().has("order")
        if (!isAsked || !rest.last().has("aux")) return head
        val isOne = rest.last().key == "is" || rest.last().key == "was"
        val picture = if (isOne) rest[at].copy(text = rest[at].text.removeSuffix("s"), key = rest[at].key.removeSuffix("s")) else rest[at]
        return rest.take(at) + head.last() + picture + rest.drop(at + 1).dropLast(1)
    }

    /** Whether one photo is asked for, the nearest to the anchor: "right after", "the photo before". */
    private fun isNear(request: Asking, head: List<Word>, split: Split): Boolean {
        val isNear = split.exact || phrases.namesOne(head) || phrases.isMoment(split.anchor)
        return isNear && (split.relation == "before" || split.relation == "after") && !phrases.isPlural(head, request)
    }

    private fun isPluralNoun(word: Word?): Boolean = word != null && word.key.endsWith("s") && word.key.takeLast(2) !in NO_PLURALS

    /** The index of the order of the photos asked for; -1 if there is none. */
    private fun orderAt(head: List<Word>, request: Asking, isRelated: Boolean): Int {
        for ((at, word) in head.withIndex()) {
            if (!word.has("order") || head.getOrNull(at + 1)?.has("unit") == true) continue
            if (isRelated || ordersPhotos(head, at)) return at
            val isRelative = head.take(at).any { it.key in RELATIVE }
            val isVerbal = (request.asks == "when" || request.asks == "where") && (word.key == "first" || word.key == "last")
            if (request.isQuestion && (isVerbal || at == 0 || head[at - 1].has("aux", "definite", "self", "subject")) && !isRelative) return at
        }
        return -1
    }

    /** Without an anchor, only photos and times are counted: "first snow" is something that a photo shows. */
    private fun ordersPhotos(head: List<Word>, at: Int): Boolean {
        val follows = head.drop(at + 1).take(3)
        if (follows.isEmpty()) return false
        val isCounted = follows[0].number > 0 && follows.size > 1 && follows[0].key != "a" && follows[0].key != "an"
        val isRecent = head[at].key in RECENT && at > 0 && (head[at - 1].key == "my" || head[at - 1].key == "our" || head[at - 1].has("picture"))
        return isCounted || isRecent || (at + 2 until head.size).any { phrases.saidLength(head.drop(it)) > 0 } ||
            at > 0 && head[at - 1].number > 1 || follows[0].key == "occasion" || follows[0].key == "time" ||
            Vocabulary.indexOf(follows.take(2), "picture", "one") >= 0 || Vocabulary.indexOf(follows, "pictured") >= 0
    }

    /** The index of the number of photos asked for; -1 if there is none. */
    private fun numberAt(head: List<Word>, order: Int): Int {
        for ((at, word) in head.withIndex()) {
            if (word.number == 0 || word.key == "a" || word.key == "an") continue
            val noun = head.drop(at + 1).take(3).firstOrNull { it.has("picture", "pictured") || it.key == "ones" }
            if (noun != null && !(word.key == "one" && noun.key.endsWith("s")) || order >= 0 && abs(at - order) == 1) return at
        }
        return -1
    }

    /** "The first snow" is 1, and the snow. */
    private fun anchorOrder(words: List<Word>): Pair<Int, List<Word>> {
        val anchor = countedBack(words)
        val at = if (anchor.firstOrNull()?.has("definite") == true) 1 else 0
        if (at + 1 >= anchor.size || !anchor[at].has("order")) return 0 to anchor
        val owner = if (at > 0 && anchor[0].key !in setOf("my", "our", "the")) anchor.take(at) else emptyList()
        return order(anchor[at]) to owner + anchor.drop(at + 1)
    }

    /** "The one in the snow" is another of what is asked for. */
    private fun ofOne(anchor: List<Word>, target: String): List<Word> {
        val at = if (anchor.firstOrNull()?.has("definite") == true) 1 else 0
        if (anchor.getOrNull(at)?.has("one") == true) {
            val rest = anchor.drop(at + 1)
            if (target.isNotEmpty() && rest.isNotEmpty()) return listOf(anchor[at].copy(text = target, key = target, values = emptyMap())) + rest
            return if (rest.firstOrNull()?.key in OF_ONE) rest.drop(1) else rest
        }
        return if (anchor.size > 1 && anchor.last().key == "one") anchor.dropLast(1) else anchor
    }

    /** An anchor without "I saw", "the photo of", "was taken". */
    private fun anchor(words: List<Word>): List<Word> {
        var rest = if (words.size > 1 && words[0].key == "the" && words[1].key == "moment") words.drop(2) else words
        if (rest.firstOrNull()?.key == "that" || rest.firstOrNull()?.key == "when") rest = rest.drop(1)
        rest = rest.drop(phrases.saidLength(rest)).dropLastWhile { it.key in WAS_TAKEN }
        val at = if (rest.firstOrNull()?.has("definite") == true) 1 else 0
        val isOf = at + 1 < rest.size && rest[at].has("picture") && rest[at + 1].key in SHOWING
        return if (isOf) rest.drop(at + 2) else rest
    }

    private fun sharesAWord(first: String, second: String): Boolean {
        fun stems(text: String) = text.lowercase().split(" ").filter { it.length > 2 }.map { it.take(5) }.toSet()
        return (stems(first) intersect stems(second)).isNotEmpty()
    }

    private companion object {
        val EVERY = setOf("all", "every", "everything")
        val TIMES = setOf("occasion", "time")
        val NO_PLURALS = setOf("is", "ss", "us")
        val RELATIVE = setOf("that", "which", "who")
        val RECENT = setOf("earliest", "latest", "most recent", "newest", "oldest")
        val OF_ONE = setOf("of", "where", "with")
        val WAS_TAKEN = setOf("shot", "taken", "was", "were")
        val SHOWING = setOf("of", "showing", "with")
    }
}
