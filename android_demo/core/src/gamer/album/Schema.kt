package gamer.album

import gamer.common.AlbumError
import gamer.common.oneLine
import java.io.File
import java.io.IOException
import java.nio.ByteBuffer

const val APPLICATION_ID = 0x47414D52
const val USER_VERSION = 3

/**
 * Version numbers and header checks of the album file (index/FORMAT.md), and the errors for files that are no
 * albums. Versions 1 and 2 are read through temporary views that add the newer columns, empty.
 */
object Schema {
    private const val MAGIC = "SQLite format 3\u0000"
    private const val LEAF_IN_1 =
        "NOT EXISTS (SELECT 1 FROM main.edges e JOIN main.mentions c ON c.entity = e.child AND c.photo = m.photo WHERE e.parent = m.entity)"
    private val VIEWS_OF_1 = listOf(
        "CREATE TEMP VIEW photos AS SELECT *, NULL AS utc_offset, NULL AS crc FROM main.photos",
        "CREATE TEMP VIEW memories AS SELECT *, NULL AS sharing, NULL AS sensitivity FROM main.memories",
        "CREATE TEMP VIEW vectors AS SELECT *, NULL AS fine FROM main.vectors",
        "CREATE TEMP VIEW entities AS SELECT *, NULL AS same_as, 0 AS split, NULL AS crc FROM main.entities",
        "CREATE TEMP VIEW mentions AS SELECT m.entity, m.photo, $LEAF_IN_1 AS leaf FROM main.mentions m",
        "CREATE TEMP VIEW segments AS SELECT name, version, generation, (SELECT count(*) FROM main.photos) AS rows, sha256, blob FROM main.segments " +
            "WHERE generation = (SELECT CAST(value AS INTEGER) FROM main.meta WHERE key = 'generation')",
        "CREATE TEMP TABLE preferences(kind TEXT, better INTEGER, worse INTEGER)",
        "CREATE TEMP TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER)",
    )

    private val VIEWS_OF_2 = listOf(
        "CREATE TEMP VIEW edges AS SELECT *, '' AS relation FROM main.edges",
        "CREATE TEMP TABLE events(row INTEGER PRIMARY KEY, id TEXT, name TEXT, summary TEXT, place TEXT, starts INTEGER, ends INTEGER, " +
            "edited INTEGER, scale REAL, data BLOB, crc INTEGER)",
        "CREATE TEMP TABLE event_photos(photo INTEGER PRIMARY KEY, event INTEGER)",
    )

    /** A read-only connection that sees one snapshot of the album until it is closed. Raises [AlbumError]. */
    fun openReader(path: File, opener: DatabaseOpener): Database {
        val isOld = checkHeader(path) == 1
        val db = try {
            again { pinned(opener.reader(path), inLog = !isOld) }
        } catch (error: DatabaseError) {
            if (error.kind != DatabaseError.Kind.CANNOT_OPEN && error.kind != DatabaseError.Kind.READ_ONLY) throw damaged(path, error)
            // The folder is read-only, so SQLite cannot create the WAL's shared-memory file in it.
            immutable(path, opener)
        }
        val version = versionOf(db) // checked again, since the WAL may hold a newer header than the file
        if (version !in 1..USER_VERSION) {
            db.close()
            throw AlbumError("$path: album format $version, this program reads up to $USER_VERSION; update the program")
        }
        return db
    }

    /** A second try of what fails for another reason than a file's own: between two looks another connection deleted its journal. */
    private fun <T> again(read: () -> T): T = try {
        read()
    } catch (error: DatabaseError) {
        if (error.kind == DatabaseError.Kind.OTHER) read() else throw error
    }

    private fun immutable(path: File, opener: DatabaseOpener): Database {
        if (File(path.path + "-wal").exists()) {
            throw AlbumError("$path: a log lies beside it and the folder cannot be written; copy both files to a folder that can")
        }
        return try {
            pinned(opener.reader(path, immutable = true), inLog = false)
        } catch (error: DatabaseError) {
            throw damaged(path, error)
        }
    }

    /**
     * [inLog]: whether the album is one of those that are in WAL mode. Android's framework takes a file out of this mode when it
     * opens it first; then this reader's transaction would keep the writer out.
     */
    private fun pinned(db: Database, inLog: Boolean): Database {
        try {
            if (inLog) db.query("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA temp_store=MEMORY")
            db.execute("PRAGMA trusted_schema=0")
            db.execute("SAVEPOINT reader") // a read transaction: Android turns BEGIN into an exclusive one
            db.query("SELECT count(*) FROM main.sqlite_master")
            val version = versionOf(db)
            if (version == 1) VIEWS_OF_1.forEach { db.execute(it) }
            if (version in 1..2) VIEWS_OF_2.forEach { db.execute(it) }
            db.execute("PRAGMA query_only=1")
            return db
        } catch (error: DatabaseError) {
            db.close()
            throw error
        }
    }

    fun versionOf(db: Database): Int = db.query("PRAGMA main.user_version").firstOrNull()?.get(0)?.asInt() ?: 0

    /** The file's version. Raises [AlbumError] with the cause unless its header is that of a readable album. */
    fun checkHeader(path: File): Int {
        if (!path.exists()) throw AlbumError("$path: no such album; build one with `gamer index build`")
        if (!path.isFile) throw AlbumError("$path: not an album (not a file); give a file that `gamer index build` wrote")
        val head = try {
            path.inputStream().use { s -> ByteArray(100).let { it.copyOf(maxOf(0, s.read(it))) } }
        } catch (error: IOException) {
            throw AlbumError("$path: cannot be read (${oneLine(error)}); check the path and its permissions")
        }
        val magic = MAGIC.toByteArray(Charsets.ISO_8859_1)
        if (head.isEmpty() || !head.copyOf(minOf(16, head.size)).contentEquals(magic.copyOf(minOf(16, head.size)))) {
            throw AlbumError("$path: not an album (not an SQLite file); give a file that `gamer index build` wrote")
        }
        if (head.size < 100) throw AlbumError("$path: truncated (${path.length()} bytes); build or copy the album again")
        val fields = ByteBuffer.wrap(head)
        val version = fields.getInt(60)
        val application = fields.getInt(68)
        if (application != APPLICATION_ID) {
            val id = "%08X".format(application)
            throw AlbumError("$path: an SQLite file of another application (id 0x$id); give a file that `gamer index build` wrote")
        }
        if (version > USER_VERSION) throw AlbumError("$path: album format $version, this program reads up to $USER_VERSION; update the program")
        if (version < 1) throw AlbumError("$path: album format $version is not a version that was ever written; build the album again")
        val pageSize = (fields.getShort(16).toInt() and 0xFFFF).let { if (it == 1) 65536 else it }.toLong()
        val pages = fields.getInt(28).toLong() and 0xFFFFFFFFL
        // With a WAL, the header and the file may be between two states.
        if (!File(path.path + "-wal").exists() && path.length() < pageSize * pages) {
            throw AlbumError("$path: truncated (${path.length()} of ${pageSize * pages} bytes); build or copy the album again")
        }
        return version
    }

    fun damaged(path: File, error: Throwable): AlbumError = AlbumError("$path: damaged or unreadable (${oneLine(error)}); build the album again")
}
