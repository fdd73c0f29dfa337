import Foundation

/// The vectors of the names of an image tower's classes: float32 [classes][D], computed once, in some seconds, and kept in a file
/// of the cache, so that a later search has them at once. A file that is damaged is written anew.
enum ClassNames {
    /// `path`: nil to keep none.
    static func vectors(_ labels: [String], _ dim: Int, _ path: String?, encode: (String) throws -> [Float]) throws -> [[Float]] {
        if let kept = path.flatMap({ read($0, labels.count, dim) }) { return kept }
        let made = try labels.map(encode)
        if let path {
            // Without the file the next search computes them again.
            let bytes = made.joined().reduce(into: Data(capacity: 4 * made.count * dim)) { out, value in
                withUnsafeBytes(of: value.bitPattern.littleEndian) { out.append(contentsOf: $0) }
            }
            try? bytes.write(to: URL(fileURLWithPath: path), options: .atomic)
        }
        return made
    }

    private static func read(_ path: String, _ count: Int, _ dim: Int) -> [[Float]]? {
        guard let data = FileManager.default.contents(atPath: path), data.count == 4 * count * dim else { return nil }
        let all = (0..<count * dim).map { at -> Float in
            let bits = (0..<4).reduce(UInt32(0)) { $0 | UInt32(data[data.startIndex + 4 * at + $1]) << (8 * UInt32($1)) }
            return Float(bitPattern: bits)
        }
        return all.allSatisfy(\.isFinite) ? (0..<count).map { Array(all[$0 * dim..<($0 + 1) * dim]) } : nil
    }
}
