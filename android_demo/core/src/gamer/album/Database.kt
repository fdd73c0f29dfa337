package gamer.album

import java.io.File

/**
 * One SQLite connection, with the calls that this core needs. Values are `Long`, `Double`, `String`,
 * `ByteArray` or null, both ways; implementations bind them by type (a `Long` is never bound as text).
 * Android uses android.database.sqlite, the JVM uses JDBC.
 */
interface Database : AutoCloseable {
    /** All rows of a query. Raises [DatabaseError]. */
    fun query(sql: String, vararg values: Any?): List<Array<Any?>>

    /** Runs one statement whose result is not used. Raises [DatabaseError]. */
    fun execute(sql: String, vararg values: Any?)

    override fun close()
}

/** An error of SQLite; [kind] is its cause, as far as callers distinguish them. */
class DatabaseError(message: String, val kind: Kind = Kind.OTHER) : RuntimeException(message) {
    enum class Kind { BUSY, READ_ONLY, CANNOT_OPEN, CONSTRAINT, CORRUPT, FULL, OTHER }
}

/**
 * Opens connections. [immutable]: the file and its folder cannot change while it is open (SQLite's
 * `immutable=1`).
 */
interface DatabaseOpener {
    /**
     * Opens a file for reading. The connection must see the WAL (`-wal`) beside the file, so the folder
     * should be writable unless [immutable].
     */
    fun reader(path: File, immutable: Boolean = false): Database

    /**
     * Opens a file for writing, and creates it if it is missing and [create] is set. Waits some seconds for
     * another writer.
     */
    fun writer(path: File, create: Boolean = false): Database
}

internal fun Any?.asLong(): Long = this as? Long ?: throw ClassCastException("an integer is wanted, not $this")

internal fun Any?.asInt(): Int = Math.toIntExact(asLong())

internal fun Any?.asReal(): Double = when (this) {
    is Double -> this
    is Long -> toDouble()
    else -> throw ClassCastException("a number is wanted, not $this")
}

internal fun Any?.asText(): String = this as? String ?: throw ClassCastException("a text is wanted, not $this")

internal fun Any?.asBytes(): ByteArray = this as? ByteArray ?: throw ClassCastException("bytes are wanted, not $this")
