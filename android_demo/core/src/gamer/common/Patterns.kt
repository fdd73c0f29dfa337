package gamer.common

import java.util.regex.Matcher
import java.util.regex.Pattern

/**
 * Python's regular expressions in this platform's syntax. Python's `\w`, `\d`, `\s` and `\b` cover Unicode in
 * their own way, and Java and Android each differ from it, so they are written out as classes.
 */
object Patterns {
    private const val WORD = "\\p{L}\\p{N}_"
    private const val SPACE = "\\t-\\r\\x1C-\\x20\\x85\\xA0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000"
    private const val EDGE = "(?:(?<=[$WORD])(?![$WORD])|(?<![$WORD])(?=[$WORD]))"

    fun of(pattern: String, ignoreCase: Boolean = false): Pattern =
        Pattern.compile(unicode(pattern), Pattern.UNIX_LINES or if (ignoreCase) Pattern.CASE_INSENSITIVE or Pattern.UNICODE_CASE else 0)

    private fun unicode(pattern: String): String {
        val out = StringBuilder()
        var within = false
        var i = 0
        while (i < pattern.length) {
            val c = pattern[i]
            if (pattern.startsWith("[^\\W", i)) {
                val end = pattern.indexOf(']', i)
                out.append(wordsBut(pattern.substring(i + 4, end)))
                i = end + 1
                continue
            }
            if (c == '\\') {
                out.append(escape(pattern[i + 1], within))
                i += 2
                continue
            }
            if (c == '[' && !within) within = true else if (c == '[') out.append('\\') else if (c == ']') within = false
            if (c == '&' && within) out.append('\\')
            out.append(c)
            i++
        }
        return out.toString()
    }

    /** `[^\W…]`: word characters except those in [rest]. */
    private fun wordsBut(rest: String): String {
        val numbers = if ("\\d" in rest) "\\p{Nl}\\p{No}" else "\\p{N}"
        val left = rest.replace("\\d", "")
        val others = left.replace("_", "")
        return "[\\p{L}" + numbers + (if ("_" in left) "" else "_") + (if (others.isEmpty()) "" else "&&[^$others]") + "]"
    }

    private fun escape(c: Char, within: Boolean): String = when (c) {
        'w' -> if (within) WORD else "[$WORD]"
        'W' -> "[^$WORD]"
        's' -> if (within) SPACE else "[$SPACE]"
        'S' -> "[^$SPACE]"
        'd' -> "\\p{Nd}"
        'b' -> EDGE
        else -> "\\$c"
    }
}

/** The match that begins at [at] in [text], or null. */
fun Pattern.matchAt(text: CharSequence, at: Int = 0): Matcher? =
    matcher(text).region(at, text.length).useTransparentBounds(true).useAnchoringBounds(false).takeIf { it.lookingAt() }

fun Pattern.found(text: CharSequence): Matcher? = matcher(text).takeIf { it.find() }

fun Pattern.whole(text: CharSequence): Matcher? = matcher(text).takeIf { it.matches() }

fun Pattern.replaced(text: CharSequence, with: String): String = matcher(text).replaceAll(Matcher.quoteReplacement(with))

/** The texts of all matches. */
fun Pattern.all(text: CharSequence): List<String> {
    val m = matcher(text)
    val out = ArrayList<String>()
    while (m.find()) out.add(m.group())
    return out
}
