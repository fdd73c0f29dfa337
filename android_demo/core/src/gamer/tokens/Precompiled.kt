package gamer.tokens

import gamer.common.PyText
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Base64
import java.util.regex.Pattern

/**
 * SentencePiece's map of characters: a double-array trie (Darts) from UTF-8 bytes to places in a list of
 * replacements. A character with its marks is looked up as one if it has fewer than six bytes, then each of its
 * characters.
 */
internal class Precompiled(map: ByteArray) : Normalizer {
    private val units: IntArray
    private val replacements: ByteArray

    init {
        val size = if (map.size >= 4) ByteBuffer.wrap(map).order(ByteOrder.LITTLE_ENDIAN).int else 0
        if (size < 4 || size % 4 != 0 || size > map.size - 4) throw UnknownPart("a map of characters that is damaged")
        units = IntArray(size / 4)
        ByteBuffer.wrap(map, 4, size).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(units)
        replacements = map.copyOfRange(4 + size, map.size)
    }

    override fun apply(text: String): String {
        val out = StringBuilder(text.length + 8)
        val m = GRAPHEME.matcher(text)
        while (m.find()) {
            val grapheme = m.group()
            val whole = if (grapheme.toByteArray().size < MOST_BYTES) replacement(grapheme) else null
            if (whole != null) out.append(whole)
            else for (cp in PyText.codePoints(grapheme)) String(Character.toChars(cp)).let { out.append(replacement(it) ?: it) }
        }
        return out.toString()
    }

    /** What the shortest known beginning of [text] is replaced by; null if none is known. */
    private fun replacement(text: String): String? {
        var node = offset(units[0])
        for (byte in text.toByteArray()) {
            if (byte.toInt() == 0) return null
            node = node xor (byte.toInt() and 255)
            val unit = units.getOrNull(node) ?: return null
            if (unit and LABEL != byte.toInt() and 255) return null
            node = node xor offset(unit)
            if (unit ushr 8 and 1 == 1) return replacementAt((units.getOrNull(node) ?: return null) and Int.MAX_VALUE)
        }
        return null
    }

    private fun replacementAt(begin: Int): String? {
        if (begin > replacements.size) return null
        var end = begin
        while (end < replacements.size && replacements[end].toInt() != 0) end++
        return String(replacements, begin, end - begin)
    }

    private fun offset(unit: Int): Int = (unit ushr 10) shl (unit and (1 shl 9) ushr 6)

    companion object {
        private const val MOST_BYTES = 6
        private const val LABEL = (1 shl 31) or 0xFF
        private val GRAPHEME: Pattern = Pattern.compile("\\X", Pattern.DOTALL)

        fun read(base64: String): Precompiled = try {
            Precompiled(Base64.getDecoder().decode(base64))
        } catch (error: IllegalArgumentException) {
            throw UnknownPart("a map of characters that is not base64")
        }
    }
}

/** SentencePiece's "nmt" rules: some control characters are dropped, others and odd spaces become a space. */
internal fun nmt(text: String): String {
    val out = StringBuilder(text.length)
    for (cp in PyText.codePoints(text)) when (cp) {
        in 1..8, 0xB, in 0xE..0x1F, 0x7F, 0x8F, 0x9F -> {}
        9, 0xA, 0xC, 0xD, 0x1680, in 0x200B..0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD -> out.append(' ')
        else -> out.appendCodePoint(cp)
    }
    return out.toString()
}

/** Writes spaces as [mark], with one before the text, and cuts before each if [cuts]. */
internal class Metaspace(private val mark: String, private val prepends: Boolean, private val cuts: Boolean) : Splitter {
    override fun split(text: String): List<String> {
        if (text.isEmpty()) return emptyList()
        val marked = text.replace(" ", mark).let { if (prepends && !it.startsWith(mark)) mark + it else it }
        if (!cuts) return listOf(marked)
        val out = ArrayList<String>()
        var begin = 0
        while (begin < marked.length) {
            val end = marked.indexOf(mark, begin + if (marked.startsWith(mark, begin)) mark.length else 0).let { if (it < 0) marked.length else it }
            out.add(marked.substring(begin, end))
            begin = end
        }
        return out
    }
}
