/// A CRC-32 over all values of a photo or an entity (FORMAT.md, Checksums), so that a flipped bit in a row is
/// detected.
enum Checksum {
    private static let ofAPhoto = [
        "SELECT id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 FROM photos WHERE row=?",
        "SELECT source, text, sharing, sensitivity FROM memories WHERE photo=? ORDER BY id",
        "SELECT e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity WHERE m.photo=? ORDER BY e.name",
    ]
    private static let vectors = "SELECT channel, chunk, scale, data, fine FROM vectors WHERE channel=? AND photo=? ORDER BY chunk"
    static let entityColumns = "canonical, name, kind, scale, data"

    /// The checksum of the photo in a row. `channels`: the album's, sorted.
    static func photo(_ db: Database, _ row: Int, _ channels: [String]) throws -> Int {
        var crc: UInt32 = 0
        for sql in ofAPhoto { try db.each(sql, [.integer(row)]) { crc = CRC32.of(bytes($0), continuing: crc) } }
        for channel in channels { try db.each(vectors, [.text(channel), .integer(row)]) { crc = CRC32.of(bytes($0), continuing: crc) } }
        return Int(crc)
    }

    static func values(_ values: [Value]) -> Int { Int(CRC32.of(bytes(values))) }

    /// A value's bytes, with a letter for its type, so that different lists of values give different bytes.
    private static func bytes(_ values: [Value]) -> [UInt8] {
        values.flatMap { value -> [UInt8] in
            switch value {
            case .null: return Array("n".utf8)
            case .integer(let number): return Array("i".utf8) + littleEndian(Int64(number))
            case .real(let number): return Array("f".utf8) + littleEndian(number.bitPattern)
            case .text(let text): return Array("t".utf8) + littleEndian(Int64(text.utf8.count)) + Array(text.utf8)
            case .blob(let blob): return Array("b".utf8) + littleEndian(Int64(blob.count)) + blob
            }
        }
    }
}
