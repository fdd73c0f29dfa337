/// The vectors of all entities that have one. `vectors`: their owners are entity rows, at most one vector each.
/// `roots`: the entity that each row was merged into.
struct NodeVectors {
    let vectors: VectorSet
    let roots: [Int]
}

/// Finds the entity nodes near a query vector, by scan or, from `graphFrom` nodes on, by a graph over them
/// (index/entities/entity_vectors.py). The vector of a merged name counts for the entity that the name was merged into.
struct EntityNodes {
    static let segment = "entities"
    static let graphFrom = 10_000
    // Candidates of a graph search.
    private static let inView = 256

    private let found: NodeVectors
    private let graph: HNSW?
    // Positions of the vectors that the graph does not cover.
    private let late: [Int]

    var dim: Int { found.vectors.dim }

    /// `blob`: the segment's bytes, or nil; a segment that does not fit the nodes is ignored.
    init(_ found: NodeVectors, _ blob: [UInt8]?) {
        self.found = found
        var (graph, late): (HNSW?, [Int]) = (nil, [])
        if let blob, let known = try? HNSW.counts(blob) {
            var now = [Int](repeating: 0, count: max(known.count, found.roots.count))
            for owner in found.vectors.owners { now[owner] += 1 }
            let behind = now.indices.filter { now[$0] != ($0 < known.count ? known[$0] : 0) }
            graph = try? HNSW(bytes: blob, vectors: found.vectors, behind: behind)
            let rows = Set(behind)
            late = graph == nil ? [] : found.vectors.owners.indices.filter { rows.contains(found.vectors.owners[$0]) }
        }
        (self.graph, self.late) = (graph, late)
    }

    /// Each root's best cosine where it reaches `delta`, minus infinity elsewhere.
    func similar(_ query: VectorQuery, _ delta: Float) -> [Float] {
        let vectors = found.vectors
        func near(_ at: [Int]) -> [(at: Int, score: Float)] {
            at.filter { vectors.mayReach(query, $0, delta) }.map { ($0, vectors.dot(query, $0)) }.filter { $0.1 >= delta }
        }
        var passed = graph.map { near($0.candidates(query, EntityNodes.inView) + late) }
        // If so many candidates pass, the graph may have missed others.
        if passed == nil || passed!.count * 2 > EntityNodes.inView { passed = near(Array(vectors.owners.indices)) }
        var best = [Float](repeating: -.infinity, count: found.roots.count)
        for (at, score) in passed! {
            let root = found.roots[vectors.owners[at]]
            best[root] = max(best[root], score)
        }
        return best
    }
}
