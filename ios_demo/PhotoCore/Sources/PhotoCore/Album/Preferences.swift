/// Feedback of the form "A is better than B", which reorders a ranking only where both match
/// (index/album/preferences.py).
public struct Preferences: Sendable {
    public typealias Pair = (better: Int, worse: Int)

    /// Pairs (better, worse) of photo rows, and of entity rows.
    public let photos: [Pair]
    public let entities: [Pair]

    public init(photos: [Pair] = [], entities: [Pair] = []) { (self.photos, self.entities) = (photos, entities) }

    public var isEmpty: Bool { photos.isEmpty && entities.isEmpty }

    /// `ranked`, with each better item moved directly before the first item it is better than. Other items
    /// keep their order. Pairs in a cycle (from a damaged file) neither drop nor repeat an item.
    public static func reorder(_ ranked: [Int], _ pairs: [Pair]) -> [Int] {
        var place: [Int: Int] = [:]
        for (at, row) in ranked.enumerated() { place[row] = at }
        var betters: [Int: [Int]] = [:]
        for pair in pairs where place[pair.better] != nil && place[pair.worse] != nil { betters[pair.worse, default: []].append(pair.better) }
        var out: [Int] = [], begun = Set<Int>()
        for first in ranked {
            var stack = begun.contains(first) ? [] : [first]
            while let row = stack.last {
                if begun.insert(row).inserted {
                    let waiting = Set(betters[row] ?? []).filter { !begun.contains($0) }.sorted { (place[$0] ?? -1) > (place[$1] ?? -1) }
                    stack += waiting
                    if !waiting.isEmpty { continue }
                }
                stack.removeLast()
                if place.removeValue(forKey: row) != nil { out.append(row) }
            }
        }
        return out
    }

    /// Preferences between entities as pairs of photos. `linked`: photo rows in the order of the ranking,
    /// each with the entities it is linked to.
    public static func betweenPhotos(_ entities: [Pair], _ linked: [(row: Int, names: Set<Int>)]) -> [Pair] {
        entities.flatMap { pair -> [Pair] in
            let ours = linked.filter { $0.names.contains(pair.better) && !$0.names.contains(pair.worse) }.map(\.row)
            let theirs = linked.filter { $0.names.contains(pair.worse) && !$0.names.contains(pair.better) }.map(\.row)
            return ours.flatMap { a in theirs.map { (a, $0) } }
        }
    }
}
