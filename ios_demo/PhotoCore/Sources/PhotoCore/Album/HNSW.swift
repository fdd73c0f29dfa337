/// The HNSW segment (FORMAT.md, `hnsw:CHANNEL`): links over the vectors of one channel, without the vectors.
/// It proposes candidates; the caller ranks them.
public struct HNSW: Sendable {
    public static let version = 2
    private static let magic = Array("GHNS".utf8), engine = Array("usearch".utf8)

    private let links: HNSWLinks
    /// The VectorSet position of each graph node, -1 where the photo has changed since; nil if node numbers
    /// and positions are the same.
    private let places: [Int]?
    private let vectors: VectorSet
    /// The length of each node's codes, 0 for one without a current vector.
    private let lengths: [Double]

    public var count: Int { links.count }

    /// The segment's bytes for an album of `photos` rows; nil if `isStopped` ended it.
    static func build(_ vectors: VectorSet, photos: Int, isStopped: () -> Bool = { false }) -> [UInt8]? {
        var builder = HNSWBuilder(vectors.codes, vectors.dim)
        guard let links = builder.build(isStopped: isStopped) else { return nil }
        var counts = [UInt16](repeating: 0, count: photos)
        for owner in vectors.owners { counts[owner] += 1 }
        var out = magic + littleEndian(UInt16(version)) + littleEndian(UInt16(vectors.dim))
        out += littleEndian(UInt64(vectors.count)) + littleEndian(UInt64(photos)) + engine + [UInt8](repeating: 0, count: 16 - engine.count)
        for count in counts { out += littleEndian(count) }
        return out + links
    }

    /// Opens a segment. `behind`: the photo rows that changed since it was built. Raises Failure.album if the
    /// bytes are not a graph over the vectors of the other rows.
    public init(bytes raw: [UInt8], vectors: VectorSet, behind: [Int]) throws {
        let bytes = Bytes(raw), counts = try HNSW.counts(raw)
        let version = Int(try bytes.integer(UInt16.self, at: 4)), dim = Int(try bytes.integer(UInt16.self, at: 6))
        let n = try bytes.integer(UInt64.self, at: 8)
        guard version == HNSW.version, dim == vectors.dim else {
            throw Failure.album("HNSW segment: version \(version) of \(dim) dimensions, expected \(HNSW.version) of \(vectors.dim); rebuild the segment")
        }
        guard n == UInt64(counts.reduce(0, +)) else {
            throw Failure.album("HNSW segment: \(counts.reduce(0, +)) chunks where \(n) were promised; rebuild the segment")
        }
        guard raw[24..<31].elementsEqual(HNSW.engine) else { throw Failure.album("HNSW segment: made by an engine that this program does not read") }
        let places = try HNSW.places(counts, vectors, behind)
        guard places != nil || vectors.count >= Int(n) else {
            throw Failure.album("HNSW segment: \(n) vectors where the rows have \(vectors.count); rebuild the segment")
        }
        (self.places, self.vectors) = (places, vectors)
        lengths = (0..<Int(n)).map { node in
            let place = places?[node] ?? node
            return place < 0 ? 0 : HNSW.length(vectors.codes, place * dim, dim)
        }
        links = try HNSWLinks(raw, from: 40 + 2 * counts.count, count: Int(n))
    }

    /// How many vectors each row had when the graph was built. Raises Failure.album.
    static func counts(_ raw: [UInt8]) throws -> [Int] {
        let bytes = Bytes(raw)
        guard raw.count >= 40, raw.starts(with: HNSW.magic) else { throw Failure.album("HNSW segment: not a graph; rebuild the segment") }
        let photos = try bytes.integer(UInt64.self, at: 16)
        guard photos <= UInt64(raw.count), raw.count >= 40 + 2 * Int(photos) else {
            throw Failure.album("HNSW segment: shorter than its number of photos; rebuild the segment")
        }
        return try bytes.integers(UInt16.self, at: 40, count: Int(photos)).map(Int.init)
    }

    private static func places(_ counts: [Int], _ vectors: VectorSet, _ behind: [Int]) throws -> [Int]? {
        let stale = Set(counts.indices.filter { vectors.positions(of: $0).count != counts[$0] }), late = Set(behind.filter { $0 < counts.count })
        if stale.isEmpty && late.isEmpty { return nil }
        if !stale.subtracting(behind).isEmpty, let last = vectors.owners.last, last >= counts.count - 1 {
            throw Failure.album("HNSW segment: its photos have other vectors than the rows; rebuild the segment")
        }
        return counts.indices.flatMap { photo -> [Int] in
            if stale.contains(photo) || late.contains(photo) { return [Int](repeating: -1, count: counts[photo]) }
            return Array(vectors.positions(of: photo))
        }
    }

    /// VectorSet positions of at most `count` near vectors, nearest first by the cosine of their int8 codes.
    public func candidates(_ query: VectorQuery, _ count: Int) -> [Int] {
        guard count >= 1, self.count > 0 else { return [] }
        let found = walk(query.first, min(count, self.count)).map { links.keys?[$0] ?? $0 }
        guard let places else { return found }
        return found.map { places[$0] }.filter { $0 >= 0 }
    }

    private struct Near: Comparable {
        let far: Float, slot: Int
        static func < (a: Near, b: Near) -> Bool { a.far != b.far ? a.far < b.far : a.slot < b.slot }
    }

    private struct Far: Comparable {
        let near: Near
        static func < (a: Far, b: Far) -> Bool { b.near < a.near }
    }

    /// Searches greedily from the entry down to level 1, then for the best `width` candidates on the lowest
    /// level; returns slots, nearest first.
    private func walk(_ query: [Int8], _ width: Int) -> [Int] {
        let length = HNSW.length(query, 0, query.count)
        func far(_ slot: Int) -> Float { distance(query, length, slot) }
        var closest = Near(far: far(links.entry), slot: links.entry)
        for level in stride(from: links.top, to: 0, by: -1) {
            var changed = true
            while changed {
                changed = false
                links.eachNeighbour(closest.slot, level) { slot in
                    let near = Near(far: far(slot), slot: slot)
                    if near.far < closest.far { (closest, changed) = (near, true) }
                }
            }
        }
        var seen = [Bool](repeating: false, count: links.count)
        seen[closest.slot] = true
        // The nearest candidate, and the furthest of those that are kept, come first.
        var next = Heap<Near>(), kept = Heap<Far>()
        next.push(closest)
        kept.push(Far(near: closest))
        while let candidate = next.pop() {
            if kept.count >= width, candidate.far > kept.first!.near.far { break }
            links.eachNeighbour(candidate.slot, 0) { slot in
                if seen[slot] { return }
                seen[slot] = true
                let near = Near(far: far(slot), slot: slot)
                if kept.count < width { kept.push(Far(near: near)) } else if near.far < kept.first!.near.far { kept.replaceFirst(Far(near: near)) } else { return }
                next.push(near)
            }
        }
        return kept.items.map(\.near).sorted().map(\.slot)
    }

    private static func length(_ codes: [Int8], _ from: Int, _ dim: Int) -> Double {
        var sum = 0
        for at in from..<(from + dim) { sum += Int(codes[at]) * Int(codes[at]) }
        return Double(sum).squareRoot()
    }

    /// One minus the cosine of the int8 codes. A node without a current vector counts as zeros, which are
    /// near to no query.
    private func distance(_ query: [Int8], _ length: Double, _ slot: Int) -> Float {
        let key = links.keys?[slot] ?? slot, place = places?[key] ?? key
        if place < 0 { return length == 0 ? 0 : 1 }
        let dot = Double(VectorSet.product(vectors.codes, place * vectors.dim, query))
        if length == 0 && lengths[key] == 0 { return 0 }
        return dot == 0 ? 1 : Float(max(0, 1 - dot / (length * lengths[key])))
    }
}
