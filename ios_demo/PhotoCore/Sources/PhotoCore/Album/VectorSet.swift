/// One channel's vectors in memory. Codes are [n][dim], contiguous, with one scale for each vector; `owners`:
/// the photo row of each vector, ascending (a photo's chunks are adjacent).
public struct VectorSet: Sendable {
    public let dim: Int
    public let codes: [Int8]
    public let scales: [Float]
    public let owners: [Int]
    public let fine: [UInt8]?
    /// The vectors of photo p are starts[p] to starts[p + 1] - 1. The length is the last owner + 2.
    public let starts: [Int]
    /// Whether every photo has exactly one vector, so that photo rows equal vector positions.
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

    /// Positions of all vectors of a photo row; empty for a row without a vector.
    public func positions(of row: Int) -> Range<Int> { row >= 0 && row + 1 < starts.count ? starts[row]..<starts[row + 1] : 0..<0 }

    /// The dot product of the codes of one vector with the query. For unit vectors this is the cosine.
    public func dot(_ query: VectorQuery, _ at: Int) -> Float {
        let (a, b) = products(query, at)
        return Float(Double(a) + Double(b) / VectorQuery.depth) * scales[at] * Float(query.scale)
    }

    /// `dot` with the query's first layer only, without the query's scale, to choose what `fineDot` re-ranks.
    public func rough(_ query: VectorQuery, _ at: Int) -> Float {
        Float(VectorSet.product(codes, at * dim, query.first)) * scales[at]
    }

    /// The dot product of codes plus residues with the query's floats: the most precise score.
    public func fineDot(_ query: VectorQuery, _ at: Int) -> Float {
        var sum: Float = 0
        for i in 0..<dim { sum += step(at, i) * query.floats[i] }
        return sum * scales[at]
    }

    /// Component `i` of a vector in steps: its code, with its residue.
    private func step(_ at: Int, _ i: Int) -> Float {
        let code = Float(codes[at * dim + i])
        guard let fine else { return code }
        return code + Float(fine[at * ((dim + 3) / 4) + i / 4] >> UInt8(2 * (i % 4)) & 3) / 4 - 0.375
    }

    /// The mean of a photo's vectors, of length 1; nil for a row without one.
    func mean(_ row: Int) -> [Float]? {
        let chunks = positions(of: row)
        if chunks.isEmpty { return nil }
        let mean = (0..<dim).map { i in chunks.reduce(Float(0)) { $0 + step($1, i) * scales[$1] } / Float(chunks.count) }
        let length = Float(mean.reduce(0.0) { $0 + Double($1) * Double($1) }.squareRoot())
        return length > 0 ? mean.map { $0 / length } : nil
    }

    /// For each of `rows` the best chunk's score by codes, minus infinity for a photo without a vector.
    public func bestOf(_ query: VectorQuery, _ rows: [Int]) -> [Float] {
        rows.map { row in positions(of: row).reduce(-Float.infinity) { max($0, dot(query, $1)) } }
    }

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
