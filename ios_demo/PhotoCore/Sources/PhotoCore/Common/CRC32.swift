/// zlib's CRC-32 of the bytes, continued from `crc`.
public struct CRC32 {
    private static let table: [UInt32] = (0..<256).map { n in
        (0..<8).reduce(UInt32(n)) { c, _ in c & 1 == 1 ? 0xedb8_8320 ^ (c >> 1) : c >> 1 }
    }

    public static func of(_ bytes: [UInt8], continuing crc: UInt32 = 0) -> UInt32 { bytes.withUnsafeBytes { of($0, continuing: crc) } }

    static func of(_ bytes: UnsafeRawBufferPointer, continuing crc: UInt32) -> UInt32 {
        table.withUnsafeBufferPointer { table in ~bytes.reduce(~crc) { table[Int(($0 ^ UInt32($1)) & 0xff)] ^ ($0 >> 8) } }
    }
}
