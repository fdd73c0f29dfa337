package gamer.tokens

import gamer.common.PyText
import java.util.regex.Pattern

/** Splits a text into the pieces that the model encodes one by one. */
internal fun interface Splitter {
    fun split(text: String): List<String>
}

/** Drops white space; each punctuation mark becomes a piece. */
internal fun bertSplit(text: String): List<String> {
    val out = ArrayList<String>()
    val word = StringBuilder()
    fun end() {
        if (word.isNotEmpty()) out.add(word.toString())
        word.setLength(0)
    }
    for (cp in PyText.codePoints(text)) {
        when {
            isWhite(cp) -> end()
            isPunctuation(cp) -> {
                end()
                out.add(String(Character.toChars(cp)))
            }
            else -> word.appendCodePoint(cp)
        }
    }
    end()
    return out
}

internal fun whiteSplit(text: String): List<String> = text.split(Regex("[${RustRegex.SPACE}]+")).filter { it.isNotEmpty() }

private fun isPunctuation(cp: Int): Boolean {
    if (cp < 0x80) return cp in 33..47 || cp in 58..64 || cp in 91..96 || cp in 123..126
    return when (Character.getType(cp).toByte()) {
        Character.CONNECTOR_PUNCTUATION, Character.DASH_PUNCTUATION, Character.START_PUNCTUATION, Character.END_PUNCTUATION,
        Character.INITIAL_QUOTE_PUNCTUATION, Character.FINAL_QUOTE_PUNCTUATION, Character.OTHER_PUNCTUATION -> true
        else -> false
    }
}

/** The matches of [pattern], the stretches between them, or both, in order. */
internal fun cutAt(text: String, pattern: Pattern, keepBetween: Boolean, keepMatches: Boolean): List<String> {
    val out = ArrayList<String>()
    val m = pattern.matcher(text)
    var last = 0
    while (m.find()) {
        if (m.start() == m.end()) continue
        if (keepBetween && m.start() > last) out.add(text.substring(last, m.start()))
        if (keepMatches) out.add(m.group())
        last = m.end()
    }
    if (keepBetween && last < text.length) out.add(text.substring(last))
    return out
}

/** GPT-2's: words with the space before them, each byte written as a letter of [ByteAlphabet]. */
internal class ByteLevel(private val prefixSpace: Boolean, private val useRegex: Boolean) : Splitter {
    override fun split(text: String): List<String> {
        if (text.isEmpty()) return emptyList()
        val whole = if (prefixSpace && !text.startsWith(" ")) " $text" else text
        val pieces = if (useRegex) cutAt(whole, WORDS, keepBetween = true, keepMatches = true) else listOf(whole)
        return pieces.map { ByteAlphabet.letters(it) }
    }

    private companion object {
        val WORDS: Pattern =
            Pattern.compile(RustRegex.java("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"))
    }
}
