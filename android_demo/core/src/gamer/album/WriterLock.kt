package gamer.album

import gamer.common.AlbumError
import gamer.common.oneLine
import java.io.File

/**
 * The lock that the one writer of an album holds from open to close: SQLite's exclusive lock on `NAME.lock`.
 * The operating system drops it when the process dies, however it dies.
 */
internal class WriterLock private constructor(private val db: Database, private val file: File) {
    private var isHeld = true

    /** Releases the lock; a second call does nothing. */
    fun release() {
        if (!isHeld) return
        isHeld = false
        file.delete()
        db.close()
    }

    companion object {
        fun take(album: File, opener: DatabaseOpener): WriterLock {
            val file = File(album.path + ".lock")
            val db = try {
                opener.writer(file, create = true)
            } catch (error: DatabaseError) {
                throw AlbumError("$album: cannot be written (${oneLine(error)}); check the folder's permissions and the free space")
            }
            val opened = AlbumWatch.identity(file)
            try {
                db.query("PRAGMA busy_timeout=0")
                db.query("PRAGMA journal_mode=MEMORY")
                db.query("PRAGMA locking_mode=EXCLUSIVE")
                // In this locking mode the lock outlives the transaction, so that none is open when the connection is closed:
                // Android's framework ties a transaction to its thread, and would leak the connection.
                db.execute("BEGIN EXCLUSIVE")
                db.execute("COMMIT")
                // The previous writer may have deleted the file after we opened it, and the next one, which locks
                // another file, may have created it again.
                if (!file.exists() || AlbumWatch.identity(file) != opened) throw DatabaseError("taken away", DatabaseError.Kind.BUSY)
            } catch (error: DatabaseError) {
                db.close()
                if (error.kind != DatabaseError.Kind.BUSY) throw AlbumError("$album: cannot be written (${oneLine(error)}); check the folder and the free space")
                throw AlbumError("$album: another program is writing this album; wait until it is done, or stop it")
            }
            return WriterLock(db, file)
        }
    }
}
