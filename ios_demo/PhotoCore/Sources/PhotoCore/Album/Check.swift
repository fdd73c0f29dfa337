import Foundation

/// Checks an album (index/album/check.py), in the same words as the other programs. Nothing here changes it. Of the words
/// that a program without FTS5 left, it checks the hash.
public enum Check {
    /// Every problem found, one line each; none for a clean album. A damaged file raises nothing: that is the problem.
    public static func problems(_ path: String) -> [String] {
        do {
            let db = try AlbumFile.openReader(path)
            defer { db.close() }
            return try found(db, path) + words(path)
        } catch {
            return ["\(path): cannot be read through (\("\(error)".split(whereSeparator: \.isWhitespace).joined(separator: " ")))"]
        }
    }

    private static func found(_ db: Database, _ path: String) throws -> [String] {
        var out = try db.rows("PRAGMA integrity_check").compactMap { $0[0].text }.filter { $0 != "ok" }
        for (problem, sql) in Invariants.all {
            if let wrong = try count(db, sql) { out.append("\(problem): \(wrong)") }
        }
        let meta = try AlbumMeta(db, path), dims = try Loader.channelDims(db)
        let channels = dims.keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        for channel in channels {
            let dim = dims[channel] ?? 0
            if let wrong = try count(db, "SELECT count(*) FROM vectors WHERE channel=? AND length(data)<>?", [.text(channel), .integer(dim)]) {
                out.append("vectors of channel \(channel): \(wrong) are not \(dim) bytes long")
            }
        }
        for (table, subject) in [("entities", "entity"), ("events", "event")] {
            if let wrong = try count(db, "SELECT count(*) FROM \(table) WHERE length(data)<>?", [.integer(meta.dim)]) {
                out.append("\(subject) vectors: \(wrong) are not \(meta.dim) bytes long")
            }
        }
        _ = try Loader.entityRoots(db)
        for kind in ["photo", "entity"] where try hasCircle(db, kind) { out.append("preferences between \(kind)s run in a circle") }
        if try db.integer("PRAGMA main.user_version") > 1 { out += try checksums(db, channels) }
        return try out + OptionalTables.problems(db) + Segments.problems(db, generation: Loader.generation(db))
    }

    private static func count(_ db: Database, _ sql: String, _ values: [Value] = []) throws -> Int? {
        let found = try db.integer(sql, values)
        return found == 0 ? nil : found
    }

    /// Whether FTS5's table holds the memories' words, by FTS5's own check. It runs as a write, so it is left out where
    /// the album cannot be written now.
    private static func words(_ path: String) -> [String] {
        guard FileManager.default.isWritableFile(atPath: path), let db = try? Database(path, .readWrite) else { return [] }
        defer { db.close() }
        db.wait(milliseconds: 2000)
        do {
            if try TextIndex.isFullText(db) { try TextIndex.check(db) }
            return []
        } catch let error as SQLiteError where error.isBusy || error.isClosedToWriting {
            return []
        } catch {
            return ["the index of words does not fit the memories"]
        }
    }

    /// Drops, again and again, the pairs whose better item is the worse one of no other pair: a circle cannot be
    /// dropped.
    private static func hasCircle(_ db: Database, _ kind: String) throws -> Bool {
        var left = try db.rows("SELECT DISTINCT better, worse FROM preferences WHERE kind=?", [.text(kind)]).map { ($0[0].integer, $0[1].integer) }
        while !left.isEmpty {
            let worse = Set(left.map(\.1)), rest = left.filter { worse.contains($0.0) }
            if rest.count == left.count { return true }
            left = rest
        }
        return false
    }

    private static func checksums(_ db: Database, _ channels: [String]) throws -> [String] {
        var out: [String] = []
        for record in try db.rows("SELECT row, id, crc FROM photos ORDER BY row") {
            let row = record[0].integer ?? -1
            if record[2].integer != (try Checksum.photo(db, row, channels)) {
                out.append("photo \((record[1].text ?? "").scalars.quoted) in row \(row): its rows do not match their checksum")
            }
        }
        for record in try db.rows("SELECT row, crc, \(Checksum.entityColumns) FROM entities")
        where record[1].integer != Checksum.values(Array(record.dropFirst(2))) {
            out.append("entity \(record[0].integer ?? -1): its row does not match its checksum")
        }
        for record in try db.rows("SELECT row, id, crc FROM events") {
            let row = record[0].integer ?? -1
            if record[2].integer != (try EventRows.checksum(db, row)) {
                out.append("event \((record[1].text ?? "").scalars.quoted) in row \(row): its rows do not match their checksum")
            }
        }
        return out
    }
}
