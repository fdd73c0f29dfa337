package gamer.tokens

/**
 * GPT-2's letters for the 256 bytes: printable Latin-1 characters are used as they are, the other bytes are
 * numbered from U+0100 on (openai/gpt-2 encoder.py).
 */
object ByteAlphabet {
    private val letterOf = CharArray(256)
    private val byteOf = HashMap<Char, Int>()

    init {
        var next = 256
        for (b in 0..255) {
            val plain = b in 33..126 || b in 0xA1..0xAC || b in 0xAE..0xFF
            letterOf[b] = if (plain) b.toChar() else (next++).toChar()
            byteOf[letterOf[b]] = b
        }
    }

    fun letters(text: String): String {
        val bytes = text.toByteArray(Charsets.UTF_8)
        return String(CharArray(bytes.size) { letterOf[bytes[it].toInt() and 0xFF] })
    }

    /** The bytes of [letters], or null if a character is not in the alphabet. */
    fun bytes(letters: String): ByteArray? {
        val out = ByteArray(letters.length)
        for (i in letters.indices) out[i] = (byteOf[letters[i]] ?: return null).toByte()
        return out
    }

    /** Letters → text. Characters outside the alphabet are kept: they come from an added token. */
    fun text(letters: String): String {
        val out = java.io.ByteArrayOutputStream(letters.length)
        for (cp in gamer.common.PyText.codePoints(letters)) {
            val b = if (cp < 0x10000) byteOf[cp.toChar()] else null
            if (b != null) out.write(b) else out.write(String(Character.toChars(cp)).toByteArray(Charsets.UTF_8))
        }
        return String(out.toByteArray(), Charsets.UTF_8)
    }
}
