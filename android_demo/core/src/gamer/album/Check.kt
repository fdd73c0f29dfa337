package gamer.album

import gamer.common.AlbumError
import gamer.common.PyText
import gamer.common.oneLine
import java.io.File

/**
 * Checks an album (index/album/check.py), in the same words as the other programs. Nothing here changes it.
 */
object Check {
    /** Every problem found, one line each; none for a clean album. A damaged file raises nothing: that is the problem. */
    fun problems(path: File, opener: DatabaseOpener): List<String> = readThrough(path) {
        Schema.openReader(path, opener).use { found(it, path) } + words(path, opener)
    }

    private fun readThrough(path: File, read: () -> List<String>): List<String> = try {
        read()
    } catch (error: AlbumError) {
        listOf(unreadable(path, error))
    } catch (error: DatabaseError) {
        listOf(unreadable(path, error))
    } catch (error: ClassCastException) { // flipped bits can be any value
        listOf(unreadable(path, error))
    } catch (error: ArithmeticException) {
        listOf(unreadable(path, error))
    } catch (error: IndexOutOfBoundsException) {
        listOf(unreadable(path, error))
    }

    private fun unreadable(path: File, error: Throwable): String = "$path: cannot be read through (${oneLine(error)})"

    private fun found(db: Database, path: File): List<String> {
        val out = db.query("PRAGMA integrity_check").map { it[0].asText() }.filter { it != "ok" }.toMutableList()
        val isFullText = TextIndex.isFullText(db)
        for ((problem, sql) in Invariants.ALL) {
            if (isFullText || "memories_fts" !in sql) count(db, sql)?.let { out.add("$problem: $it") }
        }
        val meta = Loader.meta(db, path)
        val channels = Loader.channelDims(db)
        for ((channel, dim) in channels) {
            count(db, "SELECT count(*) FROM vectors WHERE channel=? AND length(data)<>?", channel, dim.toLong())
                ?.let { out.add("vectors of channel $channel: $it are not $dim bytes long") }
        }
        for ((table, subject) in listOf("entities" to "entity", "events" to "event")) {
            count(db, "SELECT count(*) FROM $table WHERE length(data)<>?", meta.dim.toLong())
                ?.let { out.add("$subject vectors: $it are not ${meta.dim} bytes long") }
        }
        Loader.entityRoots(db)
        for (kind in listOf("photo", "entity")) if (hasCircle(db, kind)) out.add("preferences between ${kind}s run in a circle")
        if (!isFullText) out += OwnWords.problems(db, Loader.photoCount(db))
        if (Schema.versionOf(db) > 1) out += checksums(db, channels.keys.sorted())
        return out + OptionalTables.problems(db) + Segments.problems(db, Loader.generation(db))
    }

    private fun count(db: Database, sql: String, vararg values: Any?): Long? = db.query(sql, *values)[0][0].asLong().takeIf { it != 0L }

    /**
     * Whether FTS5's table holds the memories' words, by FTS5's own check. It runs as a write, so it is left out where the album
     * cannot be written now.
     */
    private fun words(path: File, opener: DatabaseOpener): List<String> {
        if (!path.canWrite()) return emptyList()
        return try {
            opener.writer(path).use { if (TextIndex.isKept(it)) TextIndex.check(it) }
            emptyList()
        } catch (error: DatabaseError) {
            if (error.kind == DatabaseError.Kind.BUSY || error.kind == DatabaseError.Kind.CANNOT_OPEN) emptyList()
            else listOf("the index of words does not fit the memories")
        }
    }

    /** Drops, again and again, the pairs whose better item is the worse one of no other pair: a circle cannot be dropped. */
    private fun hasCircle(db: Database, kind: String): Boolean {
        var left = db.query("SELECT better, worse FROM preferences WHERE kind=?", kind).map { it[0].asInt() to it[1].asInt() }.toSet()
        while (left.isNotEmpty()) {
            val worse = left.map { it.second }.toSet()
            val rest = left.filter { it.first in worse }.toSet()
            if (rest.size == left.size) return true
            left = rest
        }
        return false
    }

    private fun checksums(db: Database, channels: List<String>): List<String> {
        val out = ArrayList<String>()
        for ((row, id, wanted) in db.query("SELECT row, id, crc FROM photos ORDER BY row")) {
            if (Crc.ofPhoto(db, row.asLong(), channels) != wanted) {
                out.add("photo ${PyText.repr(id.asText())} in row $row: its rows do not match their checksum")
            }
        }
        for (record in db.query("SELECT row, crc, ${Crc.ENTITY_COLUMNS} FROM entities")) {
            if (Crc.of(*record.drop(2).toTypedArray()) != record[1]) out.add("entity ${record[0]}: its row does not match its checksum")
        }
        for ((row, id, wanted) in db.query("SELECT row, id, crc FROM events")) {
            if (EventRows.checksum(db, row.asLong()) != wanted) {
                out.add("event ${PyText.repr(id.asText())} in row $row: its rows do not match their checksum")
            }
        }
        return out
    }
}
