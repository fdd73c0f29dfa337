package gamer.tokens

import gamer.common.PyText
import java.text.Normalizer as Unicode

/** Changes a text before it is split. */
internal fun interface Normalizer {
    fun apply(text: String): String
}

/** BERT's normalizer: drops control characters, separates Chinese characters, strips accents, lower-cases. */
internal class BertNormalizer(private val clean: Boolean, private val chinese: Boolean, accents: Boolean?, private val lower: Boolean) : Normalizer {
    private val strip = accents ?: lower

    override fun apply(text: String): String {
        val out = StringBuilder(text.length + 8)
        for (cp in PyText.codePoints(text)) {
            when {
                clean && (cp == 0 || cp == 0xFFFD || isControl(cp)) -> {}
                clean && isWhite(cp) -> out.append(' ')
                chinese && isChinese(cp) -> out.append(' ').appendCodePoint(cp).append(' ')
                else -> out.appendCodePoint(cp)
            }
        }
        var left = out.toString()
        if (strip) left = stripMarks(Unicode.normalize(left, Unicode.Form.NFD))
        return if (lower) PyText.lower(left) else left
    }

    private fun isControl(cp: Int): Boolean = when (cp) {
        9, 10, 13 -> false
        else -> when (Character.getType(cp).toByte()) {
            Character.CONTROL, Character.FORMAT, Character.PRIVATE_USE, Character.SURROGATE -> true
            else -> false
        }
    }

    private fun isChinese(cp: Int): Boolean =
        cp in 0x4E00..0x9FFF || cp in 0x3400..0x4DBF || cp in 0x20000..0x2A6DF || cp in 0x2A700..0x2B73F || cp in 0x2B740..0x2B81F ||
            cp in 0x2B920..0x2CEAF || cp in 0xF900..0xFAFF || cp in 0x2F800..0x2FA1F
}

/** Removes the marks that combine with other letters. */
internal fun stripMarks(text: String): String {
    if (PyText.isAscii(text)) return text
    val out = StringBuilder(text.length)
    for (cp in PyText.codePoints(text)) if (Character.getType(cp) != Character.NON_SPACING_MARK.toInt()) out.appendCodePoint(cp)
    return out.toString()
}

/** The characters of Unicode's White_Space. */
internal fun isWhite(cp: Int): Boolean = when (cp) {
    in 9..13, 32, 0x85, 0xA0, 0x1680, in 0x2000..0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000 -> true
    else -> false
}
