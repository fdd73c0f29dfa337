package gamer.common

/**
 * A text with one `Char` for each character, so that offsets equal those of the Python reference. Characters
 * beyond the 16-bit plane (emoji, rare letters) are replaced by characters that the text does not contain;
 * [original] restores them.
 */
class Letters private constructor(val text: String, private val real: Map<Char, Int>) {
    /** [some], a piece of [text], with the replaced characters restored. */
    fun original(some: String): String {
        if (real.isEmpty()) return some
        val out = StringBuilder(some.length + 8)
        for (c in some) real[c]?.let { out.appendCodePoint(it) } ?: out.append(c)
        return out.toString()
    }

    companion object {
        fun of(source: String): Letters {
            if (source.none { Character.isSurrogate(it) }) return Letters(source, emptyMap())
            val real = LinkedHashMap<Char, Int>()
            val standIn = HashMap<Int, Char>()
            val held = source.toSet()
            var letter = 0x3400 // rarely written CJK letters, without case
            var other = 0xE000 // private use: neither letter nor space
            val out = StringBuilder()
            for (cp in PyText.codePoints(source)) {
                if (cp < 0x10000) {
                    out.append(cp.toChar())
                    continue
                }
                out.append(standIn.getOrPut(cp) {
                    val isLetter = Character.isLetter(cp)
                    var c: Char
                    do c = (if (isLetter) letter++ else other++).toChar() while (c in held)
                    real[c] = cp
                    c
                })
            }
            return Letters(out.toString(), real)
        }
    }
}
