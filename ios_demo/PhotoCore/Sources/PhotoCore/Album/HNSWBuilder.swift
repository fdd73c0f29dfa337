import Foundation

/// Builds an HNSW graph over int8 codes (Malkov and Yashunin 2016, arXiv 1603.09320, algorithms 1, 2 and 4), with
/// usearch's parameters and cosine distance, and writes it as the album stores it (FORMAT.md, `hnsw:CHANNEL`). The
/// levels are drawn from the vectors' numbers, so the same vectors give the same graph.
struct HNSWBuilder {
    /// Vectors: a channel with fewer gets no graph.
    static let from = 1_000
    /// Vectors: a link has three bytes.
    static let most = 1 << 24 - 1
    private static let wide = 16, wide0 = 32, expansion = 96, highest = 15, stopEvery = 64
    // usearch 2.26.6; cosine of int8, keys of 64 bits, slots of 32.
    private static let head = Array("usearch".utf8) + [2, 0, 26, 0, 6, 0, 0x63, 0x17, 0x0e, 0x0f]

    private let codes: [Int8]
    private let dim: Int
    private let count: Int
    private let levels: [Int]
    private let inverse: [Float]
    /// Of each node a count, then its links.
    private var lowest: [Int32]
    private var upper: [[Int32]]
    private var entry = 0
    private var top = -1
    private var stamps: [Int32]
    private var stamp: Int32 = 0

    /// `codes`: int8 [n * dim].
    init(_ codes: [Int8], _ dim: Int) {
        let count = dim == 0 ? 0 : codes.count / dim
        (self.codes, self.dim, self.count) = (codes, dim, count)
        levels = (0..<count).map(HNSWBuilder.level)
        inverse = (0..<count).map { at in
            let sum = codes[(at * dim)..<((at + 1) * dim)].reduce(0) { $0 + Int($1) * Int($1) }
            return sum == 0 ? 0 : Float(1 / Double(sum).squareRoot())
        }
        lowest = [Int32](repeating: 0, count: count * (1 + HNSWBuilder.wide0))
        upper = levels.map { [Int32](repeating: 0, count: $0 * (1 + HNSWBuilder.wide)) }
        stamps = [Int32](repeating: 0, count: count)
    }

    /// The links with usearch's heads; nil if `isStopped` ended it.
    mutating func build(isStopped: () -> Bool = { false }) -> [UInt8]? {
        for node in 0..<count {
            if node % HNSWBuilder.stopEvery == 0 && isStopped() { return nil }
            insert(node)
        }
        return bytes()
    }

    /// Level l or more with probability 16^-l, by SplitMix64 (`mixed`) of the vector's number.
    private static func level(_ number: Int) -> Int {
        let uniform = Double((mixed(UInt64(number)) >> 11) + 1) / Double(UInt64(1) << 53)  // in (0, 1]
        return min(highest, Int(-log(uniform) / log(Double(wide))))
    }

    private static func mixed(_ number: UInt64) -> UInt64 {
        var z = (number &+ 1) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    private struct Near: Comparable {
        let far: Float, node: Int32
        static func < (a: Near, b: Near) -> Bool { a.far < b.far }
    }

    /// A heap of these has the farthest first.
    private struct Far: Comparable {
        let far: Float, node: Int32
        static func < (a: Far, b: Far) -> Bool { a.far > b.far }
    }

    private mutating func insert(_ node: Int) {
        let level = levels[node]
        guard top >= 0 else {
            (entry, top) = (node, level)
            return
        }
        var at = entry, least = far(node, at)
        for above in stride(from: top, to: level, by: -1) {
            var moved = true
            while moved {
                moved = false
                for next in links(at, above) {
                    let d = far(node, Int(next))
                    if d < least { (least, at, moved) = (d, Int(next), true) }
                }
            }
        }
        for on in stride(from: min(level, top), through: 0, by: -1) {
            let near = around(node, at, on)
            at = Int(near[0])
            let chosen = diverse(node, near, HNSWBuilder.wide)
            setLinks(node, on, chosen)
            for other in chosen { link(Int(other), Int32(node), on) }
        }
        if level > top { (entry, top) = (node, level) }
    }

    /// The `expansion` nodes of a level that are nearest to `node`, as far as they are found from `start`; nearest first.
    private mutating func around(_ node: Int, _ start: Int, _ level: Int) -> [Int32] {
        stamp += 1
        stamps[start] = stamp
        let first = far(node, start)
        var next = Heap<Near>(), kept = Heap<Far>(), farthest = first
        next.push(Near(far: first, node: Int32(start)))
        kept.push(Far(far: first, node: Int32(start)))
        while let candidate = next.pop() {
            if candidate.far > farthest && kept.count >= HNSWBuilder.expansion { break }
            for slot in links(Int(candidate.node), level) where stamps[Int(slot)] != stamp {
                stamps[Int(slot)] = stamp
                let d = far(node, Int(slot))
                guard kept.count < HNSWBuilder.expansion || d < farthest else { continue }
                next.push(Near(far: d, node: slot))
                kept.push(Far(far: d, node: slot))
                if kept.count > HNSWBuilder.expansion { _ = kept.pop() }
                farthest = kept.first?.far ?? d
            }
        }
        var out: [Int32] = []
        while let last = kept.pop() { out.append(last.node) }
        return sorted(node, out)
    }

    /// Of candidates, nearest first, at most `most`: each is nearer to `node` than to any that was chosen before it, so
    /// that links lead into all directions.
    private func diverse(_ node: Int, _ candidates: [Int32], _ most: Int) -> [Int32] {
        if candidates.count <= 1 { return candidates }
        var chosen: [Int32] = []
        for candidate in candidates where chosen.count < most {
            let d = far(node, Int(candidate))
            if chosen.allSatisfy({ far(Int($0), Int(candidate)) >= d }) { chosen.append(candidate) }
        }
        return chosen
    }

    /// Links `from` to `to`; where it has no room, the most diverse of all stay.
    private mutating func link(_ from: Int, _ to: Int32, _ level: Int) {
        let room = level == 0 ? HNSWBuilder.wide0 : HNSWBuilder.wide
        let all = Array(links(from, level)) + [to]
        if all.count <= room {
            setLinks(from, level, all)
            return
        }
        setLinks(from, level, diverse(from, sorted(from, all), room))
    }

    /// By distance from `node`; equal ones (copies of a photo) in an order that differs from node to node, or all of
    /// them would link to the same few, and the rest would not be found.
    private func sorted(_ node: Int, _ others: [Int32]) -> [Int32] {
        let keyed = others.map { (far(node, Int($0)), HNSWBuilder.mixed(UInt64(Int($0) * count + node)) >> 32, $0) }
        return keyed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    private func links(_ node: Int, _ level: Int) -> ArraySlice<Int32> {
        let begin = HNSWBuilder.begin(node, level), own = level == 0 ? lowest : upper[node]
        return own[(begin + 1)..<(begin + 1 + Int(own[begin]))]
    }

    private mutating func setLinks(_ node: Int, _ level: Int, _ to: [Int32]) {
        let begin = HNSWBuilder.begin(node, level), part = begin..<(begin + 1 + to.count), new = [Int32(to.count)] + to
        if level == 0 { lowest.replaceSubrange(part, with: new) } else { upper[node].replaceSubrange(part, with: new) }
    }

    private static func begin(_ node: Int, _ level: Int) -> Int { level == 0 ? node * (1 + wide0) : (level - 1) * (1 + wide) }

    private func far(_ a: Int, _ b: Int) -> Float {
        codes.withUnsafeBufferPointer { codes in
            var sum: Int32 = 0
            let one = codes.baseAddress! + a * dim, other = codes.baseAddress! + b * dim
            for i in 0..<dim { sum &+= Int32(one[i]) &* Int32(other[i]) }
            return 1 - Float(sum) * inverse[a] * inverse[b]
        }
    }

    private func bytes() -> [UInt8] {
        var out = HNSWBuilder.head
        for number in [count, 0, dim] { out += littleEndian(UInt64(number)) }
        out += [UInt8](repeating: 0, count: 64 - out.count)
        for number in [count, HNSWBuilder.wide, HNSWBuilder.wide0, top, entry] { out += littleEndian(UInt64(bitPattern: Int64(number))) }
        out.append(1)
        out += levels.map { UInt8($0) }
        for node in 0..<count {
            let own = links(node, 0)
            out.append(UInt8(own.count))
            for link in own { out += [UInt8(truncatingIfNeeded: link), UInt8(truncatingIfNeeded: link >> 8), UInt8(truncatingIfNeeded: link >> 16)] }
            out += [UInt8](repeating: 0, count: 3 * (HNSWBuilder.wide0 - own.count))
        }
        for links in upper { for link in links { out += littleEndian(UInt32(bitPattern: link)) } }
        return out
    }
}
