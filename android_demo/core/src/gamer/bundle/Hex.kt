package gamer.bundle

/** Converts bytes to lower-case hexadecimal digits, and back. */
object Hex {
    fun of(bytes: ByteArray): String {
        val out = StringBuilder(bytes.size * 2)
        for (b in bytes) out.append("0123456789abcdef"[(b.toInt() shr 4) and 15]).append("0123456789abcdef"[b.toInt() and 15])
        return out.toString()
    }

    fun bytes(digits: String): ByteArray = ByteArray(digits.length / 2) { digits.substring(2 * it, 2 * it + 2).toInt(16).toByte() }
}
