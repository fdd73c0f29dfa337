/// The added tokens, such as end and turn marks, which are cut out of a text first. At each position the
/// longest one is taken.
struct AddedTokens: Sendable {
    struct Token: Sendable {
        let id: Int
        let content: Text
        let isSpecial: Bool
        let isNormalized: Bool
        let singleWord: Bool
        let stripsLeft: Bool
        let stripsRight: Bool
    }

    /// A stretch of text, or an added token.
    enum Piece {
        case text(Text)
        case token(Int)
    }

    let tokens: [Token]
    private let raw: [Token]
    private let normalized: [Token]

    init(_ listed: [JSON], _ normalizer: Normalizer) {
        tokens = listed.compactMap { entry in
            guard let id = entry["id"]?.int, let content = entry["content"]?.string?.scalars, !content.isEmpty else { return nil }
            func says(_ name: String) -> Bool { entry[name]?.bool ?? false }
            return Token(
                id: id, content: content, isSpecial: says("special"), isNormalized: says("normalized"), singleWord: says("single_word"),
                stripsLeft: says("lstrip"), stripsRight: says("rstrip"))
        }
        raw = tokens.filter { !$0.isNormalized }.sorted { $0.content.count > $1.content.count }
        normalized = tokens.filter(\.isNormalized).map { token in
            Token(
                id: token.id, content: normalizer(token.content), isSpecial: token.isSpecial, isNormalized: true, singleWord: token.singleWord,
                stripsLeft: token.stripsLeft, stripsRight: token.stripsRight)
        }.sorted { $0.content.count > $1.content.count }
    }

    /// The text with its added tokens cut out and the rest normalised.
    func pieces(_ text: Text, _ normalizer: Normalizer) -> [Piece] {
        cut(text, raw).flatMap { piece -> [Piece] in
            guard case .text(let part) = piece else { return [piece] }
            return cut(normalizer(part), normalized)
        }
    }

    private func cut(_ text: Text, _ tokens: [Token]) -> [Piece] {
        var out: [Piece] = [], last = 0, at = 0
        let firsts = Set(tokens.compactMap(\.content.first))
        while at < text.count {
            guard firsts.contains(text[at]), let token = tokens.first(where: { text[at...].starts(with: $0.content) }) else {
                at += 1
                continue
            }
            var begin = at, end = at + token.content.count
            at = end
            if token.singleWord && (begin > 0 && text[begin - 1].isWord || end < text.count && text[end].isWord) { continue }
            if token.stripsLeft { while begin > last, text[begin - 1].properties.isWhitespace { begin -= 1 } }
            if token.stripsRight { while end < text.count, text[end].properties.isWhitespace { end += 1 } }
            if begin > last { out.append(.text(Array(text[last..<begin]))) }
            out.append(.token(token.id))
            (last, at) = (end, max(at, end))
        }
        if last < text.count { out.append(.text(Array(text[last...]))) }
        return out
    }
}
