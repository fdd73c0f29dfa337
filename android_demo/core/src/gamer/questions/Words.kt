package gamer.questions

import gamer.common.Patterns
import gamer.common.PyText
import gamer.cues.QuestionWords

/**
 * A word, a mark, or a phrase that the vocabulary takes for one ("most recent"). [text]: as it is written. [key]: in lower case
 * and usual spelling. [start], [end]: its characters in the source. [values]: role → reading.
 */
data class Word(val text: String, val key: String, val start: Int, val end: Int, val values: Map<String, String>) {
    val isMark: Boolean get() = text in MARKS

    /** The number that it names, 1 to 999; 0 if it names none. */
    val number: Int get() = if (key.length < 4 && key.isNotEmpty() && key.all { it in '0'..'9' }) key.toInt() else values["number"]?.toInt() ?: 0

    /** Whether it has one of [roles]. */
    fun has(vararg roles: String): Boolean = roles.any { it in values }

    private companion object {
        const val MARKS = "!\"'()*,-./:;?[]‘’“”–—…"
    }
}

/**
 * The words of a text with their roles in a question (runtime/questions/words.py). Words of other languages are other spellings
 * of English ones: "ohne" is "without".
 */
class Vocabulary(private val all: QuestionWords) {
    private val known = HashMap<String, Known>()

    /** A list of words that the reader's rules name. */
    fun listed(name: String): Set<String> = all.lists.getValue(name)

    /** A list that names roles. */
    internal fun roles(name: String): Array<String> = listed(name).toTypedArray()

    /** The words and marks of a text in which every space is a single one. [language]: of what it may be in besides English, or "". */
    fun words(source: String, language: String = ""): List<Word> {
        val known = of(language)
        val tokens = ArrayList<Pair<Int, Int>>()
        val m = TOKEN.matcher(source)
        while (m.find()) tokens += spans(m.group(), m.start(), known)
        val written = tokens.map { (start, end) -> source.substring(start, end).lowercase() }
        val keys = written.map(known::key)
        val out = ArrayList<Word>()
        var (at, isQuoted) = 0 to false
        while (at < tokens.size) {
            val (size, said) = phrase(at, keys, written, known) ?: (1 to keys[at])
            val key = if (size > 1) known.usual(said) else said
            val spans = tokens.subList(at, at + size)
            isQuoted = isQuoted != (key in QUOTES)
            val parts = if (known.values(key).isNotEmpty()) listOf(key to (spans[0].first to spans.last().second)) else parts(key, spans)
            for ((part, span) in parts) {
                val (start, end) = span
                out.add(Word(source.substring(start, end), part, start, end, if (isQuoted) emptyMap() else known.values(part)))
            }
            at += size
        }
        return out
    }

    /** The one of [languages] that has most words of a wish in [text] ("senza", "na de"); "" without such. */
    fun languageOfWishes(text: String, languages: Collection<String>): String {
        val source = PyText.joined(text)
        val wishes = languages.associateWith { wishes(source, it) }
        val most = wishes.values.maxOrNull() ?: 0
        val best = wishes.filterValues { it == most }.keys
        return if (most > 0 && (best.size == 1 || ' ' !in source)) best.first() else ""
    }

    private fun wishes(source: String, language: String): Int {
        val said = words(source, language).filter { word -> listed("wishes").any { word.has(it) } }
        return said.map { it.text.lowercase() }.count { it !in listed("english_too") && of("").values(it).isEmpty() }
    }

    private fun phrase(at: Int, keys: List<String>, written: List<String>, known: Known): Pair<Int, String>? {
        for (size in minOf(LONGEST, keys.size - at) downTo 2) for (words in listOf(keys, written)) {
            val phrase = words.subList(at, at + size).joinToString(" ")
            val isGoal = phrase.startsWith("nach ") && at > 0 && GOAL.matcher(written[at - 1]).find()
            if ("phrase" in known.values(phrase) && !isGoal) return size to phrase
        }
        return null
    }

    /** The characters of a word, or of an article before an apostrophe and its word. */
    private fun spans(word: String, start: Int, known: Known): List<Pair<Int, Int>> {
        val text = word.lowercase().replace('’', '\'')
        val cut = text.indexOf('\'') + 1
        val isOwn = "spelling" in known.values(text) || "spelling" !in known.values(text.take(cut))
        return if (isOwn) listOf(start to start + word.length) else listOf(start to start + cut, start + cut to start + word.length)
    }

    /** English words with the characters that say them: one each, and the last all that are left. */
    private fun parts(key: String, spans: List<Pair<Int, Int>>): List<Pair<String, Pair<Int, Int>>> {
        val words = key.split(" ", limit = spans.size)
        return words.mapIndexed { at, word -> word to (spans[at].first to (if (at < words.size - 1) spans[at] else spans.last()).second) }
    }

    private fun of(language: String): Known = known.getOrPut(language) { Known(listOf("en", language).distinct().mapNotNull { all.words[it] }) }

    /** English words with their roles, and those of another language as spellings of them. */
    private class Known(languages: List<Map<String, Map<String, String>>>) {
        private val roles = HashMap<String, HashMap<String, String>>()

        init {
            for (language in languages) for ((role, words) in language) for ((word, reading) in words) roles.getOrPut(word) { HashMap() }[role] = reading
        }

        fun values(key: String): Map<String, String> = roles[key].orEmpty()

        fun usual(text: String): String = values(text)["spelling"] ?: text

        /** [text]: in lower case. */
        fun key(text: String): String {
            val usual = usual(text.replace('’', '\''))
            val bare = CONTRACTED.matcher(usual).replaceFirst("")
            return if (bare != usual && ASKING.any { it in values(bare) }) bare else usual
        }
    }

    companion object {
        private val TOKEN = Patterns.of("[^\\W_]+(?:['’/.-][^\\W_]+)*|[^\\s¿¡]")
        private val CONTRACTED = Patterns.of("['’](?:s|d|re|ve)$")
        private val ASKING = listOf("when", "where", "who", "which", "how")
        private val QUOTES = setOf("\"", "'", "“", "”", "‘", "’") // what stands between two of them is quoted, not said
        // German nouns behind which "nach der" says where to, or what for; "Ausflug" is more often followed by a time.
        private val GOAL = Patterns.of("(?:wege?|reisen?|(?<![sp])flug|flüge|fahrt(?:en)?|suchen?|fragen?)$")
        private const val LONGEST = 4 // words of a phrase of the vocabulary
        private const val CLOSING = ",.;:?!)"

        /** The words as they were written, with single spaces where something between them was left out. */
        fun text(words: List<Word>): String {
            val out = StringBuilder()
            var end = 0
            for (word in words) {
                if (out.isNotEmpty() && word.start != end && word.text !in CLOSING) out.append(' ')
                out.append(word.text)
                end = word.end
            }
            return out.toString().trim { it in " ,;:.-" }
        }

        /** The index of the first word with one of [roles], from [start] on; -1 if there is none. */
        fun indexOf(words: List<Word>, vararg roles: String, start: Int = 0): Int = (start until words.size).firstOrNull { words[it].has(*roles) } ?: -1
    }
}

/** [words] without those at both ends that have one of [roles], and without marks there. */
internal fun trimmed(words: List<Word>, vararg roles: String): List<Word> {
    fun isEdge(word: Word) = word.isMark || word.has(*roles)
    return words.dropWhile(::isEdge).dropLastWhile(::isEdge)
}

/** The runs of words between the borders; empty runs are left out. */
internal fun split(words: List<Word>, isBorder: (Word) -> Boolean): List<List<Word>> {
    val runs = arrayListOf(ArrayList<Word>())
    for (word in words) if (isBorder(word)) runs.add(ArrayList()) else runs.last().add(word)
    return runs.filter { it.isNotEmpty() }
}
