/// Byte-pair encoding: the letters of a word are merged pair by pair, the pair of lowest rank first, the
/// leftmost of equal ones.
struct BytePairs: Sendable {
    private struct Pair: Hashable {
        let left: Int
        let right: Int
    }

    let vocab: [Text: Int]
    private var merges: [Pair: (rank: Int, id: Int)] = [:]
    private let prefix: Text
    private let suffix: Text
    private let unknown: Int?
    private let fusesUnknown: Bool
    private let ignoresMerges: Bool

    init(_ raw: JSON, vocab: [Text: Int]) throws {
        self.vocab = vocab
        prefix = (raw["continuing_subword_prefix"]?.string ?? "").scalars
        suffix = (raw["end_of_word_suffix"]?.string ?? "").scalars
        unknown = raw["unk_token"]?.string.flatMap { vocab[$0.scalars] }
        fusesUnknown = raw["fuse_unk"]?.bool ?? false
        ignoresMerges = raw["ignore_merges"]?.bool ?? false
        for (rank, merge) in (raw["merges"]?.array ?? []).enumerated() {
            let parts = merge.array?.compactMap { $0.string?.scalars } ?? (merge.string ?? "").scalars.split(separator: " ").map { Array($0) }
            guard parts.count == 2, let left = vocab[parts[0]], let right = vocab[parts[1]],
                let whole = vocab[parts[0] + parts[1].dropFirst(prefix.count)]
            else { throw Failure.value("merge \(rank) of the tokenizer joins what its vocabulary does not hold") }
            if merges[Pair(left: left, right: right)] == nil { merges[Pair(left: left, right: right)] = (rank, whole) }
        }
    }

    func ids(_ word: Text) -> [Int] {
        if ignoresMerges, let whole = vocab[word] { return [whole] }
        return joined(letters(word))
    }

    private func letters(_ word: Text) -> [Int] {
        var out: [Int] = [], wasUnknown = false
        for (at, letter) in word.enumerated() {
            var spelt: Text = at > 0 ? prefix + [letter] : [letter]
            if at == word.count - 1 { spelt += suffix }
            if let id = vocab[spelt] {
                out.append(id)
                wasUnknown = false
            } else if let unknown {
                if !(wasUnknown && fusesUnknown) { out.append(unknown) }
                wasUnknown = true
            }
        }
        return out
    }

    private func joined(_ letters: [Int]) -> [Int] {
        var ids = letters
        var next = Array(1...max(1, ids.count)), before = Array(-1..<(ids.count - 1 + (ids.isEmpty ? 1 : 0)))
        var gone = [Bool](repeating: false, count: ids.count)
        var queue = Heap<Merge>()
        func offer(_ at: Int) {
            guard at >= 0, next[at] < ids.count, let found = merges[Pair(left: ids[at], right: ids[next[at]])] else { return }
            queue.push(Merge(rank: found.rank, at: at, left: ids[at], right: ids[next[at]], id: found.id))
        }
        if ids.count > 1 { for at in 0..<(ids.count - 1) { offer(at) } }
        while let merge = queue.pop() {
            let at = merge.at
            guard !gone[at], ids[at] == merge.left, next[at] < ids.count, ids[next[at]] == merge.right else { continue }
            let other = next[at]
            ids[at] = merge.id
            gone[other] = true
            next[at] = next[other]
            if next[at] < ids.count { before[next[at]] = at }
            offer(before[at])
            offer(at)
        }
        return ids.indices.filter { !gone[$0] }.map { ids[$0] }
    }

    private struct Merge: Comparable {
        let rank: Int, at: Int, left: Int, right: Int, id: Int
        static func < (a: Merge, b: Merge) -> Bool { (a.rank, a.at) < (b.rank, b.at) }
    }
}
