/// An implicit, balanced K-D tree over (latitude, longitude, time): three integer columns and a permutation,
/// without pointers (FORMAT.md, segment `kdtree`).
public struct KDTree: Sendable {
    /// Integer bounds, inclusive.
    public struct Box: Sendable, Equatable {
        public var low: [Int]
        public var high: [Int]

        public init(low: [Int] = [.min, .min, .min], high: [Int] = [.max, .max, .max]) { (self.low, self.high) = (low, high) }
    }

    public static let lowest = Int.min
    public static let leaf = 32
    public static let version = 1

    /// Rows in tree order, and the points in the same order: [3][n], one array for each axis.
    public let order: [Int]
    public let columns: [[Int]]
    public let leaf: Int

    public var count: Int { order.count }

    /// Reads a segment. Raises Failure.album for bytes that are not a tree.
    public init(bytes raw: [UInt8]) throws {
        let bytes = Bytes(raw)
        guard raw.count >= 16 else { throw Failure.album("K-D tree segment: shorter than its header; rebuild the segment") }
        let version = Int(try bytes.integer(UInt16.self, at: 4)), n = try bytes.integer(UInt64.self, at: 8)
        leaf = Int(try bytes.integer(UInt16.self, at: 6))
        guard raw.starts(with: Array("GKDT".utf8)), version == KDTree.version else {
            let magic = raw[0..<4].map { (32..<127).contains($0) ? String(Unicode.Scalar($0)) : "?" }.joined()
            throw Failure.album("K-D tree segment: magic b'\(magic)', version \(version), expected b'GKDT', \(KDTree.version); rebuild the segment")
        }
        guard n <= UInt64(raw.count), raw.count == 16 + Int(n) * 28, leaf >= 1 else {
            throw Failure.album("K-D tree segment: \(raw.count) bytes do not hold \(n) points; rebuild the segment")
        }
        let count = Int(n)
        columns = try (0..<3).map { axis in try bytes.integers(Int64.self, at: 16 + 8 * count * axis, count: count).map(Int.init) }
        order = try bytes.integers(Int32.self, at: 16 + 24 * count, count: count).map(Int.init)
        guard order.allSatisfy({ $0 >= 0 && $0 < count }) else { throw Failure.album("K-D tree segment: a row number out of range; rebuild the segment") }
    }

    /// Builds a tree from the points (latitude, longitude, time), in order of row.
    public init(points: [[Int]], leaf: Int = KDTree.leaf) {
        var order = Array(points.indices)
        var stack = [(low: 0, high: order.count, axis: 0)]
        while let (low, high, axis) = stack.popLast() {
            if high - low <= leaf { continue }
            let mid = (low + high) / 2
            order[low..<high].sort { points[$0][axis] != points[$1][axis] ? points[$0][axis] < points[$1][axis] : $0 < $1 }
            stack.append((low, mid, (axis + 1) % 3))
            stack.append((mid + 1, high, (axis + 1) % 3))
        }
        self.order = order
        self.leaf = leaf
        columns = (0..<3).map { axis in order.map { points[$0][axis] } }
    }

    /// The segment, little-endian: header, then the columns in tree order, then the permutation.
    public func bytes() -> [UInt8] {
        var out = Array("GKDT".utf8) + littleEndian(UInt16(KDTree.version)) + littleEndian(UInt16(leaf)) + littleEndian(UInt64(count))
        out.reserveCapacity(16 + 28 * count)
        for column in columns { for value in column { out += littleEndian(Int64(value)) } }
        for row in order { out += littleEndian(Int32(row)) }
        return out
    }

    /// The rows of the points in any of the boxes, unsorted, each with the index of a box that holds it.
    public func hits(_ boxes: [Box]) -> [(row: Int, box: Int)] {
        var out: [(row: Int, box: Int)] = []
        for (number, box) in boxes.enumerated() {
            var stack = [(low: 0, high: count, axis: 0)]
            while let (low, high, axis) = stack.popLast() {
                if high - low <= leaf {
                    for at in low..<high where holds(box, at) { out.append((order[at], number)) }
                    continue
                }
                let mid = (low + high) / 2, value = columns[axis][mid]
                if holds(box, mid) { out.append((order[mid], number)) }
                // Equal values may lie on both sides of the middle, so both comparisons include equality.
                if box.low[axis] <= value { stack.append((low, mid, (axis + 1) % 3)) }
                if box.high[axis] >= value { stack.append((mid + 1, high, (axis + 1) % 3)) }
            }
        }
        return out
    }

    /// Ascending rows of the points in any of the boxes.
    public func range(_ boxes: [Box]) -> [Int] { Array(Set(hits(boxes).map(\.row))).sorted() }

    private func holds(_ box: Box, _ at: Int) -> Bool {
        for axis in 0..<3 where columns[axis][at] < box.low[axis] || columns[axis][at] > box.high[axis] { return false }
        return true
    }

    /// The rows of the k nearest points and their distances, nearest first, ties in order of row.
    ///
    /// `unit`: the distance of one step on each axis; 0 ignores the axis. `period`: the length of the second
    /// axis if it is circular (longitude), else 0. A point that is unknown on an axis in use is left out.
    public func nearest(_ point: [Int], unit: [Double], k: Int, period: Int = 0) -> [(row: Int, far: Double)] {
        guard k >= 1, unit.contains(where: { $0 > 0 }) else { return [] }
        var found: [(row: Int, far: Double)] = []
        for at in order.indices {
            var total = 0.0, known = true
            for axis in 0..<3 where unit[axis] > 0 {
                if columns[axis][at] == KDTree.lowest { known = false }
                var apart = abs(Double(columns[axis][at]) - Double(point[axis]))
                if axis == 1 && period > 0 { apart = min(apart, abs(Double(period) - apart)) }
                total += (apart * unit[axis]) * (apart * unit[axis])
            }
            if known { found.append((order[at], total.squareRoot())) }
        }
        found.sort { $0.far != $1.far ? $0.far < $1.far : $0.row < $1.row }
        return Array(found.prefix(k))
    }
}
