/// Segments: search structures derived from the rows, stored as blobs with a hash and a generation
/// (index/album/segments.py). A segment whose bytes do not match its hash is treated as missing, and the
/// caller scans the rows.
enum Segments {
    static let kdtree = "kdtree"

    static func hnsw(_ channel: String) -> String { "hnsw:\(channel)" }

    /// A segment that matches its hash. `behind`: ascending rows of existing photos for which the blob is out
    /// of date or silent.
    struct Segment {
        let blob: [UInt8]
        let rows: Int
        let behind: [Int]
    }

    /// The segment, or nil if it is missing, damaged or of another version. `photos`: their number now.
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

    /// Whether a segment is missing, or so far behind (more than a twentieth of the photos) that scanning the
    /// rest costs more than a rebuild.
    static func isDue(_ db: Database, _ name: String, photos: Int) throws -> Bool {
        guard let found = try db.first("SELECT generation, rows FROM segments WHERE name=?", [.text(name)]) else { return true }
        let rows = found[1].integer ?? 0
        return (max(0, rows - photos) + (try behind(db, found[0].integer ?? 0, rows, photos).count)) * 20 > photos
    }

    /// A line for every segment that a reader would ignore.
    static func problems(_ db: Database, generation: Int) throws -> [String] {
        try db.rows("SELECT name, generation, rows, sha256, blob FROM segments ORDER BY name").flatMap { found -> [String] in
            let name = found[0].text ?? "", built = found[1].integer, rows = found[2].integer
            var out: [String] = []
            if built == nil || rows == nil || !(0...generation).contains(built!) || rows! < 0 {
                let (at, of) = (built.map(String.init) ?? found[1].text ?? "", rows.map(String.init) ?? found[2].text ?? "")
                out.append("segment \(name): says generation \(at), \(of) photos; the album is at generation \(generation)")
            }
            if found[4].blob.map({ SHA256.hex($0) }) != found[3].text || found[4].blob == nil { out.append("segment \(name): bytes do not match their hash") }
            return out
        }
    }

    static func store(_ db: Database, _ name: String, version: Int, generation: Int, rows: Int, _ blob: [UInt8]) throws {
        try db.rows(
            "INSERT OR REPLACE INTO segments(name, version, generation, rows, sha256, blob) VALUES(?,?,?,?,?,?)",
            [.text(name), .integer(version), .integer(generation), .integer(rows), .text(SHA256.hex(blob)), .blob(blob)])
    }
}
