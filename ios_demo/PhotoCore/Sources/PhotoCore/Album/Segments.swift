/// Derived segments: blobs that can be rebuilt from the rows, kept with a hash and with what they were built from (index/album/segments.py).
enum Segments {
    static let kdtree = "kdtree"

    static func hnsw(_ channel: String) -> String { "hnsw:\(channel)" }

    /// `behind`: sorted rows, all below the album's number of photos, that the blob says nothing true about.
    struct Segment {
        let blob: [UInt8]
        let rows: Int
        let behind: [Int]
    }

    /// nil for a segment that is missing, of another version, or does not match its hash.
    static func load(_ db: Database, _ name: String, _ version: Int, photos: Int) throws -> Segment? {
        guard let found = try db.first("SELECT version, generation, rows, sha256, blob FROM segments WHERE name=?", [.text(name)]),
            found[0].integer == version, let generation = found[1].integer, let rows = found[2].integer, let blob = found[4].blob,
            SHA256.hex(blob) == found[3].text
        else { return nil }
        return Segment(blob: blob, rows: rows, behind: try behind(db, generation, rows, photos))
    }

    static func behind(_ db: Database, _ generation: Int, _ rows: Int, _ photos: Int) throws -> [Int] {
        let sql = "SELECT photo FROM changes WHERE generation > ? AND photo < ? ORDER BY photo"
        let changed = try db.rows(sql, [.integer(generation), .integer(min(rows, photos))]).compactMap { $0[0].integer }
        return changed + (rows < photos ? Array(max(0, rows)..<photos) : [])
    }

    /// Whether a segment is missing, or so far behind (more than a twentieth of the photos) that scanning the rest costs more than building it again.
    static func isDue(_ db: Database, _ name: String, photos: Int) throws -> Bool {
        guard let found = try db.first("SELECT generation, rows FROM segments WHERE name=?", [.text(name)]) else { return true }
        let rows = found[1].integer ?? 0
        return (max(0, rows - photos) + (try behind(db, found[0].integer ?? 0, rows, photos).count)) * 20 > photos
    }

    static func store(_ db: Database, _ name: String, version: Int, generation: Int, rows: Int, _ blob: [UInt8]) throws {
        try db.rows(
            "INSERT OR REPLACE INTO segments(name, version, generation, rows, sha256, blob) VALUES(?,?,?,?,?,?)",
            [.text(name), .integer(version), .integer(generation), .integer(rows), .text(SHA256.hex(blob)), .blob(blob)])
    }
}
