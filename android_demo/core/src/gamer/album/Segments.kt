package gamer.album

import gamer.bundle.Hex
import java.security.MessageDigest

/**
 * A segment that matches its hash. [behind]: ascending rows of existing photos for which [blob] is out of
 * date or silent.
 */
class Segment(val blob: ByteArray, val rows: Int, val behind: IntArray)

/**
 * Segments: search structures derived from the rows, stored as blobs with a hash and a generation. A segment
 * whose bytes do not match its hash is treated as missing, and the caller scans the rows.
 */
object Segments {
    const val KDTREE = "kdtree"
    // A segment is rebuilt when more than one in so many of the album's photos are behind.
    const val REBUILD_SHARE = 20
    private const val PIECE = 1 shl 20 // bytes read at a time: an Android cursor holds at most two megabytes

    fun hnswName(channel: String): String = "hnsw:$channel"

    /** The segment, or null if it is missing, damaged or of another version. [photos]: their number now. */
    fun load(db: Database, name: String, version: Int, photos: Int): Segment? {
        val found = db.query("SELECT version, generation, rows, sha256, length(blob), typeof(blob) FROM segments WHERE name=?", name).firstOrNull() ?: return null
        if (found[0] != version.toLong() || found[5] != "blob") return null
        val blob = blob(db, name, found[4].asInt())
        if (sha256(blob) != found[3]) return null
        return Segment(blob, found[2].asInt(), behind(db, found[1].asLong(), found[2].asInt(), photos))
    }

    private fun blob(db: Database, name: String, size: Int): ByteArray {
        val out = ByteArray(size)
        for (at in 0 until size step PIECE) {
            val piece = db.query("SELECT substr(blob, ?, ?) FROM segments WHERE name=?", at + 1L, PIECE.toLong(), name)[0][0].asBytes()
            piece.copyInto(out, at)
        }
        return out
    }

    fun behind(db: Database, generation: Long, rows: Int, photos: Int): IntArray {
        val changed = db.query("SELECT photo FROM changes WHERE generation > ? AND photo < ? ORDER BY photo", generation, minOf(rows, photos).toLong())
        return (changed.map { it[0].asInt() } + (rows until photos)).toIntArray()
    }

    /** Whether a segment is missing, or so far behind that scanning the rest costs more than a rebuild. */
    fun isDue(db: Database, name: String, photos: Int): Boolean {
        val found = db.query("SELECT generation, rows FROM segments WHERE name=?", name).firstOrNull() ?: return true
        val gone = maxOf(0, found[1].asInt() - photos)
        return (gone + behind(db, found[0].asLong(), found[1].asInt(), photos).size) * REBUILD_SHARE > photos
    }

    fun store(db: Database, name: String, version: Int, generation: Long, rows: Int, blob: ByteArray) = db.execute(
        "INSERT OR REPLACE INTO segments(name, version, generation, rows, sha256, blob) VALUES(?,?,?,?,?,?)",
        name, version.toLong(), generation, rows.toLong(), sha256(blob), blob,
    )

    /** A line for every segment that a reader would ignore. */
    fun problems(db: Database, generation: Long): List<String> {
        val out = ArrayList<String>()
        for (found in db.query("SELECT name, generation, rows, sha256, length(blob), typeof(blob) FROM segments ORDER BY name")) {
            val (name, built, rows) = found
            if (built !is Long || rows !is Long || built !in 0..generation || rows < 0) {
                out.add("segment $name: says generation $built, $rows photos; the album is at generation $generation")
            }
            if (found[5] != "blob" || sha256(blob(db, name.asText(), found[4].asInt())) != found[3]) out.add("segment $name: bytes do not match their hash")
        }
        return out
    }

    private fun sha256(blob: ByteArray): String = Hex.of(MessageDigest.getInstance("SHA-256").digest(blob))
}
