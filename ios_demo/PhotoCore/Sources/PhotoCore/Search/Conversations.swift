/// Which rows are chat messages, and which follow each other in time without a long silence
/// (runtime/search/stages/ranking.py).
public struct Conversations: Sendable {
    public static let near = [-2, -1, 1, 2]
    private static let silence = 3 * 3_600_000

    /// Whether any row is a message.
    public let isAny: Bool
    private let said: [Bool]
    private let order: [Int]
    private let place: [Int]
    private let session: [Int]

    /// `times`: wall time by row, the lowest integer where unknown.
    public init(times: [Int], said: [Bool]) {
        let order = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
        var place = [Int](repeating: 0, count: times.count), session = [Int](repeating: 0, count: times.count)
        for (at, row) in order.enumerated() {
            place[row] = at
            guard at > 0 else { continue }
            let before = times[order[at - 1]]
            let silent = before == .min || Double(times[row]) - Double(before) > Double(Conversations.silence)
            session[at] = session[at - 1] + (silent ? 1 : 0)
        }
        (self.said, self.order, self.place, self.session) = (said, order, place, session)
        isAny = said.contains(true)
    }

    /// The row `step` places later (earlier if negative) in time order, if both are messages of the same
    /// conversation.
    public func neighbour(_ row: Int, _ step: Int) -> Int? {
        let there = place[row] + step
        guard order.indices.contains(there), session[there] == session[place[row]] else { return nil }
        return said[row] && said[order[there]] ? order[there] : nil
    }

    /// How the messages around a message match the query's words, for each of `rows`: BM25 and coverage. BM25
    /// is summed over the neighbours; coverage is the share of the words that the message and its neighbours
    /// hold together, weighted by rarity. Both are 0 for photos that are not messages.
    public func context(_ words: WordScores, _ rows: [Int]) -> (words: [Float], coverage: [Float]) {
        var around = [Float](repeating: 0, count: rows.count), held = around
        if words.words.isEmpty || !isAny { return (around, held) }
        let bm25 = words.bm25(), whole = words.words.reduce(0) { $0 + $1.rarity }
        let has = words.words.map { word -> [Bool] in
            var has = [Bool](repeating: false, count: words.photos)
            for row in word.rows { has[row] = true }
            return has
        }
        for (at, row) in rows.enumerated() where said[row] {
            let others = Conversations.near.compactMap { neighbour(row, $0) }
            for other in others { around[at] += bm25[other] }
            for (word, has) in zip(words.words, has) where has[row] || others.contains(where: { has[$0] }) { held[at] += Float(word.rarity / whole) }
        }
        return (around, held)
    }
}
