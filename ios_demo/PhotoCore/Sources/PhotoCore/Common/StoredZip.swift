import Foundation

/// A ZIP file whose entries are stored uncompressed (PKWARE's APPNOTE, 4.3), read by its central directory. Every offset
/// is checked: the file comes from anywhere.
struct StoredZip {
    struct Entry: Equatable {
        let name: String
        let size: Int
        /// Of the entry's local header.
        let offset: Int
    }

    private static let endSize = 22, centralSize = 46, localSize = 30, most = 64 << 20
    private let file: String
    private let handle: FileHandle
    private let length: Int

    init(_ file: String) throws {
        guard let handle = FileHandle(forReadingAtPath: file) else { throw Failure.bundle("\(file): no such file, or it cannot be read") }
        (self.file, self.handle) = (file, handle)
        length = Int(try handle.seekToEnd())
    }

    /// All entries, in the order of the directory.
    func entries(atMost limit: Int) throws -> [Entry] {
        guard length >= StoredZip.endSize else { throw damaged("too short") }
        let tail = Bytes(try read(max(0, length - 65_557), min(length, 65_557)))
        var at = tail.raw.count - StoredZip.endSize
        while at >= 0, try tail.integer(UInt32.self, at: at) != 0x0605_4b50 { at -= 1 }
        guard at >= 0 else { throw damaged("no ZIP file") }
        let count = Int(try tail.integer(UInt16.self, at: at + 10)), size = Int(try tail.integer(UInt32.self, at: at + 12))
        let offset = Int(try tail.integer(UInt32.self, at: at + 16))
        guard count <= limit, count != 0xFFFF, size <= StoredZip.most, offset + size <= length else { throw damaged("its directory lies outside of it") }
        let bytes = Bytes(try read(offset, size))
        var out: [Entry] = [], from = 0
        for _ in 0..<count {
            guard from + StoredZip.centralSize <= size, try bytes.integer(UInt32.self, at: from) == 0x0201_4b50 else { throw damaged("its directory ends early") }
            let flags = try bytes.integer(UInt16.self, at: from + 8), method = try bytes.integer(UInt16.self, at: from + 10)
            let packed = try bytes.integer(UInt32.self, at: from + 20), whole = try bytes.integer(UInt32.self, at: from + 24)
            let lengths = try [28, 30, 32].map { Int(try bytes.integer(UInt16.self, at: from + $0)) }
            let local = Int(try bytes.integer(UInt32.self, at: from + 42)), end = from + StoredZip.centralSize + lengths.reduce(0, +)
            guard end <= size else { throw damaged("its directory ends early") }
            guard method == 0, flags & 1 == 0, packed == whole, whole != .max else {
                throw Failure.bundle("\(file): its entries are compressed, encrypted or larger than 4 GB: pack the bundle with `gamer pack`")
            }
            let name = bytes.raw[(from + StoredZip.centralSize)..<(from + StoredZip.centralSize + lengths[0])]
            guard let text = String(validatingUTF8: name.map { CChar(bitPattern: $0) } + [0]), text.utf8.count == name.count else {
                throw damaged("a name that is no text")
            }
            out.append(Entry(name: text, size: Int(whole), offset: local))
            from = end
        }
        return out
    }

    func data(_ entry: Entry) throws -> Data { Data(try read(try begin(entry), entry.size)) }

    /// Writes an entry's bytes to a file that does not exist yet.
    func copy(_ entry: Entry, to path: String, block: Int) throws {
        var at = try begin(entry), left = entry.size
        guard FileManager.default.createFile(atPath: path, contents: nil), let out = FileHandle(forWritingAtPath: path) else {
            throw Failure.bundle("\(path): cannot be written: free some space")
        }
        defer { try? out.close() }
        while left > 0 {
            let part = try read(at, min(block, left))
            try out.write(contentsOf: Data(part))
            (at, left) = (at + part.count, left - part.count)
        }
    }

    /// Where an entry's bytes begin, behind its local header.
    private func begin(_ entry: Entry) throws -> Int {
        guard entry.offset + StoredZip.localSize <= length else { throw damaged("an entry lies outside of it") }
        let head = Bytes(try read(entry.offset, StoredZip.localSize))
        guard try head.integer(UInt32.self, at: 0) == 0x0403_4b50 else { throw damaged("an entry without a header") }
        let name = Int(try head.integer(UInt16.self, at: 26)), extra = Int(try head.integer(UInt16.self, at: 28))
        let at = entry.offset + StoredZip.localSize + name + extra
        guard at + entry.size <= length else { throw damaged("an entry lies outside of it") }
        return at
    }

    private func read(_ offset: Int, _ count: Int) throws -> [UInt8] {
        try handle.seek(toOffset: UInt64(offset))
        let found = try handle.read(upToCount: count) ?? Data()
        guard found.count == count else { throw damaged("it ends early") }
        return [UInt8](found)
    }

    private func damaged(_ why: String) -> Failure { .bundle("\(file): not a packed bundle, or damaged (\(why)): copy it again") }
}
