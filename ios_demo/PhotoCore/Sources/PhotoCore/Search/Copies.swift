/// Copies and bursts of a photo, in an answer one hit with the ids of the others (runtime/search/copies.py).
enum Copies {
    private static let channel = "copies"  // of likenesses
    private static let same: Float = 0.995
    private static let nearly: Float = 0.95
    private static let burst = 3_000  // ms
    private static let most = 3_000  // photos of an answer of which copies are looked for: every two are compared

    private static let pairs = 4_000_000  // of photos that are compared at most, to find what an original knows

    /// The hits, best first, each copy with those it is a copy of: one stands for all, that of which most is known.
    static func together(_ album: Album, _ hits: [Hit]) throws -> [Hit] {
        let firsts = try firsts(album, hits.map(\.row))
        let groups = Dictionary(grouping: zip(firsts, hits), by: { $0.0 })
        var order: [Int] = []
        for first in firsts where !order.contains(first) { order.append(first) }
        if order.count == hits.count { return hits }
        let taken = try album.detailed("cameras")
        return order.map { one((groups[$0] ?? []).map(\.1), taken) }
    }

    /// `taken`: by row, whether a camera is known.
    private static func one(_ group: [Hit], _ taken: [Bool]) -> Hit {
        let best = group[0]
        if group.count == 1 { return best }
        func known(_ hit: Hit) -> Int {
            let photo = hit.photo, isDated = photo.takenAt != nil && photo.tzSource != "name"  // a name has no hour
            let told = [isDated, photo.lat != nil, taken[hit.row], photo.memories.contains { $0.source != "label" }].filter { $0 }.count
            return told + (hit.part("cue") >= best.part("cue") ? 10 : 0)
        }
        // Copying adds to a name: "-small", " (1)".
        let names = group.map { name($0.photo.id) }
        let values = zip(group, names).map { hit, own in (known(hit), own.isEmpty ? 0 : names.filter { $0.starts(with: own) }.count) }
        let at = values.indices.reduce(0) { values[$1] > values[$0] ? $1 : $0 }
        var shown = group[at]
        (shown.score, shown.probability, shown.parts) = (best.score, best.probability, best.parts)
        shown.copies = group.indices.filter { $0 != at }.map { group[$0].photo.id }
        return shown
    }

    /// The name of a photo's file, without its folder and its ending; "" where the id is no file's.
    private static func name(_ id: String) -> Text {
        let file = Text(id).split(separator: "/", omittingEmptySubsequences: false).last ?? []
        return Text(file.lastIndex(of: ".").map { file[..<$0] } ?? [])
    }

    /// For each of `rows` the earliest among them that it is a copy of, itself if there is none before.
    static func firsts(_ album: Album, _ rows: [Int]) throws -> [Int] {
        guard try album.channels().contains(channel), (2...most).contains(rows.count) else { return rows }
        let all = try album.times(), looks = try rows.map { Look(vector: try album.mean(channel, $0), time: all[$0]) }
        var kept: [Int] = []  // those that are no copy
        return rows.indices.map { at in
            if let first = kept.first(where: { looks[$0].isLike(looks[at]) }) { return rows[first] }
            kept.append(at)
            return rows[at]
        }
    }

    /// By row: whether something is known of a photo, or of one that it is a copy of. `known` itself for an album
    /// without likenesses, or where more than `pairs` would be compared.
    static func inherited(_ album: Album, _ known: [Bool]) throws -> [Bool] {
        let having = known.indices.filter { known[$0] }, lacking = known.indices.filter { !known[$0] }
        guard try album.channels().contains(channel), (1...pairs).contains(having.count * lacking.count) else { return known }
        let times = try album.times()
        func look(_ row: Int) throws -> Look { Look(vector: try album.mean(channel, row), time: times[row]) }
        let looks = try having.map(look)
        var out = known
        for row in lacking {
            let own = try look(row)
            out[row] = looks.contains { $0.isLike(own) }
        }
        return out
    }

    private struct Look {
        let vector: [Float]?, time: Int

        func isLike(_ other: Look) -> Bool {
            guard let one = vector, let two = other.vector else { return false }
            let isBurst = time != .min && other.time != .min && abs(time - other.time) <= burst
            var dot: Float = 0
            for at in one.indices { dot += one[at] * two[at] }
            return dot >= (isBurst ? nearly : same)
        }
    }
}
