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
        static func < (a: Near, b: Near) -> Bool { a.far < b.far }
    }

    /// Searches greedily from the entry down to level 1, then for the best `width` candidates on the lowest
    /// level; returns slots, nearest first.
    private func walk(_ query: [Int8], _ width: Int) -> [Int] {
        let norm = Double(VectorSet.product(query, 0, query))
        func far(_ slot: Int) -> Float { distance(query, norm, slot) }
        var closest = Near(far: far(links.entry), slot: links.entry)
        for level in stride(from: links.top, to: 0, by: -1) {
            var changed = true
            while changed {
                changed = false
                for slot in links.neighbours(closest.slot, level) {
                    let near = Near(far: far(slot), slot: slot)
                    if near < closest { (closest, changed) = (near, true) }
                }
            }
        }
        var seen = [Bool](repeating: false, count: links.count)
        seen[closest.slot] = true
        var next = Heap<Near>(), best = [closest]
        next.push(closest)
        while let candidate = next.pop() {
            if candidate.far > best[best.count - 1].far { break }
            for slot in links.neighbours(candidate.slot, 0) where !seen[slot] {
                seen[slot] = true
                let near = Near(far: far(slot), slot: slot)
                guard best.count < width || near.far < best[best.count - 1].far else { continue }
                next.push(near)
                let at = best.firstIndex { !($0 < near) } ?? best.count
                best.insert(near, at: at)
                if best.count > width { best.removeLast() }
            }
        }
        return best.map(\.slot)
    }

    /// One minus the cosine of the int8 codes. A node without a current vector counts as zeros, which are
    /// near to no query.
    private func distance(_ query: [Int8], _ norm: Double, _ slot: Int) -> Float {
        let key = links.keys?[slot] ?? slot, place = places?[key] ?? key
        if place < 0 { return norm == 0 ? 0 : 1 }
        let from = place * vectors.dim
        let dot = Double(VectorSet.product(vectors.codes, from, query))
        let own = vectors.codes[from..<(from + vectors.dim)].reduce(0.0) { $0 + Double(Int($1) * Int($1)) }
        if norm == 0 && own == 0 { return 0 }
        return dot == 0 ? 1 : Float(max(0, 1 - dot / (norm.squareRoot() * own.squareRoot())))
    }
}
