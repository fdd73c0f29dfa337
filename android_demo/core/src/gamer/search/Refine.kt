package gamer.search

import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import gamer.common.replaced

/** What the album knows and the model may see: entity names, most fitting first. */
class Context(private val names: List<String> = emptyList()) {
    /** The names that are quoted. What runs to more words than a name has is a sentence that somebody called a name. */
    val known: List<String> = names.map { Refine.clean(it, MAX_NAME + 1) }
        .filter { it.isNotEmpty() && it.codePointCount(0, it.length) <= MAX_NAME && PyText.split(it).size <= MAX_NAME_WORDS }.take(MAX_NAMES)

    val isNothing: Boolean get() = names.isEmpty()

    /** The quotation for the prompt: one line, cleaned and cut; "" when there is nothing to quote. */
    fun notes(): String = if (known.isEmpty()) "" else "<notes>${known.joinToString(", ")}</notes>\n"

    companion object {
        const val MAX_NAMES = 8
        private const val MAX_NAME = 40
        private const val MAX_NAME_WORDS = 4

        /** The names that share a content word with the query ("Tom" → "Tom Miller"). */
        fun fitting(names: List<String>, query: String): Context {
            val words = Refine.contentWords(query)
            return Context(names.filter { name -> Refine.contentWords(name).any { it in words } }.take(MAX_NAMES))
        }
    }
}

/**
 * Layer 2's first half: Q → Q̂. "fast" takes the understood cues and the filler out; "llm" asks the bundle's language model, whose answer is checked:
 * one that drops the query's own content words, or says a word that neither the query nor a name holds, is rejected and the fast one kept.
 */
object Refine {
    val MODES = listOf("off", "fast", "llm")
    private const val MAX_ADDED = 8 // words that a refinement without context may add
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

    /** The query without its cue words (already out of [rest]), its "photos of" and its "that I took"; never empty unless [rest] is. */
    fun fast(rest: String): String {
        val text = SPACE.replaced(TAIL.replaced(FILLER.replaced(rest, ""), " "), " ").trim { it in " ,.;:?!" }
        return text.ifEmpty { rest }
    }

    /** Whether what the cues left of a query names no content ("photos", of "photos from 2019"): every photo is one. */
    fun saysNothing(text: String): Boolean = BARE.replaced(text, "").isEmpty()

    /** Lower-cased words of three letters or more, cut to a stem of five, without the commonest. */
    fun contentWords(text: String): Set<String> = WORD.all(text.lowercase()).filter { it !in COMMON }.map { PyText.head(it, 5) }.toSet()

    /** One line without control characters, angle brackets and braces (every turn marker and quotation of the prompts has them). */
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

    /** What the model said as one line. */
    fun line(said: String): String = SPACE.replaced(said, " ").trim { it in " \"" }

    /** Why [text] is no refinement of [query]; "" when it is one. */
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
