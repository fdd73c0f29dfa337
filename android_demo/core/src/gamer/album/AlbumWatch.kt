package gamer.album

import gamer.common.AlbumError
import java.io.File
import java.io.IOException
import java.nio.file.Files
import java.nio.file.attribute.BasicFileAttributes

/** Tells whether an album changed, without reading it: by SQLite's count of other connections' commits. Not thread-safe. */
class AlbumWatch(private val path: File, private val opener: DatabaseOpener) : AutoCloseable {
    private var db: Database? = null
    private var file: Any? = null

    /** Equal to an earlier result if nothing was committed since; null where that cannot be known. */
    fun version(): Any? = try {
        val now = identity(path)
        if (now == null || now != file) close() // another file has the album's name
        file = now
        val open = db ?: opened()
        open.query("PRAGMA data_version")[0][0]?.let { now to it }.takeIf { now != null }
    } catch (error: DatabaseError) {
        close()
        null
    } catch (error: AlbumError) { // opening the album will say what is wrong with it
        null
    }

    /** In WAL mode, as readers use an album: a later change of the mode by one of them would count as a commit. */
    private fun opened(): Database {
        val inLog = Schema.checkHeader(path) != 1
        return opener.reader(path).also { db = it; if (inLog) it.query("PRAGMA journal_mode=WAL") }
    }

    override fun close() {
        db?.close()
        db = null
    }

    companion object {
        /** What tells a file from another one of the same name (device and inode); null where there is none. */
        internal fun identity(file: File): Any? = try {
            Files.readAttributes(file.toPath(), BasicFileAttributes::class.java).fileKey()
        } catch (error: IOException) {
            null
        }
    }
}
