package gamer.image

import java.io.InputStream

/**
 * Counts the scans of a JPEG, each of which passes over the whole picture: half a megabyte can hold thousands, and
 * Android's decoder has no limit. As in the Python code (index/ingest/pixels.py).
 */
object Scans {
    private const val MOST = 4_000_000_000L // pixels that all scans together may pass over
    private const val LEAST = 65_536L // pixels that a scan counts for at least

    /** Whether a picture of this size may be decoded; always, if [input] is no JPEG. Reads [input] to the picture's end. */
    fun mayBeDecoded(input: InputStream, width: Int, height: Int): Boolean =
        count(input.buffered(1 shl 16), MOST / maxOf(width.toLong() * height, LEAST)) != null

    /** The scans of the first picture of a JPEG, which may be cut short; null for more than [most]. */
    fun count(input: InputStream, most: Long): Long? {
        if (input.read() != 0xFF || input.read() != 0xD8) return 0
        var scans = 0L
        while (true) {
            val kind = marker(input)
            if (kind == null || kind == 0xD9) return scans
            if (kind == 0xDA && ++scans > most) return null
            if (kind != 0x01 && kind != 0xD8) skip(input, ((input.read() shl 8) or input.read()) - 2L)
        }
    }

    /** The next marker, past coded data, in which FF is followed by 00, by the number of a restart, or by another FF. */
    private fun marker(input: InputStream): Int? {
        var last = 0
        while (true) {
            val byte = input.read()
            if (byte < 0) return null
            if (last == 0xFF && byte != 0 && byte != 0xFF && byte !in 0xD0..0xD7) return byte
            last = byte
        }
    }

    private fun skip(input: InputStream, bytes: Long) {
        var left = bytes
        while (left > 0 && input.read() >= 0) left--
    }
}
