package gamer.album

import gamer.common.AlbumError
import java.io.File

/** Reads an album's tables into arrays and data classes: meta, points, vectors, links, photos. */
internal object Loader {
    const val PHOTO_COLUMNS = "row, id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256"
    private const val POINT = "SELECT lat_e7, lon_e7, taken_at, coalesce(utc_offset, 0) FROM photos"
    private val META_KEYS = listOf("text_encoder", "image_encoder", "dim", "delta")

    fun meta(db: Database, path: File): AlbumMeta {
        val found = db.query("SELECT key, value FROM meta").associate { it[0].toString() to it[1].toString() }
        for (key in META_KEYS) if (key !in found) throw AlbumError("$path: the meta table lacks or spoils '$key'; build the album again")
        if ("crc" in found && found["crc"]!!.toLongOrNull() != metaCrc(found)) {
            throw AlbumError("$path: the meta table is damaged (its checksum differs); build the album again")
        }
        val dim = found.getValue("dim").toIntOrNull()
        val delta = found.getValue("delta").toDoubleOrNull()
        if (dim == null || delta == null) throw AlbumError("$path: the meta table lacks or spoils a number; build the album again")
        return AlbumMeta(found.getValue("text_encoder"), found.getValue("image_encoder"), dim, delta)
    }

    fun metaCrc(found: Map<String, String>): Long = Crc.of(*META_KEYS.map { found.getValue(it) }.toTypedArray())

    fun generation(db: Database): Long = db.query("SELECT value FROM meta WHERE key='generation'").firstOrNull()?.get(0)?.toString()?.toLong() ?: 0

    /** The last row + 1, since rows are 0..n-1. */
    fun photoCount(db: Database): Int {
        val count = db.query("SELECT coalesce(max(row), -1) + 1 FROM photos")[0][0].asLong()
        val pages = db.query("PRAGMA page_count")[0][0].asLong() * db.query("PRAGMA page_size")[0][0].asLong()
        // A damaged row number must not allocate all memory.
        if (count !in 0..pages) throw ClassCastException("a photo in row ${count - 1}")
        return Math.toIntExact(count)
    }

    /** (lat_e7, lon_e7, wall time ms) of each row, [Space.LOWEST] where unknown. */
    fun points(db: Database): Array<LongArray> {
        val found = db.query("$POINT ORDER BY row").map { onTheWall(it) }
        if (found.size != photoCount(db)) throw ClassCastException("photo rows are not 0..n-1")
        return found.toTypedArray()
    }

    /** As [points], of the given rows only, in their order. */
    fun pointsOf(db: Database, rows: IntArray): Array<LongArray> = Array(rows.size) { at ->
        onTheWall(db.query("$POINT WHERE row=?", rows[at].toLong()).firstOrNull() ?: throw ClassCastException("photo rows are not 0..n-1"))
    }

    /** Converts the time from UTC to wall time, which is what cues mean. */
    private fun onTheWall(row: Array<Any?>): LongArray {
        val time = if (row[2] == null) Space.LOWEST else row[2].asLong() + 60_000 * row[3].asLong()
        return longArrayOf(if (row[0] == null) Space.LOWEST else row[0].asLong(), if (row[1] == null) Space.LOWEST else row[1].asLong(), time)
    }

    /**
     * Channel → dimensions, sorted by channel. Jumps from channel to channel through the primary key, so that
     * not every vector is read.
     */
    fun channelDims(db: Database): Map<String, Int> {
        val out = LinkedHashMap<String, Int>()
        var found = db.query("SELECT channel, length(data) FROM vectors ORDER BY channel LIMIT 1").firstOrNull()
        while (found != null) {
            out[found[0].asText()] = found[1].asInt()
            found = db.query("SELECT channel, length(data) FROM vectors WHERE channel > ? ORDER BY channel LIMIT 1", found[0]).firstOrNull()
        }
        return out
    }

    fun vectors(db: Database, channel: String, photos: Int): VectorSet? {
        val rows = db.query("SELECT photo, scale, data, fine FROM vectors WHERE channel=? ORDER BY photo, chunk", channel)
        if (rows.isEmpty()) return null
        return vectorSet(rows, "channel '$channel'").also { within(it.owners, photos, "vectors") }
    }

    /** The vectors of all entities that have one; their owners are entity rows. Null if there are none. */
    fun entityVectors(db: Database): NodeVectors? {
        val rows = db.query("SELECT row, scale, data FROM entities WHERE data IS NOT NULL ORDER BY row")
        return if (rows.isEmpty()) null else NodeVectors(vectorSet(rows, "entities"), entityRoots(db))
    }

    private fun vectorSet(rows: List<Array<Any?>>, what: String): VectorSet {
        val dim = rows[0][2].asBytes().size
        val quarters = (dim + 3) / 4
        val hasFine = rows[0].size > 3 && rows.any { it[3] != null }
        val codes = ByteArray(rows.size * dim)
        val fine = if (hasFine) ByteArray(rows.size * quarters) { VectorSet.NO_FINE } else null
        for ((at, row) in rows.withIndex()) {
            val data = row[2].asBytes()
            if (data.size != dim) throw AlbumError("$what: vectors of different lengths; run verify and build the album again")
            data.copyInto(codes, at * dim)
            if (fine == null || row[3] == null) continue
            val digits = row[3].asBytes()
            if (digits.size != quarters) throw ClassCastException("fine digits of different lengths")
            digits.copyInto(fine, at * quarters)
        }
        return VectorSet(dim, codes, FloatArray(rows.size) { rows[it][1].asReal().toFloat() }, IntArray(rows.size) { rows[it][0].asInt() }, fine)
    }

    /** The root entity of each entity row: the row itself unless it was merged. */
    fun entityRoots(db: Database): IntArray {
        val (count, end) = db.query("SELECT count(*), coalesce(max(row), -1) + 1 FROM entities")[0].map { it.asInt() }
        if (count != end) throw ClassCastException("entity rows are not 0..m-1")
        val roots = IntArray(count) { it }
        for (row in db.query("SELECT row, same_as FROM entities WHERE same_as IS NOT NULL")) {
            within(intArrayOf(row[0].asInt(), row[1].asInt()), count, "merged entities")
            roots[row[0].asInt()] = row[1].asInt()
        }
        return IntArray(count) { start ->
            var at = start
            var steps = 0
            while (roots[at] != at) {
                at = roots[at]
                if (++steps > count) throw ClassCastException("entities merged in a circle")
            }
            at
        }
    }

    /** (entity, photo) of each mention, without repeats; merged entities are replaced by their root. */
    fun mentions(db: Database, roots: IntArray, photos: Int): List<IntArray> = shown(db, "SELECT entity, photo FROM mentions", roots, photos)

    /** As [mentions], without the entities that describe another one of the photo. */
    fun hanging(db: Database, roots: IntArray, photos: Int): List<IntArray> =
        shown(db, "SELECT entity, photo FROM mentions WHERE leaf <> ${Leaves.CHILD}", roots, photos)

    private fun shown(db: Database, sql: String, roots: IntArray, photos: Int): List<IntArray> =
        db.query(sql).map { row ->
            val (entity, photo) = row[0].asInt() to row[1].asInt()
            if (entity !in roots.indices || photo !in 0 until photos) throw ClassCastException("mentions links outside the entities or the photos")
            (roots[entity].toLong() shl 32) or photo.toLong()
        }.distinct().map { intArrayOf((it shr 32).toInt(), it.toInt()) }

    /** (parent, child) of each edge, without repeats; merged entities are replaced by their root. */
    fun edges(db: Database, roots: IntArray): List<IntArray> =
        db.query("SELECT parent, child FROM edges").map { row ->
            val (parent, child) = row.map { it.asInt() }
            within(intArrayOf(parent, child), roots.size, "edges links")
            Triple(roots[parent], roots[child], parent == child)
        }.filter { it.third || it.first != it.second }.map { it.first to it.second }.distinct().map { intArrayOf(it.first, it.second) }

    /** The photo of each memory id. Ids start at 1; the number of gaps is bounded. */
    fun memoryOwners(db: Database, photos: Int): IntArray {
        val found = db.query("SELECT id, photo FROM memories ORDER BY id")
        val limit = 16L * (found.size + 1 + photos) + 1024
        val last = found.lastOrNull()?.get(0)?.asLong() ?: 0
        if (last >= limit || (found.isNotEmpty() && found[0][0].asLong() < 0)) throw ClassCastException("memory ids outside 0..${limit - 1}")
        val owner = IntArray(last.toInt() + 1)
        within(IntArray(found.size) { found[it][1].asInt() }, photos, "memories")
        for (row in found) owner[row[0].asInt()] = row[1].asInt()
        return owner
    }

    private fun within(numbers: IntArray, limit: Int, what: String) {
        for (n in numbers) if (n < 0 || n >= limit) throw ClassCastException("$what outside 0..${limit - 1}")
    }

    fun photo(record: Array<Any?>, memories: List<Memory>): Photo {
        val lat = record[6]?.asLong()
        val lon = record[7]?.asLong()
        val placed = lat != null && lon != null
        return Photo(
            record[1].asText(), record[2] as String?, record[3] as Long?, record[4].asText(), if (placed) lat!! / E7 else null,
            if (placed) lon!! / E7 else null, memories, record[8] as String?, record[9] as String?, record[10] as String?, (record[5] as Long?)?.toInt(),
        )
    }

    private const val E7 = 1e7
}
