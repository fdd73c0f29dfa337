package gamer.album

import gamer.common.AlbumError
import gamer.common.oneLine
import java.io.File
import java.io.IOException

/**
 * Gives an album the vectors of other encoders, in a copy beside it that takes its place when it is whole
 * (index/album/writing/reencode.py). Rows, memories, labels, merges, preferences and events stay; events have no vectors until a
 * computer makes them.
 */
object Reencoding {
    private const val OF = "renews" // the key in the copy's meta table: of which state of the album it is a copy

    private fun aside(album: File) = File(album.path + ".renewing")

    /**
     * The copy, to be given vectors ([AlbumWriter.renew]): the one that an earlier run left, unless the album has changed
     * since or other encoders are wanted, then a new one. Raises [AlbumError].
     */
    fun open(album: File, meta: AlbumMeta, opener: DatabaseOpener): AlbumWriter {
        AlbumWriter.extend(album, opener).close() // brings an older version up to date
        val lock = WriterLock.take(album, opener)
        try {
            val state = whole(album, opener)
            if (!continues(aside(album), state, meta, opener)) begin(album, state, meta, opener)
        } catch (error: IOException) {
            throw AlbumError("$album: cannot be copied (${oneLine(error)}); check the free space")
        } finally {
            lock.release()
        }
        return AlbumWriter.extend(aside(album), opener)
    }

    /** Puts the copy, which is closed, in the album's place. Readers of the old album keep what they opened. */
    fun publish(album: File, opener: DatabaseOpener) {
        val lock = WriterLock.take(album, opener)
        try {
            whole(album, opener)
            AlbumWriter.durable(aside(album), opener, create = false).use { it.execute("DELETE FROM meta WHERE key=?", OF) }
            // Nothing is in the album's log that is not in its file: under the new file the log would be another's.
            for (suffix in listOf("-wal", "-shm")) File(album.path + suffix).delete()
            if (!aside(album).renameTo(album)) throw AlbumError("$album: cannot be replaced; check the folder's permissions")
        } finally {
            lock.release()
        }
    }

    /** Moves all of the log into the file. Returns what tells the album's state from another one. */
    private fun whole(album: File, opener: DatabaseOpener): String = AlbumWriter.durable(album, opener, create = false).use { db ->
        val (isBusy, logged, moved) = db.query("PRAGMA wal_checkpoint(PASSIVE)")[0]
        if (isBusy != 0L || logged != moved) throw AlbumError("$album: another program reads an older state of it; close it there, then run this again")
        Loader.generation(db).toString()
    }

    private fun continues(aside: File, state: String, meta: AlbumMeta, opener: DatabaseOpener): Boolean = aside.exists() && try {
        AlbumWriter.durable(aside, opener, create = false).use { db ->
            val of = db.query("SELECT value FROM meta WHERE key=?", OF).firstOrNull()?.get(0)
            of == state && Loader.meta(db, aside) == meta
        }
    } catch (error: DatabaseError) {
        false
    } catch (error: AlbumError) {
        false
    }

    private fun begin(album: File, state: String, meta: AlbumMeta, opener: DatabaseOpener) {
        val partial = File(aside(album).path + ".partial")
        AlbumWriter.discard(partial)
        AlbumWriter.discard(aside(album))
        try {
            album.copyTo(partial)
            AlbumWriter.durable(partial, opener, create = false).use { db -> AlbumWriter.transaction(db) { emptied(db, partial, state, meta) } }
            if (!partial.renameTo(aside(album))) throw IOException("no other name")
        } catch (error: Throwable) {
            AlbumWriter.discard(partial)
            throw error
        }
    }

    private fun emptied(db: Database, path: File, state: String, meta: AlbumMeta) {
        for (sql in listOf("DELETE FROM vectors", "DELETE FROM segments", "DELETE FROM changes")) db.execute(sql)
        for (table in listOf("entities", "events")) db.execute("UPDATE $table SET scale=NULL, data=NULL")
        // Every checksum covers vectors, which are gone.
        val rows = RowWriter(db, path, emptyMap())
        for (photo in db.query("SELECT row FROM photos")) rows.seal(photo[0].asLong())
        for (event in db.query("SELECT row FROM events")) EventRows.seal(db, event[0].asLong())
        for (entity in db.query("SELECT row FROM entities")) rows.sealEntity(entity[0].asLong())
        val told = AlbumWriter.told(meta)
        for ((key, value) in told + mapOf("crc" to Loader.metaCrc(told).toString(), OF to state)) db.execute("INSERT OR REPLACE INTO meta VALUES(?,?)", key, value)
    }
}
