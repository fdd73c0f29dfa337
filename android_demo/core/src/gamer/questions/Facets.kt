package gamer.questions

/**
 * What an album knows of a photo for certain (runtime/questions/facets.py). [kind]: "medium",
 * "orientation", "camera", "fact", "alone" (a name, or "" for anybody) or "together" (names, or "" for any two).
 */
data class Facet(val kind: String, val value: String)

private typealias Taken = Pair<List<Word>, Facet>

/** Takes facets out of a question's words. [has]: whether the album has one; else it is words too. */
internal class FacetReader(private val vocabulary: Vocabulary, private val has: (Facet) -> Boolean) {
    /** The words without the facets that they name, and these. */
    fun taken(words: List<Word>): Pair<List<Word>, List<Facet>> {
        var left = words
        val facets = ArrayList<Facet>()
        for (take in listOf(::medium, ::orientation, ::fact, ::alone, ::together, ::company, ::camera)) take(left)?.let { (rest, facet) ->
            left = rest
            facets += facet
        }
        return left to facets
    }

    /** It is asked for only where nothing is said before it: "kids watching a video" is a scene. */
    private fun medium(words: List<Word>): Taken? = taken(words) { at, word ->
        val facet = Facet("medium", word.values["medium"].orEmpty())
        val isSeveral = word.key.endsWith("s") || ends(words, at + 1)
        val isFirst = words.take(at).all { it.values.isNotEmpty() && !it.has("picture", "pictured") }
        if (isSeveral && isFirst) words.take(at) + word.copy(text = "photos", key = "photos", values = mapOf("picture" to "")) + words.drop(at + 1) to facet else null
    }

    private fun orientation(words: List<Word>): Taken? = taken(words) { at, word ->
        val facet = Facet("orientation", word.values["shape"].orEmpty())
        val follows = words.getOrNull(at + 1)
        val isNamed = follows != null && follows.has("format")
        val isBefore = !isNamed && follows != null && follows.has("picture") && (word.key != facet.value || word.key == "square" && (at == 0 || words[at - 1].key in BEFORE_SHAPE))
        val begin = if (!isBefore && at > 0 && words[at - 1].key == "in") at - 1 else at
        val isAlone = begin < at && (follows == null || follows.isMark)
        if (isNamed || isBefore || isAlone) words.take(begin) + words.drop(if (isNamed) at + 2 else at + 1) to facet else null
    }

    /** "With flash"; other facts only right behind the photos: "with a date", "with text in them". */
    private fun fact(words: List<Word>): Taken? = taken(words) { at, word ->
        val facet = Facet("fact", word.values["fact"].orEmpty())
        val article = words.getOrNull(at - 1)?.key?.takeIf { it in ARTICLES }
        val begin = if (article != null) at - 2 else at - 1
        val isOfPhotos = begin > 0 && words[begin - 1].has("picture", "medium")
        val isInIt = at + 2 < words.size && words[at + 1].key in IN && words[at + 2].key in THEM
        val end = if (isInIt) at + 3 else at + 1
        val isBare = facet.value == "flash" && (article == null || article == "the")
        if (begin < 0 || words[begin].key !in vocabulary.listed("containing") || !(isBare || isOfPhotos) || !ends(words, end, BY)) null
        else words.take(if (begin > 0 && words[begin - 1].has("made")) begin - 1 else begin) + words.drop(end) to facet // "taken with flash"
    }

    /** "Anna alone", "Anna by herself": of somebody whom the album knows; "the tree alone" is a scene. */
    private fun alone(words: List<Word>): Taken? = taken(words) { at, word ->
        val begin = namedFrom(words, at) { false }
        if (word.has("alone") && begin < at && ends(words, at + 1, BY)) without(words, at) to Facet("alone", Vocabulary.text(words.subList(begin, at))) else null
    }

    /** "Anna and Tom together": names with "and" or commas between them. */
    private fun together(words: List<Word>): Taken? = taken(words) { at, word ->
        val begin = namedFrom(words, at) { it.key in BETWEEN_NAMES }
        if (word.key == "together" && at - begin > 2) without(words, at) to Facet("together", Vocabulary.text(words.subList(begin, at))) else null
    }

    /** Where the names before [at] begin: what has a capital, and not for beginning the question, or is no other word. */
    private fun namedFrom(words: List<Word>, at: Int, isBetween: (Word) -> Boolean): Int {
        fun isName(n: Int) = words[n].text.firstOrNull()?.isUpperCase() == true && (n > 0 || words[n].values.isEmpty())
        var begin = at
        while (begin > 0 && (isName(begin - 1) || isBetween(words[begin - 1]))) begin--
        return begin
    }

    private fun without(words: List<Word>, at: Int) = words.take(at) + words.drop(at + 1)

    /** "Group photos", "people together", "somebody alone", "only one person"; not "two people in a boat", which is a scene. */
    private fun company(words: List<Word>): Taken? = words.indices.toList().dropLast(1).firstNotNullOfOrNull { at ->
        val kind = kindOfCompany(words[at], words[at + 1], words.getOrNull(at - 1)) ?: return@firstNotNullOfOrNull null
        val isCounted = kind == "together" && at > 0 && words[at - 1].key in vocabulary.listed("how_many_people")
        var begin = if (isCounted || at > 0 && words[at - 1].key in ONLY) at - 1 else at
        while (begin > 0 && (words[begin - 1].key in vocabulary.listed("determiners") || words[begin - 1].key in vocabulary.listed("containing"))) begin--
        val isOfIt = at + 2 < words.size && words[at + 2].key == "of" // "a group picture of penguins"
        val isAll = words.take(begin).all { it.has("all", "courtesy", "medium", "picture", "request", "self") }
        if (!isAll || isOfIt || !ends(words, at + 2, BY) || !has(Facet(kind, ""))) return@firstNotNullOfOrNull null
        val isPictured = words.take(begin).any { it.has("picture", "medium") }
        val photos = words[at].copy(text = "photos", key = "photos", values = mapOf("picture" to ""))
        words.take(begin) + (if (isPictured) emptyList() else listOf(photos)) + words.drop(at + 2) to Facet(kind, "")
    }

    private fun kindOfCompany(word: Word, follows: Word, before: Word?): String? = when {
        word.key == "group" && follows.has("picture") -> "together"
        word.key == "one" && follows.key in vocabulary.listed("persons") -> if (before != null && before.key in ONLY) "alone" else null
        word.key !in vocabulary.listed("persons") -> null
        else -> if (follows.key == "together") "together" else if (follows.has("alone")) "alone" else null
    }

    private fun taken(words: List<Word>, take: (Int, Word) -> Taken?): Taken? =
        words.withIndex().firstNotNullOfOrNull { (at, word) -> take(at, word)?.takeIf { it.second.value.isNotEmpty() && has(it.second) } }

    /** A camera's name ends the question, or what is told before a place or time: "taken with my iPhone". */
    private fun camera(words: List<Word>): Taken? {
        val end = words.indexOfLast { !it.isMark } + 1
        val ends = listOf(end) + (end - 1 downTo 2).filter { words[it].key in vocabulary.listed("taken_where") }
        return ends.firstNotNullOfOrNull { cameraBefore(words, it) }
    }

    private fun cameraBefore(words: List<Word>, end: Int): Taken? {
        for (at in end - 2 downTo maxOf(0, end - 2 - CAMERA)) {
            if (words[at].key !in vocabulary.listed("by_what")) continue
            val begin = if (at > 0 && words[at - 1].has("made")) at - 1 else at
            val first = if (words[at + 1].key in OWNED) at + 2 else at + 1
            val facet = Facet("camera", Vocabulary.text(words.subList(first, end)))
            // Without "taken", a name has a capital or a number in it: "dinner with the family", "on the Canon".
            val isNamed = facet.value != facet.value.lowercase() || facet.value.any { it.isDigit() }
            val isName = !facet.value.all { it.isDigit() } // nor is nothing one
            if (isName && (begin < at || first > at + 1 && isNamed) && has(facet)) {
                return (words.take(begin) + words.drop(end)).let { rest -> if (rest.all { it.isMark }) emptyList() else rest } to facet
            }
        }
        return null
    }

    /** Whether a phrase ends before [at]: at the question's end, a mark, or a word that ties it to others. */
    private fun ends(words: List<Word>, at: Int, more: Set<String> = emptySet()): Boolean =
        at >= words.size || words[at].isMark || words[at].key in vocabulary.listed("tied") || words[at].key in more

    private companion object {
        const val CAMERA = 5 // words of a camera's name
        val ARTICLES = setOf("a", "an", "the")
        val OWNED = setOf("my", "our", "the")
        val BEFORE_SHAPE = OWNED + setOf("all", "any", "me", "some")
        val IN = setOf("in", "on")
        val THEM = setOf("it", "them")
        val BY = setOf("by", "on")
        val BETWEEN_NAMES = setOf("and", ",", "&")
        val ONLY = setOf("just", "only")
    }
}
