import Foundation
import PhotoCore

/// A temporary folder for copies, deleted with this object.
final class Scratch {
    let folder: String
    private var count = 0

    init() throws {
        folder = NSTemporaryDirectory() + "photo-replay-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A copy of a file with some bytes changed (offset, hexadecimal digits), cut to a length.
    func copy(_ path: String, edits: [JSON] = [], length: Int? = nil) throws -> String {
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        Scratch.edit(&bytes, edits, length)
        return try write(bytes)
    }

    func write(_ bytes: [UInt8]) throws -> String {
        count += 1
        let copy = "\(folder)/\(count)"
        try Data(bytes).write(to: URL(fileURLWithPath: copy))
        return copy
    }

    /// A new, empty folder.
    func place() throws -> String {
        count += 1
        let made = "\(folder)/\(count)"
        try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
        return made
    }

    static func edit(_ bytes: inout [UInt8], _ edits: [JSON], _ length: Int?) {
        for edit in edits {
            let digits = Array((edit[1]?.string ?? "").utf8), at = edit[0]?.int ?? 0
            for n in 0..<(digits.count / 2) { bytes[at + n] = UInt8(String(decoding: digits[(2 * n)...(2 * n + 1)], as: UTF8.self), radix: 16) ?? 0 }
        }
        if let length { bytes = Array(bytes[..<length]) }
    }
}
