package gamer.search

import gamer.album.Album
import gamer.common.Patterns
import gamer.common.all
import gamer.common.replaced
import gamer.models.Models

/**
 * Mends the spelling of a query's words, for a query that otherwise finds nothing (runtime/search/spelling.py). A word that neither the
 * album's memories, the text tower's vocabulary nor the gazetteer holds is replaced by one an edit away: a name of the album, else a
 * word of its memories, else the commonest of the vocabulary.
 */
internal object Spelling {
    private const val LEAST = 4 // letters: shorter words have too many neighbours
    private const val MOST_MENDED = 4
    private const val AT_ONCE = 64 // words that an album looks up
    private val WORD = Patterns.of("[^\\W\\d_]{3,20}")

    /** [isEnglish]: false where only names are mended, as other words are unknown to an English vocabulary. */
    fun mended(text: String, album: Album, models: Models, isEnglish: Boolean): String {
        val words = WORD.all(text).distinct()
        val held = held(album, words.map { it.lowercase() })
        val unwritten = words.filter { it.lowercase() !in held }
        if (unwritten.isEmpty()) return text
        val (vocabulary, names) = models.text.words to names(album)
        val unknown = unwritten.filter { it.length >= LEAST && it.lowercase() !in vocabulary && models.gazetteer.lookup(it).isEmpty() }
        if (unknown.size > MOST_MENDED) return text
        var out = text
        for (word in unwritten) {
            val near = near(word.lowercase())
            val isName = word[0].isUpperCase() && !out.startsWith(word)
            var better = if (isName || word in unknown) near.firstOrNull { it in names } else null
            if (better == null && isEnglish && word in unknown) {
                val known = near.filter { it in vocabulary }.sortedBy { vocabulary.getValue(it) }
                val ours = held(album, known)
                better = known.firstOrNull { it in ours } ?: known.firstOrNull()
            }
            if (better != null) out = Patterns.of("\\b$word\\b").replaced(out, if (word[0].isUpperCase()) better.replaceFirstChar(Char::uppercaseChar) else better)
        }
        return out
    }

    /** The album's entities that are called by one word with a capital, in lower case: mostly people. */
    private fun names(album: Album): Set<String> =
        album.listedEntities().filter { name -> name.isNotEmpty() && name[0].isUpperCase() && name.drop(1).all { it.isLowerCase() } }.map { it.lowercase() }.toSet()

    /** All strings one edit away: a letter too many, too few or wrong, or two exchanged. The first letter stays. */
    private fun near(word: String): List<String> {
        val out = java.util.TreeSet<String>()
        for (at in 1..word.length) {
            val (head, tail) = word.take(at) to word.drop(at)
            for (letter in 'a'..'z') {
                out += head + letter + tail
                if (tail.isNotEmpty()) out += head + letter + tail.drop(1)
            }
            if (tail.isNotEmpty()) out += head + tail.drop(1)
            if (tail.length > 1) out += head + tail[1] + tail[0] + tail.drop(2)
        }
        return (out - word).toList()
    }

    /** Those of [words] that a memory of the album holds. */
    private fun held(album: Album, words: List<String>): Set<String> {
        val found = words.chunked(AT_ONCE).flatMap { album.words(it.joinToString(" ")).words }.filter { it.rows.isNotEmpty() }
        return found.map { it.text.lowercase() }.toSet() intersect words.toSet()
    }
}
