import Foundation

/// The photos that ended the process while they were encoded (a decoder that crashes, memory that ran out), or
/// that failed. After two of these a photo is skipped, so that the others are reached. The file has a line for
/// each: its count and its key.
public final class SkipList {
    public static let tries = 2
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

    public func isSkipped(_ key: String) -> Bool { counts[key, default: 0] >= SkipList.tries }

    /// Counts a try before it begins, so that the count outlives the process.
    public func begin(_ key: String) {
        open = key
        counts[key, default: 0] += 1
        store()
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
