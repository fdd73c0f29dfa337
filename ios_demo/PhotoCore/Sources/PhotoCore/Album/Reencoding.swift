import Foundation

/// Gives an album the vectors of other encoders, in a copy beside it that takes its place when it is whole
/// (index/album/writing/reencode.py). Rows, memories, labels, merges, preferences and events stay; events have no vectors until
/// a computer makes them.
public enum Reencoding {
    // The key in the copy's meta table: of which state of the album it is a copy.
    private static let of = "renews"

    private static func aside(_ album: String) -> String { album + ".renewing" }

    /// The copy, to be given vectors (`AlbumWriter.renew`): the one that an earlier run left, unless the album has
    /// changed since or other encoders are wanted, then a new one. Raises Failure.album.
    public static func open(_ album: String, _ meta: AlbumMeta) throws -> AlbumWriter {
        try AlbumWriter(album).close()  // brings an older format up to date
        let lock = try WriterLock(album)
        defer { lock.release() }
        let state = try whole(album)
        if !continues(aside(album), state, meta) { try begin(album, state, meta) }
        return try AlbumWriter(aside(album))
    }

    /// Puts the copy, which is closed, in the album's place. Readers of the old album keep what they opened.
    public static func publish(_ album: String) throws {
        let lock = try WriterLock(album)
        defer { lock.release() }
        _ = try whole(album)
        do {
            let db = try AlbumWriter.openForWriting(aside(album), .readWrite)
            defer { db.close() }
            try db.rows("DELETE FROM meta WHERE key=?", [.text(of)])
        } catch { throw Failure.album("\(aside(album)): cannot be written (\(error)); check the free space") }
        // Nothing is in the album's log that is not in its file: under the new file the log would be another's.
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: album + suffix) }
        guard rename(aside(album), album) == 0 else { throw Failure.album("\(album): cannot be replaced; check the folder's permissions") }
    }

    /// Moves all of the log into the file. Returns what tells the album's state from another one.
    private static func whole(_ album: String) throws -> String {
        do {
            let db = try AlbumWriter.openForWriting(album, .readWrite)
            defer { db.close() }
            let found = try db.first("PRAGMA wal_checkpoint(PASSIVE)") ?? []
            guard found.count == 3, found[0] == .integer(0), found[1] == found[2] else {
                throw Failure.album("\(album): another program reads an older state of it; close it there, then run this again")
            }
            return String(try Loader.generation(db))
        } catch let error as SQLiteError { throw AlbumFile.damaged(album, "\(error)") }
    }

    private static func continues(_ aside: String, _ state: String, _ meta: AlbumMeta) -> Bool {
        guard FileManager.default.fileExists(atPath: aside), let db = try? AlbumWriter.openForWriting(aside, .readWrite) else { return false }
        defer { db.close() }
        let found = try? db.first("SELECT value FROM meta WHERE key=?", [.text(of)])?[0].text
        return found == state && (try? AlbumMeta(db, aside)) == meta
    }

    private static func begin(_ album: String, _ state: String, _ meta: AlbumMeta) throws {
        let partial = aside(album) + ".partial"
        AlbumWriter.discard(partial)
        AlbumWriter.discard(aside(album))
        do {
            try FileManager.default.copyItem(atPath: album, toPath: partial)
            let db = try AlbumWriter.openForWriting(partial, .readWrite)
            defer { db.close() }
            try AlbumWriter.transaction(db) { try empty(db, partial, state, meta) }
        } catch {
            AlbumWriter.discard(partial)
            throw Failure.album("\(album): cannot be copied (\(error)); check the free space")
        }
        guard rename(partial, aside(album)) == 0 else { throw Failure.album("\(partial): cannot be renamed; check the folder's permissions") }
    }

    private static func empty(_ db: Database, _ path: String, _ state: String, _ meta: AlbumMeta) throws {
        try db.run("DELETE FROM vectors; DELETE FROM segments; DELETE FROM changes")
        try db.run("UPDATE entities SET scale=NULL, data=NULL; UPDATE events SET scale=NULL, data=NULL")
        // Every checksum covers vectors, which are gone.
        let rows = try PhotoRows(db: db, path: path, dims: [:])
        for photo in try db.rows("SELECT row FROM photos") { try rows.seal(photo[0].integer ?? -1) }
        for event in try db.rows("SELECT row FROM events") { try EventRows.seal(db, event[0].integer ?? -1) }
        try AlbumWriter.sealEntities(db)
        let told = meta.told
        for (key, value) in told.merging(["crc": String(AlbumMeta.checksum(told)), of: state], uniquingKeysWith: { $1 }) {
            try db.rows("INSERT OR REPLACE INTO meta VALUES(?,?)", [.text(key), .text(value)])
        }
    }
}
