package gamer.glosses

import gamer.album.WordLists
import gamer.common.Patterns
import gamer.common.PyText
import java.util.regex.Pattern

/**
 * A part of the query. [said]: its characters; [options]: English for it, the best first. Without options it stays as
 * it is: it is then a name, an English word, or anything between words. [word]: what memories in the language of the
 * query would hold, of a part of a compound the whole; [isEnglish]: English has it too.
 */
data class Piece(val said: String, val options: List<Gloss> = emptyList(), val word: String = "", val isEnglish: Boolean = false) {
    /** Whether it is a word such as "the", which no memory is found by; its first gloss is that word. */
    val saysNothing: Boolean get() = options.isNotEmpty() && saysNothing(options[0].text)
}

private fun saysNothing(gloss: String): Boolean = PyText.split(gloss.lowercase()).all { it in WordLists.STOP }

/** A text in a language other than English. [language]: its code; "" if no table has its script. */
class Reading(val text: String, val language: String, val pieces: List<Piece>) {
    /** The text with the first gloss of each of its words. */
    val english: String get() = pieces.joinToString("") { it.options.firstOrNull()?.text ?: it.said }
}

/**
 * Reads a query in another language as English ones, word by word, with the [tables] of one bundle
 * (runtime/glosses/reading.py). The longest phrase of a table is taken at each word; a word that it does not have is
 * split as a compound, or freed of pronouns at its end, or compared with the album's names in Latin letters. Words
 * that are English or names stay as they are. [english]: the ranks of English words; [told]: the language that the
 * reader of cues finds, or null.
 */
class Reader(tables: List<GlossTable>, private val english: Ranks, private val told: (String) -> String?) {
    private val tables = tables.associateByTo(LinkedHashMap()) { it.language }

    /** The languages of the tables, by their codes. */
    val languages: Set<String> get() = tables.keys

    /**
     * The reading of a query; null for an English one, and where nothing of it can be read. [language]: the code of the one that it is
     * probably in; "" if the reader of cues shall say.
     */
    fun read(text: String, names: Names, language: String = ""): Reading? {
        val words = spans(text)
        if (words.isEmpty() || tables.isEmpty() && PyText.isAscii(text)) return null
        val said = words.map { (a, b) -> folded(text.substring(a, b)) }
        val lookups = tables.values.filter { !it.header.spaceless }.associateTo(LinkedHashMap()) { table -> table.language to { word: String -> known(table, word) } }
        val asked = said.mapIndexed { at, word -> Said(word, word in names, at > 0 && isCapital(text, words[at])) }
        val code = Guess.language(asked, lookups, english, language.ifEmpty { told(text) })
        val spaceless = tables.values.firstOrNull { it.header.spaceless }
        val table = tables[code ?: ""] ?: spaceless?.takeIf { IDEOGRAPHS.matcher(text).find() }
        if (table == null && said.all { latinScript(it) }) return null
        val pieces = Sentence(text, words, said, names, table, english).pieces()
        return if (pieces.any { it.options.isNotEmpty() }) Reading(text, table?.language ?: "", pieces) else null
    }

    /** The glosses of a word, or of a compound's last. */
    private fun known(table: GlossTable, word: String): List<Gloss> {
        if (latinScript(word) != table.isLatin) return emptyList()
        val glosses = table.lookup(word)
        if (glosses.isNotEmpty() || word in english || table.header.links.isEmpty() || lettersOf(word) < LEAST_COMPOUND) return glosses
        return head(table, word)?.let { table.lookup(word.substring(it)) }.orEmpty()
    }

    private fun spans(text: String): List<Pair<Int, Int>> {
        val out = ArrayList<Pair<Int, Int>>()
        val m = WORD.matcher(text)
        while (out.size < MOST_READ && m.find()) out.add(m.start() to m.end())
        return out
    }

    internal companion object {
        const val MOST_READ = 48 // words of a query, or of a window of a memory, that are read; the others stay
        const val MOST_OPTIONS = 4 // glosses of a word that a search uses
        const val LEAST_WEIGHT = 0.15 // of a gloss, beside the best of its word
        const val LEAST_FUNCTION = 0.4 // the weight from which a gloss such as "have" makes a word one that says little
        const val LEAST_COMPOUND = 8 // letters of a compound that tells its language
        const val LEAST_PART = 4 // letters of a compound's word
        const val MOST_CLITIC = 2 // letters of "l'", "qu'"
        const val LONGEST_RUN = 8 // characters of a word that is written without spaces
        const val SURELY_ENGLISH = 2.0 // nats by which a word of a foreign query is likelier English
        private val WORD = Patterns.of("[^\\W\\d_]+")
        private val IDEOGRAPHS: Pattern = Pattern.compile("[\\u3041-\\u30ff\\u4e00-\\u9fff\\u0e00-\\u0e7f]")

        fun isCapital(text: String, word: Pair<Int, Int>): Boolean = Character.isUpperCase(text.codePointAt(word.first))

        /** Where the last word of a compound begins, the longest that follows another word; null if it is none. */
        fun head(table: GlossTable, said: String): Int? {
            val letters = lettersOf(said)
            if (table.header.links.isEmpty() || letters > GlossTable.LONGEST) return null
            return (LEAST_PART..letters - LEAST_PART).map { said.offsetByCodePoints(0, it) }.firstOrNull { at ->
                table.lookup(said.substring(at)).isNotEmpty() && before(table, said.substring(0, at)).any { table.lookup(it).isNotEmpty() }
            }
        }

        /** What the first part of a compound may be: without each of the letters that a compound puts between. */
        fun before(table: GlossTable, part: String): Sequence<String> =
            table.header.links.asSequence().filter { part.endsWith(it) && lettersOf(part) - lettersOf(it) >= LEAST_PART }.map { part.dropLast(it.length) }
    }
}

private class Sentence(
    private val text: String,
    private val words: List<Pair<Int, Int>>,
    private val said: List<String>,
    private val names: Names,
    private val table: GlossTable?,
    private val english: Ranks,
) {
    fun pieces(): List<Piece> {
        val out = ArrayList<Piece>()
        var at = 0
        var end = 0
        while (at < words.size) {
            val start = words[at].first
            out.add(Piece(text.substring(end, start)))
            val (count, found) = piecesAt(at)
            if (count == 1 && isClitic(at, found)) {
                end = words[at].second + 1
                at++
                continue
            }
            end = words[at + count - 1].second
            val whole = text.substring(start, end)
            val shared = folded(whole) in english
            val read = found.map { if (it.options.isEmpty()) it else it.copy(word = whole, isEnglish = shared) }
            if (read.size == 1) out.add(read[0].copy(said = whole)) else out.addAll(read)
            at += count
        }
        out.add(Piece(text.substring(end)))
        return out.filter { it.said.isNotEmpty() }
    }

    /** Whether a word such as "l" stands before an apostrophe, and says nothing. */
    private fun isClitic(at: Int, found: List<Piece>): Boolean {
        val (start, end) = words[at]
        if (table == null || end >= text.length || text[end] !in "'’") return false
        return text.codePointCount(start, end) <= Reader.MOST_CLITIC || found.all { it.saysNothing }
    }

    /** (How many words from [at] are read together, what they are.) */
    private fun piecesAt(at: Int): Pair<Int, List<Piece>> {
        for (count in minOf(GlossTable.MOST_WORDS, words.size - at) downTo 2) {
            val glosses = glosses(said.subList(at, at + count).joinToString(" "))
            if (glosses.isNotEmpty()) return count to listOf(Piece("", glosses))
        }
        return 1 to word(at)
    }

    private fun word(at: Int): List<Piece> {
        val word = text.substring(words[at].first, words[at].second)
        val low = said[at]
        val isCapital = Reader.isCapital(text, words[at])
        val isName = isCapital && low in names
        if (at > 0 && isCapital && !latinScript(low)) names.like(word, SURELY_ALIKE)?.let { return listOf(Piece(word, listOf(Gloss(it, 1.0)))) }
        if (table != null) {
            val glosses = glosses(low)
            if (glosses.isNotEmpty() && !isName && Guess.likelier(low, glosses, english) > -Reader.SURELY_ENGLISH) return listOf(Piece(word, glosses))
            if (isName || low in english) return listOf(Piece(word))
            val parts = compound(low).ifEmpty { freed(low).ifEmpty { run(low) } }
            if (parts.isNotEmpty()) return parts
        }
        if (latinScript(low)) return listOf(Piece(word))
        val name = names.like(word, if (isCapital) LEAST_ALIKE else SURELY_ALIKE) ?: if (table == null) null else capitalized(latin(word))
        return listOf(Piece(word, if (name.isNullOrEmpty()) emptyList() else listOf(Gloss(name, 1.0))))
    }

    private fun capitalized(word: String): String = word.take(1).uppercase() + word.drop(1)

    private fun glosses(low: String): List<Gloss> {
        val likely = table?.lookup(low).orEmpty().filter { it.weight >= Reader.LEAST_WEIGHT }.take(Reader.MOST_OPTIONS)
        // "hat" is "has" before it is "holds": of several glosses that of a word that says little comes first.
        return likely.sortedBy { if (it.weight >= Reader.LEAST_FUNCTION && it.text in WordLists.STOP) 0 else 1 }
    }

    /** A compound as its words; empty if it is none. */
    private fun compound(low: String): List<Piece> {
        val at = Reader.head(table!!, low) ?: return emptyList()
        val first = Reader.before(table, low.substring(0, at)).first { table.lookup(it).isNotEmpty() }
        return listOf(Piece(low.substring(0, at), glosses(first)), Piece(" "), Piece(low.substring(at), glosses(low.substring(at))))
    }

    /** A verb without the pronouns that are written at its end. */
    private fun freed(low: String): List<Piece> {
        for (ending in table!!.header.endings) {
            if (ending.isEmpty() || !low.endsWith(ending) || lettersOf(low) - lettersOf(ending) < GlossTable.LEAST_STEM) continue
            val glosses = glosses(low.dropLast(ending.length))
            if (glosses.isNotEmpty()) return listOf(Piece(low, glosses))
        }
        return emptyList()
    }

    /** A run of characters without spaces: at each the longest word that the table has. */
    private fun run(low: String): List<Piece> {
        if (!table!!.header.spaceless) return emptyList()
        val letters = PyText.codePoints(low)
        val out = ArrayList<Piece>()
        var at = 0
        while (at < letters.size) {
            val word = (minOf(Reader.LONGEST_RUN, letters.size - at) downTo 1).map { String(letters, at, it) }.firstOrNull { glosses(it).isNotEmpty() }
            if (word == null) out.add(Piece(String(letters, at, 1))) else out.addAll(listOf(Piece(word, glosses(word)), Piece(" ")))
            at += word?.let { lettersOf(it) } ?: 1
        }
        return if (out.any { it.options.isNotEmpty() }) out else emptyList()
    }
}
