/// Reads an album's tables into arrays and data classes (index/album/loader.py). Raises Failure.value for
/// numbers that no writer wrote.
enum Loader {
    static let photoColumns = "row, id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256"
    private static let point = "SELECT coalesce(lat_e7, ?1), coalesce(lon_e7, ?1), coalesce(taken_at, ?1), coalesce(utc_offset, 0) FROM photos"

    static func generation(_ db: Database) throws -> Int { try db.integer("SELECT CAST(value AS INTEGER) FROM meta WHERE key='generation'") }

    /// The last row + 1, since rows are 0..n-1.
    static func photoCount(_ db: Database) throws -> Int {
        let count = try db.integer("SELECT coalesce(max(row), -1) + 1 FROM photos")
        let size = try db.integer("PRAGMA page_count") * (try db.integer("PRAGMA page_size"))
        guard count >= 0, count <= size else { throw Failure.value("a photo in row \(count - 1)") }
        return count
    }

    /// (lat_e7, lon_e7, wall time ms) of each row, the lowest integer where unknown.
    static func points(_ db: Database) throws -> [[Int]] {
        let found = try db.rows("\(point) ORDER BY row", [.integer(.min)]).map(onTheWall)
        guard found.count == (try photoCount(db)) else { throw Failure.value("photo rows are not 0..n-1") }
        return found
    }

    static func points(_ db: Database, of rows: [Int]) throws -> [[Int]] {
        try rows.map { row in
            guard let found = try db.first("\(point) WHERE row=?2", [.integer(.min), .integer(row)]) else { throw Failure.value("photo rows are not 0..n-1") }
            return try onTheWall(found)
        }
    }

    /// Converts the time from UTC to wall time, which is what cues mean.
    private static func onTheWall(_ record: [Value]) throws -> [Int] {
        let numbers = record.compactMap(\.integer)
        guard numbers.count == 4 else { throw Failure.value("a time or place that is no integer") }
        let wall = numbers[2] == .min ? .min : numbers[2] &+ 60_000 &* numbers[3]
        return [numbers[0], numbers[1], wall]
    }

    /// Channel → dimensions.
    static func channelDims(_ db: Database) throws -> [String: Int] {
        var out: [String: Int] = [:]
        var found = try db.first("SELECT channel, length(data) FROM vectors ORDER BY channel LIMIT 1")
        while let row = found, let name = row[0].text {
            out[name] = row[1].integer ?? 0
            found = try db.first("SELECT channel, length(data) FROM vectors WHERE channel > ? ORDER BY channel LIMIT 1", [.text(name)])
        }
        return out
    }

    static func vectors(_ db: Database, _ channel: String, _ photos: Int) throws -> VectorSet? {
        let rows = try db.rows("SELECT photo, scale, data, fine FROM vectors WHERE channel=? ORDER BY photo, chunk", [.text(channel)])
        if rows.isEmpty { return nil }
        let found = try vectorSet(rows, "channel \(channel.scalars.quoted)")
        try within(found.owners, photos, "vectors")
        return found
    }

    /// The vectors in `rows` of (owner, scale, data, and perhaps fine).
    static func vectorSet(_ rows: [[Value]], _ what: String) throws -> VectorSet {
        let dim = rows[0][2].blob?.count ?? 0, width = (dim + 3) / 4
        var codes: [Int8] = [], scales: [Float] = [], owners: [Int] = [], fine: [UInt8] = []
        codes.reserveCapacity(rows.count * dim)
        let hasFine = rows[0].count > 3 && rows.contains { !$0[3].isNull }
        for row in rows {
            guard let owner = row[0].integer, let scale = row[1].real, let data = row[2].blob else { throw Failure.value("a vector that is none") }
            guard data.count == dim else { throw Failure.album("\(what): vectors of different lengths; run verify and build the album again") }
            codes += data.map { Int8(bitPattern: $0) }
            scales.append(Float(scale))
            owners.append(owner)
            guard hasFine else { continue }
            // Vectors of an older writer have no residues and get +1/8 and -1/8 of a step in turn.
            let digits = row[3].blob ?? [UInt8](repeating: 0x99, count: width)
            guard digits.count == width else { throw Failure.value("fine digits of different lengths") }
            fine += digits
        }
        return VectorSet(dim: dim, codes: codes, scales: scales, owners: owners, fine: hasFine ? fine : nil)
    }

    /// The root entity of each entity row: the row itself unless it was merged. Raises Failure.value if
    /// aliases form a cycle.
    static func entityRoots(_ db: Database) throws -> [Int] {
        let found = try db.rows("SELECT row, same_as FROM entities ORDER BY row")
        guard found.enumerated().allSatisfy({ $1[0].integer == $0 }) else { throw Failure.value("entity rows are not 0..m-1") }
        var roots = found.enumerated().map { $1[1].integer ?? $0 }
        try within(roots, found.count, "merged entities")
        for row in roots.indices {
            var at = row, steps = 0
            while roots[at] != at {
                at = roots[at]
                steps += 1
                if steps > roots.count { throw Failure.value("entities merged in a circle") }
            }
            roots[row] = at
        }
        return roots
    }

    /// The vectors of all entities that have one; nil if there are none.
    static func entityVectors(_ db: Database) throws -> NodeVectors? {
        let rows = try db.rows("SELECT row, scale, data FROM entities WHERE data IS NOT NULL ORDER BY row")
        return rows.isEmpty ? nil : NodeVectors(vectors: try vectorSet(rows, "entities"), roots: try entityRoots(db))
    }

    private static let links = [
        "mentions": "SELECT entity, photo FROM mentions",
        // Without what describes another.
        "hanging": "SELECT entity, photo FROM mentions WHERE leaf <> \(Leaf.child.rawValue)",
        "edges": "SELECT parent, child FROM edges",
    ]

    /// The links of one kind as pairs, without repeats; merged entities are replaced by their root.
    static func pairs(_ db: Database, _ table: String, photos: Int) throws -> [(Int, Int)] {
        let edges = table == "edges"
        let rows = try db.rows(links[table]!)
        let roots = try entityRoots(db)
        try within(rows.map { $0[0].integer ?? -1 }, roots.count, "\(table) links")
        try within(rows.map { $0[1].integer ?? -1 }, edges ? roots.count : photos, "\(table) links")
        var out = rows.map { (roots[$0[0].integer!], edges ? roots[$0[1].integer!] : $0[1].integer!) }
        let merged = !roots.enumerated().allSatisfy { $0 == $1 }
        if merged && edges { out.removeAll { $0.0 == $0.1 } }
        out.sort { $0 < $1 }
        var last: (Int, Int)?
        return out.filter { pair in
            defer { last = pair }
            return last == nil || last! != pair
        }
    }

    /// The photo of each memory id. Ids start at 1; the number of gaps is bounded.
    static func memoryOwners(_ db: Database, _ photos: Int) throws -> [Int] {
        let rows = try db.rows("SELECT id, photo FROM memories ORDER BY id").map { ($0[0].integer ?? -1, $0[1].integer ?? -1) }
        try within(rows.map(\.0), 16 * (rows.count + 1 + photos) + 1024, "memory ids")
        try within(rows.map(\.1), photos, "memories")
        var owner = [Int](repeating: 0, count: (rows.last?.0 ?? 0) + 1)
        for (id, photo) in rows { owner[id] = photo }
        return owner
    }

    /// Raises Failure.value unless all numbers lie in 0..limit-1.
    static func within(_ numbers: [Int], _ limit: Int, _ what: String) throws {
        guard numbers.allSatisfy({ $0 >= 0 && $0 < limit }) else { throw Failure.value("\(what) outside 0..\(limit - 1)") }
    }

    static func photo(_ record: [Value], _ memories: [Memory]) -> Photo {
        var out = Photo(id: record[1].text ?? "")
        out.path = record[2].text
        out.takenAt = record[3].integer
        out.tzSource = record[4].text ?? "local"
        out.utcOffset = record[5].integer
        if let lat = record[6].integer, let lon = record[7].integer { (out.lat, out.lon) = (Double(lat) / Double(Space.e7), Double(lon) / Double(Space.e7)) }
        out.memories = memories
        (out.sharing, out.sensitivity, out.sha256) = (record[8].text, record[9].text, record[10].text)
        return out
    }
}
