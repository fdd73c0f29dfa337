/// Reads little-endian numbers from a blob. Blobs are untrusted, so every read is checked.
public struct Bytes {
    public let raw: [UInt8]

    public init(_ raw: [UInt8]) { self.raw = raw }

    public var count: Int { raw.count }

    /// The integer at byte `offset`. Raises Failure.value if it extends beyond the end.
    public func integer<T: FixedWidthInteger>(_ type: T.Type, at offset: Int) throws -> T {
        guard offset >= 0, offset + MemoryLayout<T>.size <= raw.count else { throw Failure.value("\(raw.count) bytes end before byte \(offset)") }
        return raw.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
    }

    /// `count` integers from byte `offset` on. Raises Failure.value if they extend beyond the end.
    public func integers<T: FixedWidthInteger>(_ type: T.Type, at offset: Int, count: Int) throws -> [T] {
        let size = MemoryLayout<T>.size
        guard offset >= 0, count >= 0, offset <= raw.count, count <= (raw.count - offset) / size else {
            throw Failure.value("\(raw.count) bytes do not hold \(count) numbers from byte \(offset)")
        }
        return raw.withUnsafeBytes { all in
            (0..<count).map { T(littleEndian: all.loadUnaligned(fromByteOffset: offset + $0 * size, as: T.self)) }
        }
    }
}

/// The little-endian bytes of an integer.
public func littleEndian<T: FixedWidthInteger>(_ value: T) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }
