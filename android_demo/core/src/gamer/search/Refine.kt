package gamer.search

import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import gamer.common.replaced

/** What the language model is shown of the album: entity names, best match first. */
class Context(private val names: List<String> = emptyList()) {
    /**
     * The names that are quoted: the first [MAX_NAMES] that are short enough. Text with more words than
     * MAX_NAME_WORDS is taken for a sentence that was entered as a name.
     */
    val known: List<String> = names.map { Refine.clean(it, MAX_NAME + 1) }
        .filter { it.isNotEmpty() && it.codePointCount(0, it.length) <= MAX_NAME && PyText.split(it).size <= MAX_NAME_WORDS }.take(MAX_NAMES)

    val isNothing: Boolean get() = names.isEmpty()

    /** The notes for the prompt: one line, cleaned and truncated; "" if there is nothing to quote. */
    fun notes(): String = if (known.isEmpty()) "" else "<notes>${known.joinToString(", ")}</notes>\n"

    companion object {
        const val MAX_NAMES = 8
        private const val MAX_NAME = 40
        private const val MAX_NAME_WORDS = 4

        /**
         * The context for a query: the entity names that share a content word with it ("Tom" → "Tom Miller").
         */
        fun fitting(names: List<String>, query: String): Context {
            val words = Refine.contentWords(query)
            return Context(names.filter { name -> Refine.contentWords(name).any { it in words } }.take(MAX_NAMES))
        }
    }
}

/**
 * Refines a query: Q → Q̂, the first half of layer 2. "fast" removes the understood cues and filler words;
 * "llm" asks the bundle's language model. Its answer is checked: it is rejected, and the fast refinement
 * used, if it drops content words of the query or adds a word that neither the query nor a name contains.
 */
object Refine {
    val MODES = listOf("off", "fast", "llm")
    private const val MAX_ADDED = 8 // words that a refinement without context may add
    private val REQUEST = Patterns.of(
        "^\\s*((please|hey|hi|ok|okay)[\\s,]{1,3}){0,2}((can|could|would|will)\\s+(you|i|we)\\s+(please\\s+)?)?" +
            "((show|find|get|give|bring|fetch)\\s+(me|us)\\s+|(find|see|show)\\s+(?=(a|an|the|my|our|any|all|some|that|photos|pictures|pics|images)\\s)|" +
            "(i'm|i\\s+am)\\s+(looking|searching)\\s+for\\s+|search\\s+for\\s+(?=(a|an|the|my|our|any|all|photos|pictures)\\s)|" +
            "i\\s+want\\s+to\\s+see\\s+)",
        ignoreCase = true,
    )
    private val COMMA_PLEASE = Patterns.of("\\s{0,3},\\s{0,3}(please|thanks|thank\\s{1,3}you)[\\s.!?]{0,5}$", ignoreCase = true)
    private val PLEASE = Patterns.of("[\\s,]{1,3}(please|thanks|thank\\s{1,3}you)[\\s.!?]{0,5}$", ignoreCase = true)
    private val FILLER = Patterns.of(
        "^\\s*(please\\s+)?((show|find|get|give)\\s+(me\\s+)?)?((the|a|an|my|some|all)\\s+)*" +
            "(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)\\s+((of|with|from|where|when|that|which|showing)\\s+)*",
        ignoreCase = true,
    )
    private val BARE = Patterns.of(
        "^\\s*((the|a|an|my|our|some|all)\\s+)*(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)(\\s+(of|with|from|in|at|on))*\\s*$",
        ignoreCase = true,
    )
    private val TAIL = Patterns.of("\\b(that|which)?\\s*(i|we)\\s+(took|photographed|shot|snapped|captured|made)\\b", ignoreCase = true)
    private val SPACE = Patterns.of("\\s+")
    private val WORD = Patterns.of("\\w{3,}")
    private val COMMON = (
        "the and for with from that this photo picture image photos pictures last time show find where when was were are our his her"
        ).split(' ').toSet()

    /**
     * The query without filler ("photos of", "that I took"); empty only if [rest] is. [rest]: the query
     * without its cue words.
     */
    fun fast(rest: String): String {
        val wanted = REQUEST.replaced(rest, "")
        val asked = FILLER.replaced((if (wanted == rest) COMMA_PLEASE else PLEASE).replaced(wanted, ""), "")
        val text = SPACE.replaced(TAIL.replaced(asked, " "), " ").trim { it in " ,.;:?!" }
        return text.ifEmpty { rest }
    }

    /** Whether [text], a query without its cues, names no content, such as "photos" of "photos from 2019". */
    fun saysNothing(text: String): Boolean = BARE.replaced(text, "").isEmpty()

    /** Lower-cased words of at least three letters, cut to a stem of five, without the commonest. */
    fun contentWords(text: String): Set<String> = WORD.all(text.lowercase()).filter { it !in COMMON }.map { PyText.head(it, 5) }.toSet()

    /**
     * The text as one line of at most [limit] characters, without control characters, <, >, { and }. Every
     * turn marker and quotation of the prompts contains one of these.
     */
    fun clean(text: String, limit: Int): String {
        val out = StringBuilder()
        for (cp in PyText.codePoints(PyText.head(text, 4 * limit))) {
            if ((cp < 0x80 && cp.toChar() in "<>{}") || isSeparator(cp)) out.append(' ') else out.appendCodePoint(cp)
        }
        return PyText.strip(PyText.head(PyText.strip(SPACE.replaced(out.toString(), " ")), limit))
    }

    /** Unicode's categories C and Z. */
    private fun isSeparator(cp: Int): Boolean = when (Character.getType(cp).toByte()) {
        Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE, Character.UNASSIGNED,
        Character.SPACE_SEPARATOR, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> true
        else -> false
    }

    /** The model's answer as one line. */
    fun line(said: String): String = SPACE.replaced(said, " ").trim { it in " \"" }

    /** Why [text] is not acceptable as a refinement of [query]; "" if it is. */
    fun objection(text: String, query: String, plain: String, context: Context): String {
        val letters = PyText.codePoints(text)
        if (letters.isEmpty() || letters.size > 200 || !letters.all { PyText.isPrintable(it) }) return "no short line of text"
        val said = contentWords(text)
        val lost = contentWords(plain) - said
        if (lost.isNotEmpty()) return "${PyText.repr(text)} drops ${lost.sorted().joinToString(", ")}"
        val added = said - contentWords(query)
        if (context.isNothing) return if (added.size > MAX_ADDED) "${PyText.repr(text)} adds ${added.size} words" else ""
        val strange = added - contentWords(context.known.joinToString(" "))
        return if (strange.isEmpty()) "" else "${PyText.repr(text)} adds ${strange.sorted().joinToString(", ")}, which neither the query nor a name says"
    }
}
