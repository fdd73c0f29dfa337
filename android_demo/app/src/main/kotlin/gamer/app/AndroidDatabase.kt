package gamer.app

import android.database.Cursor
import android.database.CursorWindow
import android.database.sqlite.SQLiteCantOpenDatabaseException
import android.database.sqlite.SQLiteConstraintException
import android.database.sqlite.SQLiteCursor
import android.database.sqlite.SQLiteDatabase
import android.database.sqlite.SQLiteDatabaseCorruptException
import android.database.sqlite.SQLiteDatabaseLockedException
import android.database.sqlite.SQLiteException
import android.database.sqlite.SQLiteFullException
import android.database.sqlite.SQLiteProgram
import android.database.sqlite.SQLiteReadOnlyDatabaseException
import android.os.Build
import gamer.album.Database
import gamer.album.DatabaseError
import gamer.album.DatabaseOpener
import java.io.File

/** The core's database interface, implemented with Android's SQLite. */
class AndroidDatabase private constructor(private val db: SQLiteDatabase) : Database {
    override fun query(sql: String, vararg values: Any?): List<Array<Any?>> = translated {
        val factory = SQLiteDatabase.CursorFactory { _, driver, table, query ->
            bind(query, values)
            SQLiteCursor(driver, table, query)
        }
        db.rawQueryWithFactory(factory, sql, null, "").use { found ->
            widen(found as SQLiteCursor)
            val out = ArrayList<Array<Any?>>()
            while (found.moveToNext()) out.add(Array(found.columnCount) { value(found, it) })
            out
        }
    }

    override fun execute(sql: String, vararg values: Any?): Unit = translated {
        // execSQL refuses statements that return rows, such as pragmas; rawQuery runs a statement only when
        // its rows are read.
        if (sql.trimStart().startsWith("PRAGMA", ignoreCase = true)) {
            query(sql, *values)
        } else {
            db.execSQL(sql, values)
        }
    }

    override fun close() = db.close()

    /**
     * Rows are read through a window, of 2 MB if nobody asks for more, and for each further window the query runs again from its
     * beginning. Of a larger one only what is filled takes memory.
     */
    private fun widen(found: SQLiteCursor) {
        if (Build.VERSION.SDK_INT < 28) return
        // This constructor of CursorWindow is newer than the platform that the app is compiled against.
        found.window = CursorWindow::class.java.getConstructor(String::class.java, Long::class.javaPrimitiveType).newInstance("rows", WINDOW)
    }

    private fun bind(query: SQLiteProgram, values: Array<out Any?>) {
        for ((at, value) in values.withIndex()) when (value) {
            null -> query.bindNull(at + 1)
            is Long -> query.bindLong(at + 1, value)
            is Double -> query.bindDouble(at + 1, value)
            is String -> query.bindString(at + 1, value)
            is ByteArray -> query.bindBlob(at + 1, value)
            else -> throw IllegalArgumentException("no value of SQLite: $value")
        }
    }

    private fun value(found: Cursor, column: Int): Any? = when (found.getType(column)) {
        Cursor.FIELD_TYPE_NULL -> null
        Cursor.FIELD_TYPE_INTEGER -> found.getLong(column)
        Cursor.FIELD_TYPE_FLOAT -> found.getDouble(column)
        Cursor.FIELD_TYPE_BLOB -> found.getBlob(column)
        else -> found.getString(column)
    }

    companion object : DatabaseOpener {
        private const val WINDOW = 32L shl 20 // bytes

        override fun reader(path: File, immutable: Boolean): Database = opened(path, if (immutable) SQLiteDatabase.OPEN_READONLY else SQLiteDatabase.OPEN_READWRITE)

        override fun writer(path: File, create: Boolean): Database =
            opened(path, if (create) SQLiteDatabase.CREATE_IF_NECESSARY or SQLiteDatabase.OPEN_READWRITE else SQLiteDatabase.OPEN_READWRITE)

        /** Without Android's default corruption handler, which deletes the file. */
        private fun opened(path: File, flags: Int): Database = translated {
            AndroidDatabase(SQLiteDatabase.openDatabase(path.path, null, flags or SQLiteDatabase.NO_LOCALIZED_COLLATORS) { })
        }

        private fun <T> translated(run: () -> T): T = try {
            run()
        } catch (error: SQLiteException) {
            throw DatabaseError(error.message ?: error.javaClass.simpleName, kind(error))
        } catch (error: IllegalStateException) { // a transaction that a full disk ended already, or a database that was closed
            throw DatabaseError(error.message ?: error.javaClass.simpleName, DatabaseError.Kind.OTHER)
        }

        private fun kind(error: SQLiteException) = when (error) {
            is SQLiteDatabaseLockedException -> DatabaseError.Kind.BUSY
            is SQLiteReadOnlyDatabaseException -> DatabaseError.Kind.READ_ONLY
            is SQLiteCantOpenDatabaseException -> DatabaseError.Kind.CANNOT_OPEN
            is SQLiteConstraintException -> DatabaseError.Kind.CONSTRAINT
            is SQLiteDatabaseCorruptException -> DatabaseError.Kind.CORRUPT
            is SQLiteFullException -> DatabaseError.Kind.FULL
            else -> DatabaseError.Kind.OTHER
        }
    }
}
