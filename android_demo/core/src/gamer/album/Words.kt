package gamer.album

import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import gamer.common.replaced

/**
 * Word rules for English that text search and entity extraction share. Words of other languages pass
 * unchanged.
 */
object Words {
    internal val WORD = Patterns.of("[^\\W_]+(?:['’\\-][^\\W_]+)*")
    internal val stopWords: Set<String> = WordLists.STOP
    internal val verbs: Set<String> = WordLists.VERBS
    internal val notEntities: Set<String> = WordLists.NOT_ENTITIES
    private val POSSESSIVE = Patterns.of("['’]s$", ignoreCase = true)

    /** The singular of a lower-case English word by simple suffix rules; other words are unchanged. */
    fun singular(word: String): String {
        if (word.codePointCount(0, word.length) <= 3 || !word.endsWith("s") || listOf("ss", "us", "is", "'s").any { word.endsWith(it) }) return word
        if (word.endsWith("ies") && word.codePointCount(0, word.length) > 4) return word.dropLast(3) + "y"
        if (listOf("ches", "shes", "sses", "xes", "zes").any { word.endsWith(it) }) return word.dropLast(2)
        return word.dropLast(1)
    }

    /** A query's distinct words, case-folded, in order, without stop words unless nothing else is left. */
    fun queryTerms(text: String): List<String> {
        val words = WORD.all(text).map { PyText.casefold(it) }.distinct()
        return words.filter { it !in WordLists.STOP }.ifEmpty { words }
    }

    /** Whether a lower-case word is more likely a verb form than a noun. */
    fun looksVerbal(word: String): Boolean =
        word.length > 5 && (word.endsWith("ing") || word.endsWith("ed")) && word !in WordLists.NOUNS_IN_ING

    /**
     * The query's terms, each with its alternative spellings, the plain one first. User names and tags join
     * words: NewYork is also searched as new and york, and Wolfgang in "Wolfgang Schulz" also as
     * wolfgangschulz.
     */
    fun spellings(text: String): List<List<String>> {
        val words = WORD.all(text).map { POSSESSIVE.replaced(it, "") }
        val names = words.map { if (startsUpper(it) && PyText.casefold(it) !in WordLists.STOP) it else "" }
        val out = LinkedHashMap<String, List<String>>()
        for ((at, word) in words.withIndex()) {
            val before = names.getOrElse(at - 1) { "" }
            val after = names.getOrElse(at + 1) { "" }
            val joined = listOf(before to names[at], names[at] to after).filter { it.first.isNotEmpty() && it.second.isNotEmpty() }.map { it.first + it.second }
            val forms = (listOf(word) + humps(word) + joined).map { PyText.casefold(it) }
            if (forms[0] !in out) out[forms[0]] = forms.distinct()
        }
        return out.filterKeys { it !in WordLists.STOP }.values.toList().ifEmpty { out.values.toList() }
    }

    internal fun startsUpper(word: String): Boolean = word.isNotEmpty() && Character.isUpperCase(word.codePointAt(0))

    /** The parts of a word in CamelCase; empty for other words. */
    private fun humps(word: String): List<String> {
        val letters = PyText.codePoints(word)
        val edges = listOf(0) + (1 until letters.size).filter { Character.isLowerCase(letters[it - 1]) && Character.isUpperCase(letters[it]) } + letters.size
        if (edges.size < 3) return emptyList()
        return edges.zipWithNext { a, b -> String(letters, a, b - a) }.filter { it.codePointCount(0, it.length) > 2 }
    }
}
