/// Groups faces into people by the distances of their vectors (index/people/grouping.py): two groups become one if the mean squared
/// distance between their faces is small enough. For squared distances the mean follows from the groups' centres and spreads. Only
/// faces that are near each other are tried, the nearest first.
public enum Grouping {
    public static let threshold = 0.55
    private static let neighbours = 16 // of a face, of which any may be the same person
    private static let rounds = 4

    /// The person of each face after the groups that are near enough have become one. `persons`: who they were until now. `fresh`:
    /// the faces that are new; groups without any stay apart. `held`: people of whom no two become one. Of two people a held one
    /// stays, else the one with the lower number.
    public static func group(_ vectors: [[Float]], _ persons: [Int], fresh: [Int], held: Set<Int>, threshold: Double = threshold) -> [Int] {
        if fresh.isEmpty { return persons }
        let limit = threshold * threshold, faces = near(vectors, fresh, limit)
        var groups = Groups(vectors, persons, held, limit)
        for _ in 0..<rounds {
            var joined = groups.join(faces)
            let roots = groups.roots, placeOf = Dictionary(uniqueKeysWithValues: roots.enumerated().map { ($1, $0) })
            let new = Set(fresh.map { placeOf[groups.of($0)]! }).sorted()
            let pairs = near(roots.map { groups.centres[$0] }, new, limit)
            joined += groups.join(pairs.map { (groups.first[roots[$0]], groups.first[roots[$1]]) })
            if joined == 0 { break }
        }
        return persons.indices.map { groups.persons[groups.of($0)] }
    }

    /// Pairs of each of `rows` with its nearest other vectors, the nearest pairs first, none beyond the limit.
    private static func near(_ vectors: [[Float]], _ rows: [Int], _ limit: Double) -> [(Int, Int)] {
        typealias Pair = (row: Int, other: Int, apart: Double)
        var found: [Pair] = []
        for row in rows {
            let others: [Pair] = vectors.indices.compactMap { other in
                let apart = apart(vectors[row], vectors[other], limit)
                return other != row && apart <= limit ? (row, other, apart) : nil
            }
            found += others.sorted { ($0.apart, $0.other) < ($1.apart, $1.other) }.prefix(neighbours)
        }
        return found.enumerated().sorted { ($0.element.apart, $0.offset) < ($1.element.apart, $1.offset) }.map { ($0.element.row, $0.element.other) }
    }

    /// The squared distance of two vectors; above `limit` the sum of some of it, since most faces are far from most.
    fileprivate static func apart(_ a: [Float], _ b: [Float], _ limit: Double = .infinity) -> Double {
        var sum = 0.0
        for n in a.indices where sum <= limit {
            let by = Double(a[n] - b[n])
            sum += by * by
        }
        return sum
    }

    /// Groups of faces, which join; a group is known by its index among the people that there were first.
    private struct Groups {
        let persons: [Int]
        private let group: [Int]
        /// A face of each group.
        let first: [Int]
        private(set) var centres: [[Float]]
        private var counts, spread: [Double]
        private var isHeld: [Bool]
        private var parent: [Int]
        private let limit: Double

        init(_ vectors: [[Float]], _ of: [Int], _ held: Set<Int>, _ limit: Double) {
            persons = Set(of).sorted()
            let placeOf = Dictionary(uniqueKeysWithValues: persons.enumerated().map { ($1, $0) })
            group = of.map { placeOf[$0]! }
            var first = [Int](repeating: -1, count: persons.count), sums = [[Double]](repeating: [Double](repeating: 0, count: vectors[0].count), count: persons.count)
            var counts = [Double](repeating: 0, count: persons.count), spread = counts
            for (face, at) in group.enumerated() {
                if first[at] < 0 { first[at] = face }
                counts[at] += 1
                for n in sums[at].indices { sums[at][n] += Double(vectors[face][n]) }
            }
            let centres = sums.enumerated().map { at, sum in sum.map { Float($0 / counts[at]) } }
            for (face, at) in group.enumerated() { spread[at] += apart(vectors[face], centres[at]) / counts[at] }
            (self.first, self.centres, self.counts, self.spread, self.limit) = (first, centres, counts, spread, limit)
            isHeld = persons.map(held.contains)
            parent = Array(persons.indices)
        }

        /// Joins the groups of pairs of faces, in their order, where they are near enough; how many.
        mutating func join(_ pairs: [(Int, Int)]) -> Int {
            var joined = 0
            for (one, other) in pairs {
                let a = of(one), b = of(other)
                guard a != b, !(isHeld[a] && isHeld[b]), apart(centres[a], centres[b]) + spread[a] + spread[b] <= limit else { continue }
                join(a, b)
                joined += 1
            }
            return joined
        }

        /// The group of a face.
        mutating func of(_ face: Int) -> Int {
            var at = group[face]
            while parent[at] != at {
                parent[at] = parent[parent[at]]
                at = parent[at]
            }
            return at
        }

        var roots: [Int] { parent.indices.filter { parent[$0] == $0 } }

        private mutating func join(_ a: Int, _ b: Int) {
            let isFirst = isHeld[a] == isHeld[b] ? a < b : isHeld[a], stays = isFirst ? a : b, goes = isFirst ? b : a, m = counts[stays], n = counts[goes]
            let between = apart(centres[stays], centres[goes]) * m * n / ((m + n) * (m + n))
            spread[stays] = (m * spread[stays] + n * spread[goes]) / (m + n) + between
            for i in centres[stays].indices { centres[stays][i] = Float((m * Double(centres[stays][i]) + n * Double(centres[goes][i])) / (m + n)) }
            counts[stays] = m + n
            isHeld[stays] = isHeld[stays] || isHeld[goes]
            parent[goes] = stays
        }
    }
}
