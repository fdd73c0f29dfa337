/// A CRC-32 over all values of a photo or an entity (FORMAT.md, Checksums), so that a flipped bit in a row is
/// detected.
enum Checksum {
    static let entityColumns = "canonical, name, kind, scale, data"

    /// The checksum of the photo in a row. `channels`: the album's, sorted.
    static func photo(_ db: Database, _ row: Int, _ channels: [String]) throws -> Int { try PhotoRecords(db, [row]).checksums(channels)[row] ?? 0 }

    static func values(_ values: [Value]) -> Int { Int(crc(values[...])) }

    /// Of the values' bytes, with a letter for each one's type, so that different lists of values give different bytes.
    fileprivate static func crc(_ values: ArraySlice<Value>, continuing start: UInt32 = 0) -> UInt32 {
        var crc = start
        func letter(_ letter: UInt8, _ bits: UInt64? = nil) {
            withUnsafeBytes(of: letter) { crc = CRC32.of($0, continuing: crc) }
            if let bits { withUnsafeBytes(of: bits.littleEndian) { crc = CRC32.of($0, continuing: crc) } }
        }
        func counted(_ kind: UInt8, _ bytes: UnsafeRawBufferPointer) {
            letter(kind, UInt64(bytes.count))
            crc = CRC32.of(bytes, continuing: crc)
        }
        for value in values {
            switch value {
            case .null: letter(UInt8(ascii: "n"))
            case .integer(let number): letter(UInt8(ascii: "i"), UInt64(bitPattern: Int64(number)))
            case .real(let number): letter(UInt8(ascii: "f"), number.bitPattern)
            case .text(var text): text.withUTF8 { counted(UInt8(ascii: "t"), UnsafeRawBufferPointer($0)) }
            case .blob(let blob): blob.withUnsafeBytes { counted(UInt8(ascii: "b"), $0) }
            }
        }
        return crc
    }
}

/// What an album holds of some photos; each table is read once, for all of them.
struct PhotoRecords {
    private static let among = "IN (SELECT value FROM json_each(?))"  // one statement for any number of rows
    private let db: Database
    private let rows: [Int]
    private let list: Value
    private let own: [[Value]]
    private let memories: [[Value]]

    init(_ db: Database, _ rows: [Int]) throws {
        (self.db, self.rows, list) = (db, rows, .text("[\(rows.map(String.init).joined(separator: ","))]"))
        own = try db.rows("SELECT \(Loader.photoColumns), crc FROM photos WHERE row \(PhotoRecords.among)", [list])
        memories = try db.rows("SELECT photo, source, text, sharing, sensitivity FROM memories WHERE photo \(PhotoRecords.among) ORDER BY id", [list])
    }

    /// By row, of the photos that exist: the photo, and its stored checksum, nil in an album of version 1.
    func photos() -> [Int: (photo: Photo, crc: Value)] {
        let said = Dictionary(grouping: memories) { $0[0].integer ?? -1 }
        return Dictionary(own.map { record in
            let row = record[0].integer ?? -1
            let memories = (said[row] ?? []).map { Memory($0[1].text ?? "", $0[2].text ?? "", sharing: $0[3].text, sensitivity: $0[4].text) }
            return (row, (photo: Loader.photo(record, memories), crc: record[11]))
        }, uniquingKeysWith: { $1 })
    }

    /// By row, what the checksum must be. `channels`: the album's, sorted. Raises Failure.value.
    func checksums(_ channels: [String]) throws -> [Int: Int] {
        var sums = Dictionary(rows.map { ($0, UInt32(0)) }, uniquingKeysWith: { $1 })
        func add(_ records: [[Value]], _ columns: Int) throws {
            for record in records {
                // A damaged index can find a record of another photo.
                guard let row = record[0].integer, let sum = sums[row] else { throw Failure.value("a record of a photo that was not asked for") }
                sums[row] = Checksum.crc(record[1..<columns], continuing: sum)
            }
        }
        try add(own, 11)
        try add(memories, 5)
        let mentions = "SELECT m.photo, e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity WHERE m.photo \(PhotoRecords.among) ORDER BY e.name"
        try add(try db.rows(mentions, [list]), 3)
        let vectors = "SELECT photo, channel, chunk, scale, data, fine FROM vectors WHERE channel=? AND photo \(PhotoRecords.among) ORDER BY photo, chunk"
        for channel in channels { try add(try db.rows(vectors, [.text(channel), list]), 6) }
        return sums.mapValues { Int($0) }
    }
}
