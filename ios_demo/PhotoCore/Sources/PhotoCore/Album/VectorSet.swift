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
    /// The greatest sum of the codes' sizes of any vector.
    private let most: Int

    public var count: Int { scales.count }

    public init(dim: Int, codes: [Int8], scales: [Float], owners: [Int], fine: [UInt8]?) {
        (self.dim, self.codes, self.scales, self.owners, self.fine) = (dim, codes, scales, owners, fine)
        oneEach = owners.enumerated().allSatisfy { $0 == $1 }
        var starts = [Int](repeating: 0, count: (owners.last ?? -1) + 2)
        for owner in owners { starts[owner + 1] += 1 }
        for at in starts.indices.dropFirst() { starts[at] += starts[at - 1] }
        self.starts = starts
        most = stride(from: 0, to: dim > 0 ? codes.count : 0, by: max(1, dim)).reduce(0) { most, from in
            var sum = 0
            for at in from..<(from + dim) { sum += Int(codes[at].magnitude) }
            return max(most, sum)
        }
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

    /// For each of `rows` the best chunk's score by codes, minus infinity for a photo without a vector. `isRough`: by the query's
    /// first layer alone.
    public func bestOf(_ query: VectorQuery, _ rows: [Int], isRough: Bool = false) -> [Float] {
        let scale = Float(query.scale)
        return rows.map { row in
            var best = -Float.infinity
            for at in positions(of: row) { best = max(best, isRough ? rough(query, at) * scale : dot(query, at)) }
            return best
        }
    }

    /// Whether `dot` can reach `least`: by the first layer, and the most that the second one can add to it.
    func mayReach(_ query: VectorQuery, _ at: Int, _ least: Float) -> Bool {
        Double(rough(query, at)) * query.scale + Double(abs(scales[at])) * query.scale * Double(most) / 2 >= Double(least) - 1e-4  // float32 rounds
    }

    private func products(_ query: VectorQuery, _ at: Int) -> (Int32, Int32) {
        (VectorSet.product(codes, at * dim, query.first), VectorSet.product(codes, at * dim, query.second))
    }

    static func product(_ codes: [Int8], _ from: Int, _ query: [Int8]) -> Int32 {
        codes.withUnsafeBufferPointer { codes in
            query.withUnsafeBufferPointer { query in
                precondition(from >= 0 && from + query.count <= codes.count)
                let (codes, query, count) = (codes.baseAddress! + from, query.baseAddress!, query.count)
                var sum: Int32 = 0
                for i in 0..<count { sum &+= Int32(codes[i]) &* Int32(query[i]) }
                return sum
            }
        }
    }
}
