package gamer.album

import gamer.common.PyText
import java.text.Normalizer

/**
 * SQLite's tokenizer `porter unicode61` (FTS5). Letters, numbers and private-use characters form words, which
 * are lower-cased, stripped of the accents of Latin letters, and stemmed.
 */
internal object Unicode61 {
    private const val MARKS_LOW = 0x08029FDF
    private const val MARKS_HIGH = 0x000361F8

    fun tokens(text: String): List<String> {
        val out = ArrayList<String>()
        val word = StringBuilder()
        var begun = false
        for (cp in PyText.codePoints(text)) {
            if (isToken(cp) || (begun && isMark(cp))) {
                begun = true
                val folded = fold(cp)
                if (folded != 0) word.appendCodePoint(folded)
            } else if (begun) {
                out.add(Porter.stem(word.toString()))
                word.setLength(0)
                begun = false
            }
        }
        if (begun) out.add(Porter.stem(word.toString()))
        return out
    }

    private fun isToken(cp: Int): Boolean = PyText.isAlnum(cp) || Character.getType(cp) == Character.PRIVATE_USE.toInt()

    private fun isMark(cp: Int): Boolean =
        cp in 768..817 && (if (cp < 800) MARKS_LOW and (1 shl (cp - 768)) else MARKS_HIGH and (1 shl (cp - 800))) != 0

    private fun fold(cp: Int): Int {
        if (cp < 0x80) return if (cp in 65..90) cp + 32 else cp
        if (isMark(cp)) return 0
        val lower = Character.toLowerCase(cp)
        if (lower > 0x1EF9) return lower
        val parts = Normalizer.normalize(String(Character.toChars(lower)), Normalizer.Form.NFD)
        return if (parts.length == 2 && parts[0] in 'a'..'z' && Character.getType(parts[1]) == Character.NON_SPACING_MARK.toInt()) parts[0].code else lower
    }
}
