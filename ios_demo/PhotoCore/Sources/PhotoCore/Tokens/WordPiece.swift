/// WordPiece: takes the longest piece of the vocabulary from the left each time. A word that cannot be split
/// this way becomes the unknown token.
struct WordPiece: Sendable {
    let vocab: [Text: Int]
    let unknown: Int
    let prefix: Text
    let maxLetters: Int
    private let longest: Int

    init(_ raw: JSON, vocab: [Text: Int]) throws {
        let name = raw["unk_token"]?.string ?? "[UNK]"
        guard let unknown = vocab[name.scalars] else { throw Failure.value("a tokenizer without its unknown token \(name)") }
        (self.vocab, self.unknown) = (vocab, unknown)
        prefix = (raw["continuing_subword_prefix"]?.string ?? "##").scalars
        maxLetters = raw["max_input_chars_per_word"]?.int ?? 100
        longest = vocab.keys.map(\.count).max() ?? 0
    }

    func ids(_ word: Text) -> [Int] {
        if word.count > maxLetters { return [unknown] }
        var out: [Int] = [], at = 0
        while at < word.count {
            var end = min(word.count, at + longest)
            var found: Int?
            while end > at {
                found = vocab[at > 0 ? prefix + word[at..<end] : Array(word[at..<end])]
                if found != nil { break }
                end -= 1
            }
            guard let found else { return [unknown] }
            out.append(found)
            at = end
        }
        return out
    }
}
