package gamer.tokens

/**
 * Translates the tokenizers' regular expressions (Oniguruma's syntax) to this platform's: their `\s` and `\S`
 * mean Unicode's White_Space.
 */
internal object RustRegex {
    const val SPACE = "\\t-\\r\\x20\\x85\\xA0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000"

    fun java(pattern: String): String {
        val out = StringBuilder()
        var within = 0
        var i = 0
        while (i < pattern.length) {
            val c = pattern[i]
            when {
                c == '\\' && i + 1 < pattern.length -> {
                    out.append(escape(pattern[i + 1], within > 0))
                    i++
                }
                c == '[' -> {
                    within++
                    out.append(c)
                }
                c == ']' -> {
                    within--
                    out.append(c)
                }
                else -> out.append(c)
            }
            i++
        }
        return out.toString()
    }

    private fun escape(c: Char, within: Boolean): String = when (c) {
        's' -> if (within) SPACE else "[$SPACE]"
        'S' -> if (within) throw UnknownPart("\\S inside a class") else "[^$SPACE]"
        'd' -> "\\p{Nd}"
        'w' -> if (within) "\\p{L}\\p{M}\\p{N}\\p{Pc}" else "[\\p{L}\\p{M}\\p{N}\\p{Pc}]"
        else -> "\\$c"
    }
}
