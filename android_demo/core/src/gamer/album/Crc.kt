package gamer.album

import java.util.zip.CRC32

/**
 * A CRC-32 over all values of a photo or an entity (FORMAT.md, Checksums), so that a flipped bit in a row is
 * detected.
 */
class Crc {
    private val crc = CRC32()
    private val small = ByteArray(9)

    val value: Long get() = crc.value

    /**
     * Adds each value's bytes, with a letter for its type, so that different lists of values give different
     * bytes.
     */
    fun add(values: Array<out Any?>, from: Int = 0, to: Int = values.size): Crc {
        for (at in from until to) one(values[at])
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
        small[0] = letter.code.toByte()
        for (at in 0..7) small[at + 1] = (bits shr (8 * at)).toByte()
        crc.update(small)
    }

    private fun bytes(letter: Char, data: ByteArray) {
        number(letter, data.size.toLong())
        crc.update(data)
    }

    companion object {
        const val ENTITY_COLUMNS = "canonical, name, kind, scale, data"

        fun of(vararg values: Any?): Long = Crc().add(values).value

        /** The checksum of the photo in a row. [channels]: the album's, sorted. */
        fun ofPhoto(db: Database, row: Long, channels: List<String>): Long = PhotoRecords(db, intArrayOf(Math.toIntExact(row))).checksums(channels).values.single()
    }
}

/** What an album holds of some photos; each table is read once, by statements that name the rows. */
internal class PhotoRecords(private val db: Database, private val rows: IntArray) {
    private val among = "IN (${rows.joinToString(",")})"
    private val own = db.query("SELECT ${Loader.PHOTO_COLUMNS}, crc FROM photos WHERE row $among")
    private val memories = db.query("SELECT photo, source, text, sharing, sensitivity FROM memories WHERE photo $among ORDER BY id")

    /** By row, of the photos that exist: the photo, and its stored checksum, null in an album of version 1. */
    fun photos(): Map<Int, Pair<Photo, Long?>> {
        val said = memories.groupBy({ it[0].asInt() }, { Memory(it[1].asText(), it[2].asText(), it[3] as String?, it[4] as String?) })
        return own.associate { it[0].asInt() to (Loader.photo(it, said[it[0].asInt()] ?: emptyList()) to it[11] as Long?) }
    }

    /** By row, what the checksum must be. [channels]: the album's, sorted. */
    fun checksums(channels: List<String>): Map<Int, Long> {
        val sums = rows.associateWith { Crc() }
        // A damaged index can find a record of another photo.
        fun add(records: List<Array<Any?>>, columns: Int) =
            records.forEach { (sums[it[0].asInt()] ?: throw ClassCastException("a record of a photo that was not asked for")).add(it, 1, columns) }
        add(own, 11)
        add(memories, 5)
        add(db.query("SELECT m.photo, e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity WHERE m.photo $among ORDER BY e.name"), 3)
        for (channel in channels) add(db.query("SELECT photo, channel, chunk, scale, data, fine FROM vectors WHERE channel=? AND photo $among ORDER BY photo, chunk", channel), 6)
        return sums.mapValues { it.value.value }
    }
}
