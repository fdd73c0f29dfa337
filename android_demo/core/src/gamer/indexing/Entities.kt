package gamer.indexing

import gamer.album.Words
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.replaced

/** Names as entities. */
object Entities {
    private val POSSESSIVE = Patterns.of("['’]s\\b")

    /** The key under which mentions are one entity: case, spaces, possessive and the last word's plural are dropped. */
    fun canonical(name: String): String {
        val words = PyText.split(POSSESSIVE.replaced(PyText.casefold(name), ""))
        return if (words.isEmpty()) "" else (words.dropLast(1) + Words.singular(words.last())).joinToString(" ")
    }
}
