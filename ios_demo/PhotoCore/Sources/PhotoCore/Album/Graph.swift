/// Compressed sparse rows (CSR): row i's neighbours are `targets[offsets[i]..<offsets[i + 1]]`, ascending.
public struct Adjacency: Sendable {
    public let offsets: [Int]
    public let targets: [Int]

    /// Builds the links from pairs in any order; `count`: the number of source rows.
    public init(_ pairs: [(source: Int, target: Int)], count: Int) {
        let sorted = pairs.sorted { ($0.source, $0.target) < ($1.source, $1.target) }
        var offsets = [Int](repeating: 0, count: count + 1)
        for pair in sorted { offsets[pair.source + 1] += 1 }
        for row in 0..<count { offsets[row + 1] += offsets[row] }
        (self.offsets, targets) = (offsets, sorted.map(\.target))
    }

    public func of(_ row: Int) -> ArraySlice<Int> { targets[offsets[row]..<offsets[row + 1]] }
}

/// The traversal of the entity graph in layer 2.
public enum Graph {
    /// The nodes with similarity ≥ `delta` that are reachable from the activated ones through such nodes.
    /// `edges` holds each relation in both directions. The result is sorted by similarity, best first; equal
    /// similarities in order of row.
    public static func traverse(_ activated: [Int], similarity: [Float], edges: Adjacency, delta: Double) -> [Int] {
        var kept = [Bool](repeating: false, count: similarity.count)
        let least = Float(delta)
        var frontier = activated.filter { similarity[$0] >= least }
        while let row = frontier.popLast() {
            if kept[row] { continue }
            kept[row] = true
            frontier += edges.of(row).filter { !kept[$0] && similarity[$0] >= least }
        }
        return similarity.indices.filter { kept[$0] }.sorted { similarity[$0] != similarity[$1] ? similarity[$0] > similarity[$1] : $0 < $1 }
    }
}
