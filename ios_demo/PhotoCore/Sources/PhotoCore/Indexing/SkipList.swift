import Foundation

/// The photos that ended the process while they were encoded (a decoder that crashes, memory that ran out), or
/// that failed. After two of these a photo is skipped, so that the others are reached. The file has a line for
/// each: its count and its key.
public final class SkipList {
    public static let tries = 2
    private static let grey = Pixels(bytes: [UInt8](repeating: 127, count: 3 * 32 * 32), width: 32, height: 32)
    private let path: String
    private var counts: [String: Int] = [:]
    private var open: String?

    public init(_ path: String) {
        self.path = path
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: "\t", maxSplits: 1)
            if parts.count == 2, let count = Int(parts[0]) { counts[String(parts[1])] = count }
        }
    }

    /// Throws `error`, which came at the last photo, unless the photo is its cause: if `grey`, the same with a small grey picture in its
    /// place, gives nothing either, the models fail at every photo, and none may be left out for that.
    func blame(_ error: Error, _ grey: (Pixels) throws -> Any?) throws {
        if (try? grey(SkipList.grey)) != nil { return }
        end()
        throw error
    }

    public func isSkipped(_ key: String) -> Bool { counts[key, default: 0] >= SkipList.tries }

    /// Counts a try before it begins, so that the count outlives the process. Returns which it is.
    @discardableResult
    public func begin(_ key: String) -> Int {
        open = key
        counts[key, default: 0] += 1
        store()
        return counts[key, default: 0]
    }

    /// The last photo did no harm: its tries are not counted.
    public func end() {
        guard let open else { return }
        counts[open] = nil
        self.open = nil
        store()
    }

    private func store() {
        let lines = counts.sorted { $0.key < $1.key }.map { "\($0.value)\t\($0.key)\n" }
        // Without the list a run may repeat a photo; indexing itself goes on.
        try? lines.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }
}
