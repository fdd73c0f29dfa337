/// What will probably come next in a text that grows (runtime/models/language/drafts.py): the tokens that followed
/// the last few where these stood before, because a refinement and a quotation repeat what they read. Right guesses
/// make the next longer, wrong ones shorter and rarer.
public struct Drafts {
    /// The tokens that must have stood together before.
    private static let together = 2...3
    /// The most tokens of a guess.
    public static let most = 7
    /// The most steps without a guess after one that was wrong.
    private static let longestPause = 32

    private var ids: [Int] = []
    private var after: [[Int]: Int] = [:]
    private var size = 3, pause = 1, wait = 0

    public init(_ prompt: [Int]) { grow(prompt) }

    /// At most `most` tokens that may follow the text, which goes on with `new`; often none.
    public mutating func guess(_ new: [Int], most: Int) -> [Int] {
        grow(new)
        wait -= 1
        if wait > 0 { return [] }
        for count in Drafts.together.reversed() {
            if let place = after[ids.suffix(count).map { $0 }], place < ids.count { return Array(ids[place...].prefix(max(0, min(size, most)))) }
        }
        return []
    }

    /// Learns how many tokens of a guess were right.
    public mutating func judge(guessed: Int, right: Int) {
        size = right == guessed ? min(Drafts.most, 2 * size + 1) : max(1, right)
        (wait, pause) = right > 0 ? (wait, 1) : (pause + 1, min(Drafts.longestPause, 2 * pause))
    }

    private mutating func grow(_ new: [Int]) {
        for token in new {
            // What ended before this token is now followed by it; the newest place is the best guess.
            for count in Drafts.together where ids.count >= count { after[ids.suffix(count).map { $0 }] = ids.count }
            ids.append(token)
        }
    }
}

/// A decoder behind a prompt: reads the tokens that were chosen, and with them a guess at the next. A wrong guess is
/// cut from the cache, so that the text is the same as without.
struct Ahead {
    private let decoder: Decoder
    private let slots: Int
    private let embed: ([Int]) throws -> [Float]
    private let begin: Int
    private var drafts: Drafts?
    private var read: [Int] = []
    private var rows: [Int: [Float]]
    private var guess = 0..<0
    private var told = 0
    /// The tokens that were guessed, and those of them that were chosen.
    private(set) var drafted = 0, right = 0

    /// `begun`: the logits after the prompt. `drafts`: nil reads one token a call.
    init(_ decoder: Decoder, slots: Int, begun: [Float], drafts: Drafts?, embed: @escaping ([Int]) throws -> [Float]) {
        (self.decoder, self.slots, self.embed, self.drafts) = (decoder, slots, embed, drafts)
        (begin, rows) = (decoder.past, [0: begun])
    }

    /// Whether the decoder can read `count` chosen tokens.
    func hasRoom(_ count: Int) -> Bool { begin + count <= slots }

    /// The logits after `ids`, the tokens chosen so far.
    mutating func logits(_ ids: [Int]) throws -> [Float] {
        let known = common(ids, read)
        if known == ids.count, let row = rows[known] { return row }
        cut(known)
        var unread = Array(ids[known...])
        if unread.count > 1 && begin + ids.count == slots {
            // No token shares a call with the last slot's, so that it always has the same numbers.
            let before = Array(unread.dropLast())
            _ = try decoder.forward(try embed(before), ids: before, last: 1)
            unread = unread.suffix(1)
        }
        let next = try guessed(ids), chunk = unread + next
        let found = try decoder.forward(try embed(chunk), ids: chunk, last: 1 + next.count).logits
        rows = Dictionary(uniqueKeysWithValues: found.enumerated().map { (ids.count + $0, $1) })
        (read, guess) = (ids + next, ids.count..<(ids.count + next.count))
        return found[0]
    }

    /// Cuts what was guessed and not chosen.
    mutating func end(_ ids: [Int]) { cut(common(ids, read)) }

    private mutating func guessed(_ ids: [Int]) throws -> [Int] {
        let new = Array(ids[told...])
        told = ids.count
        let guess = drafts?.guess(new, most: min(Drafts.most, slots - 1 - begin - ids.count)) ?? []
        return try guess.isEmpty || !decoder.isAlike() ? [] : guess
    }

    private mutating func cut(_ known: Int) {
        if !guess.isEmpty {
            let chosen = min(known, guess.upperBound) - guess.lowerBound
            drafts?.judge(guessed: guess.count, right: chosen)
            (drafted, right, guess) = (drafted + guess.count, right + chosen, 0..<0)
        }
        decoder.cut(begin + known)
    }
}

/// The length of the longest common beginning.
public func common(_ a: [Int], _ b: [Int]) -> Int { zip(a, b).prefix { $0 == $1 }.count }
