/// Which of its two indexes of words an album has (FORMAT.md, Words): FTS5's table, or none that is up to date,
/// because a program without FTS5 (on Android) wrote the album last. Apple's SQLite has FTS5.
enum TextIndex {
    static let table = "CREATE VIRTUAL TABLE memories_fts USING fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61')"
    private static let inMemory = """
        CREATE VIRTUAL TABLE temp.memories_fts USING fts5(text, content='', tokenize='porter unicode61');
        INSERT INTO temp.memories_fts(rowid, text) SELECT id, text FROM memories;
        """

    /// Whether the album has FTS5's table, and it is up to date.
    static func isFullText(_ db: Database) throws -> Bool {
        try hasTable(db) && db.first("SELECT 1 FROM main.meta WHERE key = 'words'") == nil
    }

    /// Makes `memories_fts` of a reader's connection fit the memories.
    static func prepare(_ db: Database) throws {
        if try !isFullText(db) { try db.run(inMemory) }
    }

    /// Gives an album FTS5's table if it has none, or one that is out of date; in the caller's transaction.
    static func restore(_ db: Database) throws {
        if try isFullText(db) { return }
        if try !hasTable(db) { try db.run(table) }
        try db.run("INSERT INTO memories_fts(memories_fts) VALUES('rebuild'); DELETE FROM meta WHERE key = 'words'; DELETE FROM segments WHERE name = 'words'")
    }

    /// Makes FTS5's table anew, so that nothing is left of words that were deleted.
    static func renew(_ db: Database) throws {
        if try isFullText(db) { try db.run("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')") }
    }

    /// Raises SQLiteError unless FTS5's table holds exactly the memories' words.
    static func check(_ db: Database) throws {
        try db.run("SAVEPOINT words")
        defer { try? db.run("ROLLBACK TO words; RELEASE words") }
        try db.run("INSERT INTO memories_fts(memories_fts, rank) VALUES('integrity-check', 1)")
    }

    /// Makes the index of words anew if it is not that of the memories, in the caller's transaction. Returns whether it
    /// did.
    static func repair(_ db: Database) throws -> Bool {
        if try isFullText(db) {
            if (try? check(db)) != nil { return false }
            try renew(db)
        }
        try restore(db)
        return true
    }

    private static func hasTable(_ db: Database) throws -> Bool {
        try db.first("SELECT 1 FROM main.sqlite_master WHERE name = 'memories_fts'") != nil
    }
}
