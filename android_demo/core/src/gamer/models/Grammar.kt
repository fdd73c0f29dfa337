package gamer.models

import gamer.common.PyText
import gamer.common.RuntimeFailure

/**
 * The texts that a language model may generate, as a nondeterministic automaton over bytes. It is built left
 * to right; [done] ends it. A literal after [spanOf] should not begin with a letter, or the end of a value
 * would be ambiguous.
 */
class Grammar {
    private val next = arrayListOf(HashMap<Int, MutableSet<Int>>())
    private val empty = arrayListOf(HashSet<Int>())
    private var tail = 0
    private var accept = -1

    private fun node(): Int {
        next.add(HashMap())
        empty.add(HashSet())
        return next.size - 1
    }

    private fun path(from: Int, text: String): Int {
        var at = from
        for (byte in text.toByteArray(Charsets.UTF_8)) {
            val node = node()
            next[at].getOrPut(byte.toInt() and 0xFF) { HashSet() }.add(node)
            at = node
        }
        return at
    }

    /** Exactly [text]. */
    fun literal(text: String): Grammar {
        tail = path(tail, text)
        return this
    }

    /** Nothing, or consecutive, complete words of one of [texts], unchanged. */
    fun spanOf(texts: List<String>): Grammar {
        val begin = tail
        val end = node()
        empty[begin].add(end)
        for (text in texts.map { PyText.strip(it) }) {
            val letters = PyText.codePoints(text)
            var at = node()
            for ((place, letter) in letters.withIndex()) {
                val isSpace = letter < 0x10000 && PyText.isSpace(letter.toChar())
                if (!isSpace && boundary(letters, place)) empty[begin].add(at)
                at = path(at, String(Character.toChars(letter)))
                if (!isSpace && boundary(letters, place + 1)) empty[at].add(end)
            }
        }
        tail = end
        return this
    }

    /** Ends the grammar: no text may follow. */
    fun done(): Grammar {
        accept = tail
        return this
    }

    fun start(): Set<Int> = closure(setOf(0))

    /** The state after [bytes]; empty if they are not allowed. */
    fun step(state: Set<Int>, bytes: ByteArray): Set<Int> {
        var at = state
        for (byte in bytes) at = closure(at.flatMap { next[it][byte.toInt() and 0xFF].orEmpty() }.toSet())
        return at
    }

    fun bytesAfter(state: Set<Int>): List<Int> = state.flatMap { next[it].keys }.distinct().sorted()

    fun accepts(state: Set<Int>): Boolean = accept in state

    private fun closure(nodes: Set<Int>): Set<Int> {
        val seen = HashSet(nodes)
        val todo = ArrayList(nodes)
        while (todo.isNotEmpty()) for (node in empty[todo.removeAt(todo.size - 1)]) if (seen.add(node)) todo.add(node)
        return seen
    }

    /**
     * Whether a word may begin or end at a position: anywhere except inside a run of letters of a script that
     * separates its words by spaces.
     */
    private fun boundary(letters: IntArray, place: Int): Boolean =
        place == 0 || place == letters.size || !(spaced(letters[place - 1]) && spaced(letters[place]))

    private fun spaced(letter: Int): Boolean = when (Character.getType(letter).toByte()) {
        Character.UPPERCASE_LETTER, Character.LOWERCASE_LETTER, Character.TITLECASE_LETTER, Character.MODIFIER_LETTER, Character.NON_SPACING_MARK,
        Character.COMBINING_SPACING_MARK, Character.DECIMAL_DIGIT_NUMBER -> true
        else -> false
    }
}

/**
 * The state of one generation under a grammar: [allowed] gives the tokens that may come next, [advance] takes
 * one.
 */
class Constraint(private val grammar: Grammar, private val vocabulary: Vocabulary) {
    private var state = grammar.start()

    /** Whether the text generated so far is complete according to the grammar. */
    val isComplete: Boolean get() = grammar.accepts(state)

    /** Token ids that may come next, ascending; empty if the text is complete and nothing may follow. */
    fun allowed(): List<Int> = vocabulary.allowed(grammar, state)

    fun advance(token: Int) {
        state = grammar.step(state, vocabulary.bytesOf(token) ?: byteArrayOf(-1))
        if (state.isEmpty()) throw RuntimeFailure("token $token is not allowed here: the mask was not applied")
    }
}
