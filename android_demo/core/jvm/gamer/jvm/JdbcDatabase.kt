package gamer.jvm

import gamer.album.Database
import gamer.album.DatabaseError
import gamer.album.DatabaseOpener
import java.io.File
import java.sql.Connection
import java.sql.DriverManager
import java.sql.PreparedStatement
import java.sql.SQLException
import java.sql.Types
import java.util.Properties

/** The core's database interface, implemented with xerial's JDBC driver for SQLite. Compiled statements are kept, as Android does. */
class JdbcDatabase private constructor(private val connection: Connection) : Database {
    private val kept = object : LinkedHashMap<String, PreparedStatement>(64, 0.75f, true) {
        override fun removeEldestEntry(eldest: Map.Entry<String, PreparedStatement>): Boolean = (size > KEPT).also { if (it) eldest.value.close() }
    }

    override fun query(sql: String, vararg values: Any?): List<Array<Any?>> = translated {
        synchronized(kept) {
            val statement = kept.getOrPut(sql) { connection.prepareStatement(sql) }
            bind(statement, values)
            if (!statement.execute()) return@synchronized emptyList() // a pragma without a result
            statement.resultSet.use { found ->
                val columns = found.metaData.columnCount
                val out = ArrayList<Array<Any?>>()
                while (found.next()) out.add(Array(columns) { typed(found.getObject(it + 1)) })
                out
            }
        }
    }

    override fun execute(sql: String, vararg values: Any?) = translated {
        connection.prepareStatement(sql).use { statement ->
            bind(statement, values)
            statement.execute()
            Unit
        }
    }

    override fun close() = translated {
        kept.values.forEach { it.close() }
        connection.close()
    }

    private fun bind(statement: PreparedStatement, values: Array<out Any?>) {
        for ((at, value) in values.withIndex()) when (value) {
            null -> statement.setNull(at + 1, Types.NULL)
            is Long -> statement.setLong(at + 1, value)
            is Double -> statement.setDouble(at + 1, value)
            is String -> statement.setString(at + 1, value)
            is ByteArray -> statement.setBytes(at + 1, value)
            else -> throw IllegalArgumentException("no value of SQLite: $value")
        }
    }

    private fun typed(value: Any?): Any? = when (value) {
        is Int -> value.toLong()
        is Float -> value.toDouble()
        else -> value
    }

    companion object : DatabaseOpener {
        private const val BUSY_MS = "10000"
        private const val KEPT = 25 // statements

        override fun reader(path: File, immutable: Boolean): Database =
            open(if (immutable) "jdbc:sqlite:${path.absoluteFile.toURI()}?immutable=1" else "jdbc:sqlite:${path.path}", readOnly = immutable, create = false)

        override fun writer(path: File, create: Boolean): Database = open("jdbc:sqlite:${path.path}", readOnly = false, create = create)

        private fun open(url: String, readOnly: Boolean, create: Boolean): Database = translated {
            val options = Properties()
            // The flags of sqlite3.h: SQLITE_OPEN_URI is 64, READONLY 1, READWRITE 2, CREATE 4.
            options["open_mode"] = (64 + if (readOnly) 1 else if (create) 6 else 2).toString()
            options["busy_timeout"] = BUSY_MS
            JdbcDatabase(DriverManager.getConnection(url, options))
        }

        private fun <T> translated(work: () -> T): T = try {
            work()
        } catch (error: SQLException) {
            val kind = when (error.errorCode and 0xFF) { // primary result codes of sqlite3.h
                5, 6 -> DatabaseError.Kind.BUSY
                8 -> DatabaseError.Kind.READ_ONLY
                14 -> DatabaseError.Kind.CANNOT_OPEN
                19 -> DatabaseError.Kind.CONSTRAINT
                11, 26 -> DatabaseError.Kind.CORRUPT
                13 -> DatabaseError.Kind.FULL
                else -> DatabaseError.Kind.OTHER
            }
            throw DatabaseError(error.message ?: "SQLite error ${error.errorCode}", kind)
        }
    }
}
