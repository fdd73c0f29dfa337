/// One channel in memory: codes [n][dim] in one row, a scale each, and the photo row of each vector, ascending (a photo's chunks stand together).
public struct VectorSet: Sendable {
    public let dim: Int
    public let codes: [Int8]
    public let scales: [Float]
    public let owners: [Int]
    public let fine: [UInt8]?
    /// The vectors of photo p are starts[p] to starts[p + 1] - 1; as long as the last owner + 2.
    public let starts: [Int]
    /// Whether vector i is photo i's only one, so that rows are positions.
    public let oneEach: Bool

    public var count: Int { scales.count }

    public init(dim: Int, codes: [Int8], scales: [Float], owners: [Int], fine: [UInt8]?) {
        (self.dim, self.codes, self.scales, self.owners, self.fine) = (dim, codes, scales, owners, fine)
        oneEach = owners.enumerated().allSatisfy { $0 == $1 }
        var starts = [Int](repeating: 0, count: (owners.last ?? -1) + 2)
        for owner in owners { starts[owner + 1] += 1 }
        for at in starts.indices.dropFirst() { starts[at] += starts[at - 1] }
        self.starts = starts
    }

    /// The vectors of a photo; none for a row that has none.
    public func positions(of row: Int) -> Range<Int> { row >= 0 && row + 1 < starts.count ? starts[row]..<starts[row + 1] : 0..<0 }

    /// Dot product of the stored bytes of one vector with the query: a cosine of unit vectors.
    public func dot(_ query: VectorQuery, _ at: Int) -> Float {
        let (a, b) = products(query, at)
        return Float(Double(a) + Double(b) / VectorQuery.depth) * scales[at] * Float(query.scale)
    }

    /// `dot` with the query's first byte alone, without its scale: for choosing what `fineDot` ranks.
    public func rough(_ query: VectorQuery, _ at: Int) -> Float {
        Float(VectorSet.product(codes, at * dim, query.first)) * scales[at]
    }

    /// The dot product with everything that is stored.
    public func fineDot(_ query: VectorQuery, _ at: Int) -> Float {
        var sum: Float = 0
        let row = at * dim, fineRow = at * ((dim + 3) / 4)
        for i in 0..<dim {
            var step = Float(codes[row + i])
            if let fine { step += Float(fine[fineRow + i / 4] >> UInt8(2 * (i % 4)) & 3) / 4 - 0.375 }
            sum += step * query.floats[i]
        }
        return sum * scales[at]
    }

    /// For each of `rows` the best chunk's score by bytes; minus infinity for a photo without a vector.
    public func bestOf(_ query: VectorQuery, _ rows: [Int]) -> [Float] {
        rows.map { row in positions(of: row).reduce(-Float.infinity) { max($0, dot(query, $1)) } }
    }

    public func bestPerRow(_ query: VectorQuery, _ count: Int) -> [Float] { bestOf(query, Array(0..<count)) }

    private func products(_ query: VectorQuery, _ at: Int) -> (Int32, Int32) {
        (VectorSet.product(codes, at * dim, query.first), VectorSet.product(codes, at * dim, query.second))
    }

    static func product(_ codes: [Int8], _ from: Int, _ query: [Int8]) -> Int32 {
        codes.withUnsafeBufferPointer { codes in
            query.withUnsafeBufferPointer { query in
                var sum: Int32 = 0
                for i in 0..<query.count { sum &+= Int32(codes[from + i]) &* Int32(query[i]) }
                return sum
            }
        }
    }
}
