import Foundation

/// Version numbers and header checks of the album file, and the errors for files that are no albums
/// (index/album/schema.py).
enum AlbumFile {
    static let applicationId = 0x4741_4D52
    static let version = 3

    static let leafIn1 = """
        NOT EXISTS (SELECT 1 FROM main.edges e JOIN main.mentions c ON c.entity = e.child AND c.photo = m.photo WHERE e.parent = m.entity)
        """
    /// Views that add the columns and tables that a format lacks, empty. A temporary view hides a table of the
    /// same name, so that the same SQL reads all formats.
    private static let viewsOf1 = """
        CREATE TEMP VIEW photos AS SELECT *, NULL AS utc_offset, NULL AS crc FROM main.photos;
        CREATE TEMP VIEW memories AS SELECT *, NULL AS sharing, NULL AS sensitivity FROM main.memories;
        CREATE TEMP VIEW vectors AS SELECT *, NULL AS fine FROM main.vectors;
        CREATE TEMP VIEW entities AS SELECT *, NULL AS same_as, 0 AS split, NULL AS crc FROM main.entities;
        CREATE TEMP VIEW mentions AS SELECT m.entity, m.photo, \(leafIn1) AS leaf FROM main.mentions m;
        CREATE TEMP VIEW segments AS SELECT name, version, generation, (SELECT count(*) FROM main.photos) AS rows, sha256, blob FROM main.segments
            WHERE generation = (SELECT CAST(value AS INTEGER) FROM main.meta WHERE key = 'generation');
        CREATE TEMP TABLE preferences(kind TEXT, better INTEGER, worse INTEGER);
        CREATE TEMP TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER);
        """
    private static let viewsOf2 = """
        CREATE TEMP VIEW edges AS SELECT *, '' AS relation FROM main.edges;
        CREATE TEMP TABLE events(row INTEGER PRIMARY KEY, id TEXT, name TEXT, summary TEXT, place TEXT, starts INTEGER, ends INTEGER,
            edited INTEGER, scale REAL, data BLOB, crc INTEGER);
        CREATE TEMP TABLE event_photos(photo INTEGER PRIMARY KEY, event INTEGER);
        """

    /// A read-only connection that sees one snapshot of the album until it is closed. Raises Failure.album.
    static func openReader(_ path: String, open: (String) throws -> Database = { try Database($0, .readWrite) }) throws -> Database {
        try checkHeader(path)
        func pinned() throws -> Database {
            let db = try open(path)
            db.wait(milliseconds: 2000)
            try pin(db)
            try checkVersion(path, db)
            return db
        }
        do {
            // Between two looks another connection may have deleted its journal.
            do { return try pinned() } catch let error as SQLiteError where error.isOfDisk { return try pinned() }
        } catch let error as SQLiteError where error.isClosedToWriting {
            // The folder is read-only, so SQLite cannot create the WAL's shared-memory file in it.
            return try openImmutable(path)
        } catch let error as SQLiteError {
            throw damaged(path, "\(error)")
        }
    }

    private static func openImmutable(_ path: String) throws -> Database {
        guard !FileManager.default.fileExists(atPath: path + "-wal") else {
            throw Failure.album("\(path): a log lies beside it and the folder cannot be written; copy both files to a folder that can")
        }
        do {
            let db = try Database(path, .immutable)
            try pin(db)
            try checkVersion(path, db)
            return db
        } catch let error as SQLiteError {
            throw damaged(path, "\(error)")
        }
    }

    private static func pin(_ db: Database) throws {
        try db.run("PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=0; BEGIN; SELECT count(*) FROM main.sqlite_schema")
        let found = try db.integer("PRAGMA main.user_version")
        if found == 1 { try db.run(viewsOf1) }
        if (1...2).contains(found) { try db.run(viewsOf2) }
        try TextIndex.prepare(db)
        try db.run("PRAGMA query_only=1")
    }

    private static func checkVersion(_ path: String, _ db: Database) throws {
        // Checked again, since the WAL may hold a newer header than the file.
        let found = try db.integer("PRAGMA main.user_version")
        guard (1...version).contains(found) else { throw tooNew(path, found) }
    }

    private static func tooNew(_ path: String, _ found: Int) -> Failure {
        .album("\(path): album format \(found), this program reads up to \(version); update the program")
    }

    /// Raises Failure.album with the cause unless the file's header is that of a readable album.
    static func checkHeader(_ path: String) throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw Failure.album("\(path): no such album; build one with `gamer index build`")
        }
        guard !isFolder.boolValue, let handle = FileHandle(forReadingAtPath: path) else {
            throw Failure.album("\(path): not an album (not a file); give a file that `gamer index build` wrote")
        }
        defer { try? handle.close() }
        let head = [UInt8]((try? handle.read(upToCount: 100)) ?? Data()), size = Int((try? handle.seekToEnd()) ?? 0)
        let magic = Array("SQLite format 3\0".utf8)
        guard !head.isEmpty, head.prefix(16).elementsEqual(magic.prefix(min(16, head.count))) else {
            throw Failure.album("\(path): not an album (not an SQLite file); give a file that `gamer index build` wrote")
        }
        guard head.count == 100 else { throw Failure.album("\(path): truncated (\(size) bytes); build or copy the album again") }
        func number(_ at: Int, _ bytes: Int) -> Int { head[at..<(at + bytes)].reduce(0) { $0 << 8 | Int($1) } }
        let application = number(68, 4), format = number(60, 4)
        guard application == applicationId else {
            let id = String(format: "0x%08X", application)
            throw Failure.album("\(path): an SQLite file of another application (id \(id)); give a file that `gamer index build` wrote")
        }
        guard format <= version else { throw tooNew(path, format) }
        guard format >= 1 else { throw Failure.album("\(path): album format \(format) is not a version that was ever written; build the album again") }
        let page = number(16, 2) == 1 ? 65536 : number(16, 2), whole = page * number(28, 4)
        // With a WAL, the header and the file may be between two states.
        guard size >= whole || FileManager.default.fileExists(atPath: path + "-wal") else {
            throw Failure.album("\(path): truncated (\(size) of \(whole) bytes); build or copy the album again")
        }
    }

    static func damaged(_ path: String, _ why: String) -> Failure {
        .album("\(path): damaged or unreadable (\(why.split(whereSeparator: \.isWhitespace).joined(separator: " "))); build the album again")
    }
}
