/// Photos, best first. `scores`: the cosine of each one's best chunk. `plan`: the plan that was executed.
public struct VectorResult: Sendable {
    public let rows: [Int]
    public let scores: [Float]
    public let plan: Estimate.Plan
}

/// The k nearest photos in one channel, by exact scan or by graph search, as the planner chooses. Both rank
/// by int8 codes first, then re-rank the best with the residues.
///
/// If a graph search leaves too few photos within the filter, an exact scan replaces it: the vectors that the
/// graph finds nearest may all lie outside a narrow filter.
public enum Nearest {
    /// The k best photos. `rows`: the filter, ascending without repeats, or nil. `behind`: rows that changed
    /// since the graph was built; they are scanned in addition. `plan`: nil to let the planner choose.
    public static func find(
        _ vectors: VectorSet, graph: HNSW?, behind: [Int], query: [Float], k: Int, rows: [Int]? = nil, plan: Estimate.Plan? = nil
    ) -> VectorResult {
        let ready = VectorQuery(query)
        var rows = rows, chunks = 1.0
        if !vectors.oneEach {
            chunks = Double(vectors.count) / Double(max((vectors.owners.last ?? -1) + 1, 1))
        } else if let last = rows?.last, last >= vectors.count {
            rows = rows!.filter { $0 < vectors.count }
        }
        let left = rows.map { Int(Double($0.count) * chunks) } ?? vectors.count
        let costs = Estimate(total: vectors.count, left: left, dim: vectors.dim, k: k, chunks: chunks)
        if let rows, rows.count <= again(k), plan == nil { return ranked(vectors, ready, rows, k, .exact) }
        if let graph, (plan ?? costs.plan) == .hnsw, let found = walk(vectors, graph, behind, ready, k, rows, costs.width) {
            return ranked(vectors, ready, found, k, .hnsw)
        }
        return ranked(vectors, ready, scan(vectors, ready, k, rows), k, .exact)
    }

    /// How many photos are re-ranked.
    private static func again(_ k: Int) -> Int { k + max(6, k / 2) }

    /// The rows of the photos to re-rank, ascending.
    private static func scan(_ vectors: VectorSet, _ query: VectorQuery, _ k: Int, _ rows: [Int]?) -> [Int] {
        if let rows, rows.count <= again(k) { return rows }
        let asked = rows ?? (vectors.oneEach ? Array(0..<vectors.count) : ascending(vectors.owners))
        let scores = vectors.oneEach ? asked.map { vectors.rough(query, $0) } : vectors.bestOf(query, asked)
        return topmost(scores, again(k)).filter { scores[$0] > -.infinity }.map { asked[$0] }.sorted()
    }

    private static func walk(
        _ vectors: VectorSet, _ graph: HNSW, _ behind: [Int], _ query: VectorQuery, _ k: Int, _ rows: [Int]?, _ width: Int
    ) -> [Int]? {
        func isIn(_ row: Int) -> Bool { rows.map { isAmong($0, row) } ?? true }
        var found = graph.candidates(query, width).map { vectors.oneEach ? $0 : vectors.owners[$0] }.filter(isIn)
        let plain = vectors.oneEach && behind.isEmpty
        if !plain { found = ascending(found) }
        if found.count < min(k, rows?.count ?? vectors.count) { return nil }
        if plain { return Array(found.prefix(max(again(k), 0))) }
        if behind.isEmpty { return found }
        return ascending(found + scan(vectors, query, k, behind.filter(isIn)))
    }

    private static func ranked(_ vectors: VectorSet, _ query: VectorQuery, _ found: [Int], _ k: Int, _ plan: Estimate.Plan) -> VectorResult {
        let owners = found.filter { !vectors.positions(of: $0).isEmpty }
        let scores = owners.map { row in vectors.positions(of: row).reduce(-Float.infinity) { max($0, vectors.fineDot(query, $1)) } }
        let order = topmost(scores, k)
        return VectorResult(rows: order.map { owners[$0] }, scores: order.map { scores[$0] }, plan: plan)
    }
}
