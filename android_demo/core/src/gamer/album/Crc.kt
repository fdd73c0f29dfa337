package gamer.album

import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.zip.CRC32

/**
 * A CRC-32 over all values of a photo or an entity (FORMAT.md, Checksums), so that a flipped bit in a row is
 * detected.
 */
class Crc {
    private val crc = CRC32()

    val value: Long get() = crc.value

    /**
     * Adds each value's bytes, with a letter for its type, so that different lists of values give different
     * bytes.
     */
    fun add(values: Array<out Any?>): Crc {
        for (value in values) one(value)
        return this
    }

    private fun one(value: Any?) {
        when (value) {
            null -> crc.update('n'.code)
            is Long -> number('i', value)
            is Int -> number('i', value.toLong())
            is Double -> number('f', java.lang.Double.doubleToRawLongBits(value))
            is String -> bytes('t', value.toByteArray(Charsets.UTF_8))
            is ByteArray -> bytes('b', value)
            else -> throw ClassCastException("no value of a row: $value")
        }
    }

    private fun number(letter: Char, bits: Long) {
        crc.update(letter.code)
        crc.update(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(bits).array())
    }

    private fun bytes(letter: Char, data: ByteArray) {
        number(letter, data.size.toLong())
        crc.update(data)
    }

    companion object {
        const val ENTITY_COLUMNS = "canonical, name, kind, scale, data"
        private val OF_A_PHOTO = listOf(
            "SELECT id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 FROM photos WHERE row=?",
            "SELECT source, text, sharing, sensitivity FROM memories WHERE photo=? ORDER BY id",
            "SELECT e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity WHERE m.photo=? ORDER BY e.name",
        )
        private const val VECTORS = "SELECT channel, chunk, scale, data, fine FROM vectors WHERE channel=? AND photo=? ORDER BY chunk"

        fun of(vararg values: Any?): Long = Crc().add(values).value

        /** The checksum of the photo in a row. [channels]: the album's, sorted. */
        fun ofPhoto(db: Database, row: Long, channels: List<String>): Long {
            val crc = Crc()
            for (sql in OF_A_PHOTO) db.query(sql, row).forEach { crc.add(it) }
            for (channel in channels) db.query(VECTORS, channel, row).forEach { crc.add(it) }
            return crc.value
        }
    }
}
