package gamer.album

import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import gamer.common.replaced

/** Small word rules of text search and entity extraction. English; other languages pass through unharmed. */
object Words {
    internal val WORD = Patterns.of("[^\\W_]+(?:['’\\-][^\\W_]+)*")
    internal val stopWords: Set<String> = WordLists.STOP
    internal val notEntities: Set<String> = WordLists.NOT_ENTITIES
    private val POSSESSIVE = Patterns.of("['’]s$", ignoreCase = true)

    /** A light plural rule for lower-case English words; leaves what it does not know. */
    fun singular(word: String): String {
        if (word.codePointCount(0, word.length) <= 3 || !word.endsWith("s") || listOf("ss", "us", "is", "'s").any { word.endsWith(it) }) return word
        if (word.endsWith("ies") && word.codePointCount(0, word.length) > 4) return word.dropLast(3) + "y"
        if (listOf("ches", "shes", "sses", "xes", "zes").any { word.endsWith(it) }) return word.dropLast(2)
        return word.dropLast(1)
    }

    /** The words of a query that can find something: stop words dropped, unless nothing else is left. No repeats, order kept. */
    fun queryTerms(text: String): List<String> {
        val words = WORD.all(text).map { PyText.casefold(it) }.distinct()
        return words.filter { it !in WordLists.STOP }.ifEmpty { words }
    }

    /** A lower-case word that is likelier a verb form than the name of something. */
    fun looksVerbal(word: String): Boolean =
        word.length > 5 && (word.endsWith("ing") || word.endsWith("ed")) && word !in WordLists.NOUNS_IN_ING

    /**
     * The query's terms, each with the other ways in which people and their apps write it, the plain one first: NewYork is also new and york,
     * and Wolfgang in "Wolfgang Schulz" is also wolfgangschulz.
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

    private fun startsUpper(word: String): Boolean = word.isNotEmpty() && Character.isUpperCase(word.codePointAt(0))

    /** The parts of a word that is written InOneRun; none for another word. */
    private fun humps(word: String): List<String> {
        val letters = PyText.codePoints(word)
        val edges = listOf(0) + (1 until letters.size).filter { Character.isLowerCase(letters[it - 1]) && Character.isUpperCase(letters[it]) } + letters.size
        if (edges.size < 3) return emptyList()
        return edges.zipWithNext { a, b -> String(letters, a, b - a) }.filter { it.codePointCount(0, it.length) > 2 }
    }
}
