package gamer.questions

/** What an album knows of a photo for certain (runtime/questions/facets.py). [kind]: "medium", "orientation", "camera" or "fact". */
data class Facet(val kind: String, val value: String)

private typealias Taken = Pair<List<Word>, Facet>

/** Takes facets out of a question's words. [has]: whether the album has one; else it is words too. */
internal class FacetReader(private val vocabulary: Vocabulary, private val has: (Facet) -> Boolean) {
    /** The words without the facets that they name, and these. */
    fun taken(words: List<Word>): Pair<List<Word>, List<Facet>> {
        var left = words
        val facets = ArrayList<Facet>()
        for (take in listOf(::medium, ::orientation, ::fact, ::camera)) take(left)?.let { (rest, facet) ->
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
    }
}
