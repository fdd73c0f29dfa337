package gamer.album

/**
 * Which of its two indexes of words an album has (FORMAT.md, Words): FTS5's, or a segment of its own that is made
 * and read without FTS5, which Android's SQLite lacks.
 */
internal object TextIndex {
    private const val TABLE = "CREATE VIRTUAL TABLE memories_fts USING fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61')"

    /** Whether this SQLite has FTS5. */
    fun hasModule(db: Database): Boolean = try {
        db.execute("CREATE VIRTUAL TABLE temp.probe USING fts5(text)")
        db.execute("DROP TABLE temp.probe")
        true
    } catch (error: DatabaseError) {
        if ("no such module" !in (error.message ?: "")) throw error
        false
    }

    /** Whether the album's words are found in the table `memories_fts`, and this SQLite can read it. */
    fun isFullText(db: Database): Boolean = hasTable(db) && !isSet(db) && Fts5Index.isThere(db)

    fun create(db: Database) {
        if (hasModule(db)) db.execute(TABLE)
    }

    /** Whether a writer with this SQLite keeps `memories_fts` up to date; if not, the table is marked as out of date. */
    fun isKept(db: Database): Boolean = hasTable(db) && !isSet(db) && hasModule(db)

    /** Marks the table as out of date, where there is one; inside the transaction that makes it so. */
    fun abandon(db: Database) {
        if (hasTable(db) && !isSet(db)) db.execute("INSERT INTO meta VALUES('words', 'own')")
    }

    /** Raises [DatabaseError] unless FTS5's table holds exactly the memories' words. */
    fun check(db: Database) {
        db.execute("SAVEPOINT words")
        try {
            db.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES('integrity-check', 1)")
        } finally {
            db.execute(";ROLLBACK TO words") // Android before 9 takes what begins with ROLLBACK for the end of the transaction
            db.execute("RELEASE words")
        }
    }

    /** Makes the index of words anew if it is not that of the memories. Returns whether it did. */
    fun repair(db: Database, photos: Int): Boolean {
        if (hasModule(db)) {
            if (isKept(db) && isRight(db)) return false
            restore(db)
            return true
        }
        if (OwnWords.problems(db, photos).isEmpty()) return false
        db.execute("DELETE FROM segments WHERE name=?", OwnWords.SEGMENT) // the segments are built after this
        return true
    }

    private fun isRight(db: Database): Boolean = try {
        check(db)
        true
    } catch (error: DatabaseError) {
        false
    }

    private fun restore(db: Database) {
        if (!hasTable(db)) db.execute(TABLE)
        db.execute("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')")
        db.execute("DELETE FROM meta WHERE key='words'")
        db.execute("DELETE FROM segments WHERE name=?", OwnWords.SEGMENT)
    }

    /** Brings the index of words up to date at the end of a run. */
    fun finish(db: Database, photos: Int, generation: Long) {
        if (isKept(db)) return
        if (hasModule(db)) {
            restore(db)
        } else if (Segments.isDue(db, OwnWords.SEGMENT, photos)) {
            Segments.store(db, OwnWords.SEGMENT, OwnWords.VERSION, generation, photos, OwnWords.build(db, photos).toBytes())
        }
    }

    /** Makes the index of words anew, so that nothing is left of words that were deleted; one of its own is made with the segments. */
    fun renew(db: Database) = if (isKept(db)) restore(db) else db.execute("DELETE FROM segments WHERE name=?", OwnWords.SEGMENT)

    private fun hasTable(db: Database): Boolean = db.query("SELECT 1 FROM main.sqlite_master WHERE name='memories_fts'").isNotEmpty()

    private fun isSet(db: Database): Boolean = db.query("SELECT 1 FROM main.meta WHERE key='words'").isNotEmpty()
}
