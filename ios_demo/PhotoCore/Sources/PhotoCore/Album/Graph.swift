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

/// The entity graph of layer 2. A photo hangs on the entities that its memories are about; edges lead from
/// these to what describes them.
public enum Graph {
    /// The nodes from which a depth-first search over edges from parent to child reaches `node`, and itself,
    /// ascending. `parents`: of each node. At most `depth` edges are followed, whatever the similarity of the
    /// nodes on the way.
    public static func above(_ node: Int, parents: Adjacency, depth: Int) -> [Int] {
        var found: Set<Int> = [node], frontier = [node]
        for _ in 0..<depth {
            frontier = frontier.flatMap { parents.of($0) }.filter { found.insert($0).inserted }
            if frontier.isEmpty { break }
        }
        return found.sorted()
    }
}
