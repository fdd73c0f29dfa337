/// usearch's links as the album stores them (FORMAT.md). Every link is checked when the graph is read,
/// because a search uses the numbers as indices.
struct HNSWLinks: Sendable {
    static let connectivity = 16
    private static let heads = 64 + 40
    private static let packed = 1 + 3 * 2 * connectivity
    private static let upperSize = 4 * (1 + connectivity)

    let raw: [UInt8]
    let count: Int
    let entry: Int
    let top: Int
    /// The vector of each slot; nil if slot i holds vector i.
    let keys: [Int]?
    private let levels: [UInt8]
    private let lowest: Int
    /// The byte offset of each slot's first upper level.
    private let uppers: [Int]

    init(_ raw: [UInt8], from begin: Int, count n: Int) throws {
        let bytes = Bytes(raw), length = raw.count - begin, flag = begin + HNSWLinks.heads
        guard length >= HNSWLinks.heads + 1 + n, raw[begin..<(begin + 7)].elementsEqual("usearch".utf8), raw[flag] <= 1 else {
            throw Failure.album("HNSW segment: not a graph of usearch; rebuild the segment")
        }
        let inOrder = raw[flag] == 1
        levels = Array(raw[(flag + 1)..<(flag + 1 + n)])
        let sum = levels.reduce(0) { $0 + Int($1) }
        let wanted = HNSWLinks.heads + 1 + n + (inOrder ? 0 : 4 * n) + n * HNSWLinks.packed + sum * HNSWLinks.upperSize
        guard length == wanted else { throw Failure.album("HNSW segment: \(length) bytes where \(wanted) were promised; rebuild the segment") }
        keys = inOrder ? nil : try bytes.integers(UInt32.self, at: flag + 1 + n, count: n).map(Int.init)
        lowest = flag + 1 + n + (inOrder ? 0 : 4 * n)
        var uppers = [Int](), at = lowest + n * HNSWLinks.packed
        for level in levels {
            uppers.append(at)
            at += Int(level) * HNSWLinks.upperSize
        }
        self.uppers = uppers
        let head = try bytes.integers(UInt64.self, at: begin + 64, count: 5)
        guard head[0] == UInt64(n), head[1] == 16, head[2] == 32, head[4] < UInt64(max(1, n)) else {
            throw Failure.album("HNSW segment: its head does not fit its nodes; rebuild the segment")
        }
        (self.raw, self.count, entry, top) = (raw, n, Int(head[4]), Int(clamping: head[3]))
        guard n == 0 || Int(levels.max()!) == top && Int(levels[entry]) == top else {
            throw Failure.album("HNSW segment: its head does not fit its nodes; rebuild the segment")
        }
        if let keys, keys.sorted() != Array(0..<n) { throw Failure.album("HNSW segment: keys that are not 0..n-1; rebuild the segment") }
        try check()
    }

    /// Calls `body` with each slot that a slot is linked to on a level.
    func eachNeighbour(_ slot: Int, _ level: Int, _ body: (Int) -> Void) {
        if level == 0 {
            let at = lowest + slot * HNSWLinks.packed
            for place in stride(from: at + 1, to: at + 1 + 3 * min(32, Int(raw[at])), by: 3) {
                body(Int(raw[place]) | Int(raw[place + 1]) << 8 | Int(raw[place + 2]) << 16)
            }
        } else {
            let at = uppers[slot] + (level - 1) * HNSWLinks.upperSize
            for number in 0..<min(16, Int(word(at))) { body(Int(word(at + 4 + 4 * number))) }
        }
    }

    private func word(_ at: Int) -> UInt32 { raw.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: at, as: UInt32.self)) } }

    private func check() throws {
        for slot in 0..<count {
            for level in 0...Int(levels[slot]) {
                let links = level == 0 ? Int(raw[lowest + slot * HNSWLinks.packed]) : Int(word(uppers[slot] + (level - 1) * HNSWLinks.upperSize))
                var leads = links <= (level == 0 ? 32 : 16), isHigh = true
                eachNeighbour(slot, level) { other in
                    if other >= count { leads = false } else if Int(levels[other]) < level { isHigh = false }
                }
                guard leads else { throw Failure.album("HNSW segment: links that lead nowhere; rebuild the segment") }
                guard isHigh else {
                    throw Failure.album("HNSW segment: links to nodes that are not that high; rebuild the segment")
                }
            }
        }
    }
}
