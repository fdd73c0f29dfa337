package gamer.common

import java.math.BigDecimal
import java.math.RoundingMode
import kotlin.math.abs
import kotlin.math.floor

/** Python's rules for text, where this platform's differ: white space, case folding, quoting, decimals. */
object PyText {
    /**
     * White space of `str.isspace` and `str.split`. Unlike Unicode's White_Space it includes U+001C..U+001F.
     */
    fun isSpace(c: Char): Boolean = when (c.code) {
        in 9..13, in 0x1C..0x20, 0x85, 0xA0, 0x1680, in 0x2000..0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000 -> true
        else -> false
    }

    fun split(text: String): List<String> {
        val out = ArrayList<String>()
        var begin = -1
        for (i in text.indices) {
            if (isSpace(text[i])) {
                if (begin >= 0) out.add(text.substring(begin, i))
                begin = -1
            } else if (begin < 0) begin = i
        }
        if (begin >= 0) out.add(text.substring(begin))
        return out
    }

    fun strip(text: String): String = text.trim { isSpace(it) }

    fun joined(text: String): String = split(text).joinToString(" ")

    /** Lower case, letter by letter, without the rule for a sigma at a word's end. */
    fun lower(text: String): String = mapped(text) { lowerOf(it) }

    /** `str.casefold`, to compare texts without case ("Straße" as "strasse"). */
    fun casefold(text: String): String {
        if (isAscii(text)) return lower(text)
        return mapped(text) { if (it == 0x131) "ı" else mapped(upperOf(lowerOf(it))) { u -> lowerOf(u) } }
    }

    fun isAscii(text: String): Boolean = text.all { it.code < 0x80 }

    private fun lowerOf(cp: Int): String =
        if (cp < 0x80) (if (cp in 65..90) (cp + 32).toChar() else cp.toChar()).toString() else String(Character.toChars(cp)).lowercase()

    private fun upperOf(text: String): String = text.uppercase()

    private inline fun mapped(text: String, of: (Int) -> String): String {
        val out = StringBuilder(text.length)
        var i = 0
        while (i < text.length) {
            val cp = text.codePointAt(i)
            out.append(of(cp))
            i += Character.charCount(cp)
        }
        return out.toString()
    }

    /** Letters and numbers of any script (`str.isalnum`). */
    fun isAlnum(cp: Int): Boolean = Character.isLetter(cp) || isNumber(cp)

    fun isNumber(cp: Int): Boolean = when (Character.getType(cp).toByte()) {
        Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER -> true
        else -> false
    }

    /**
     * `str.isprintable` of one character: false for control, format, unassigned and separator characters
     * except the space.
     */
    fun isPrintable(cp: Int): Boolean = when (Character.getType(cp).toByte()) {
        Character.CONTROL, Character.FORMAT, Character.SURROGATE, Character.PRIVATE_USE, Character.UNASSIGNED,
        Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> false
        Character.SPACE_SEPARATOR -> cp == 0x20
        else -> true
    }

    fun codePoints(text: String): IntArray {
        val out = IntArray(text.codePointCount(0, text.length))
        var i = 0
        for (n in out.indices) {
            out[n] = text.codePointAt(i)
            i += Character.charCount(out[n])
        }
        return out
    }

    /** The first [count] characters (code points). */
    fun head(text: String, count: Int): String =
        if (text.length <= count || text.codePointCount(0, text.length) <= count) text else text.substring(0, text.offsetByCodePoints(0, count))

    /** The position [count] characters (code points) before [at], or the text's beginning. */
    fun before(text: String, at: Int, count: Int): Int {
        var i = at
        var left = count
        while (i > 0 && left-- > 0) i -= Character.charCount(text.codePointBefore(i))
        return i
    }

    /** The text in quotation marks with escapes, as Python's `repr` writes it. */
    fun repr(text: String): String {
        val mark = if ('\'' in text && '"' !in text) '"' else '\''
        val out = StringBuilder().append(mark)
        for (cp in codePoints(text)) {
            when {
                cp == mark.code || cp == '\\'.code -> out.append('\\').append(cp.toChar())
                cp == 10 -> out.append("\\n")
                cp == 13 -> out.append("\\r")
                cp == 9 -> out.append("\\t")
                isPrintable(cp) -> out.appendCodePoint(cp)
                cp < 0x100 -> out.append("\\x").append(hex(cp, 2))
                cp < 0x10000 -> out.append("\\u").append(hex(cp, 4))
                else -> out.append("\\U").append(hex(cp, 8))
            }
        }
        return out.append(mark).toString()
    }

    private fun hex(value: Int, width: Int): String = Integer.toHexString(value).padStart(width, '0')

    /** A number with [digits] decimals, as `format(x, ".2f")`: exact halves are rounded to even. */
    fun fixed(value: Double, digits: Int): String {
        val text = BigDecimal(value).setScale(digits, RoundingMode.HALF_EVEN).toPlainString()
        return if (value < 0 && !text.startsWith("-")) "-$text" else text
    }

    /** `round(x, digits)`. */
    fun round(value: Double, digits: Int): Double {
        if (value.isNaN() || value.isInfinite()) return value
        val scaled = value * TENS[digits]
        // Far from the middle between two decimals, and small: the nearest integer is surely right, and exact.
        if (abs(scaled) < 1e9 && abs(scaled - floor(scaled) - 0.5) > 1e-6) return Math.rint(scaled) / TENS[digits] + 0.0 // no -0
        return BigDecimal(value).setScale(digits, RoundingMode.HALF_EVEN).toDouble()
    }

    private val TENS = DoubleArray(10) { "1e$it".toDouble() }
}
