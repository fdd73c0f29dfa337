package gamer

import gamer.album.Database
import gamer.album.DatabaseError
import gamer.album.DatabaseOpener
import gamer.jvm.JdbcDatabase
import java.io.File

/** An SQLite that says [answer] before a statement runs, to behave as a phone's does. */
class Driver(private val onOpen: (Database) -> Unit = {}, private val answer: (Database, String) -> Boolean) : DatabaseOpener {
    override fun reader(path: File, immutable: Boolean): Database = Wrapped(JdbcDatabase.reader(path, immutable))

    override fun writer(path: File, create: Boolean): Database = Wrapped(JdbcDatabase.writer(path, create))

    private inner class Wrapped(private val real: Database) : Database {
        init {
            onOpen(real)
        }

        override fun query(sql: String, vararg values: Any?) = if (answer(real, sql)) emptyList() else real.query(sql, *values)

        override fun execute(sql: String, vararg values: Any?) {
            if (!answer(real, sql)) real.execute(sql, *values)
        }

        override fun close() = real.close()
    }

    companion object {
        private val USES = Regex("using fts5|(from|into|table) memories_fts\\b", RegexOption.IGNORE_CASE)

        /** Android's: built without FTS5. */
        val withoutFts5 = Driver { _, sql -> if (USES.containsMatchIn(sql)) throw DatabaseError("no such module: fts5") else false }

        /**
         * Android's framework around a connection: at opening it takes the file out of WAL mode if no other connection is
         * there, and it makes an exclusive transaction of every BEGIN.
         */
        val framework = Driver(
            onOpen = { real ->
                try {
                    real.query("PRAGMA journal_mode=TRUNCATE")
                } catch (error: DatabaseError) {
                    if (error.kind != DatabaseError.Kind.BUSY) throw error
                }
                real.query("PRAGMA busy_timeout=200")
            },
        ) { real, sql -> sql.startsWith("BEGIN").also { if (it) real.execute("BEGIN EXCLUSIVE") } }
    }
}
