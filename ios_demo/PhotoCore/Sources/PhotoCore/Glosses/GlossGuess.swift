import Foundation

/// A word of a query, as `GlossTable.folded` spells it. `isName`: of the album; `isCapital`: with a capital, and not
/// the first.
struct SaidWord: Sendable {
    let word: Text
    let isName: Bool
    let isCapital: Bool
}

/// Which language a query is in: English, or one of the bundle's tables (runtime/glosses/guess.py). A word is about as
/// frequent in its language as its gloss is in English, and a vocabulary of English lists its words by frequency: so
/// each word says how much likelier one language is than English, and the sum decides.
enum GlossGuess {
    private static let unknown = 100_000  // the rank of a word that a language does not have
    private static let forms = 2.5  // forms of a word that share the frequency of its gloss
    private static let margin = 1.2  // nats by which a language must be likelier than English
    private static let shared = 1.0  // nats at most that a word tells against English which English has as well
    private static let told = 2.0  // nats for the language that the reader of cues tells
    private static let capital = -2.5  // nats at most against a language for a capital word that it lacks: it may be a name
    private static let alike = 4  // letters with which a word and its gloss begin alike, as "toasted" and "toast"
    private static let common = 2_500  // a name that is one of so many commonest English words counts as that word

    /// The English words of a tokenizer's vocabulary, with their places in it, the commonest first.
    static func ranks(_ vocabulary: [(token: Text, id: Int)]) -> [Text: Int] {
        let ids = TextEncoder.wholeWords(vocabulary).filter { word, _ in
            word.allSatisfy { ("a"..."z").contains($0) } && (word.count > 1 || word == ["a"] || word == ["i"])
        }
        let order = ids.sorted { $0.value < $1.value }
        return Dictionary(order.enumerated().map { ($1.key, $0) }, uniquingKeysWith: { $1 })
    }

    /// Nats: the logarithm of how often a word of that rank occurs (Zipf's law).
    private static func frequency(_ rank: Double) -> Double { -log(rank + 20) }

    /// Nats by which the language with these glosses of `word` is likelier than English to have said it.
    static func likelier(_ word: Text, _ glosses: [Gloss], _ english: [Text: Int]) -> Double {
        let own = english[word] ?? unknown
        if glosses.isEmpty { return frequency(Double(unknown)) - frequency(Double(own)) }
        func singular(_ text: Text) -> ArraySlice<Unicode.Scalar> { text.last == "s" ? text.dropLast() : text[...] }
        if glosses.contains(where: { singular($0.text) == singular(word) }) { return 0 }  // "computer" is said in both
        let best = glosses.filter { $0.weight > 0.5 }.map { rank($0.text, english) }.min() ?? unknown
        let more = frequency(forms * Double(best)) - frequency(Double(own))
        let isCognate = word.count >= alike && glosses.contains { $0.text.prefix(alike) == word.prefix(alike) }
        return own == unknown && !isCognate ? more : min(more, shared)
    }

    /// The rank of a gloss: of a phrase, of its rarest word.
    private static func rank(_ gloss: Text, _ english: [Text: Int]) -> Int { gloss.lowered().words().map { english[$0] ?? unknown / 4 }.max() ?? unknown }

    /// The likeliest of the languages `codes`; nil for English. `told`: the language whose words of time and place the
    /// query has, by the reader of cues, or nil.
    static func language(
        _ words: [SaidWord], _ codes: [String], _ english: [Text: Int], told code: String?, lookup: (String, Text) throws -> [Gloss]
    ) rethrows -> String? {
        var best: String?, most = margin
        for language in codes {
            var score = language == code ? told : 0
            for said in words {
                if said.word.count < 2 && said.word.allSatisfy(\.isASCII) { continue }  // "s" of "it's", "l" of "l'eau"
                let glosses = try lookup(language, said.word), more = likelier(said.word, glosses, english)
                if said.isName && (english[said.word] ?? unknown) > common { continue }
                score += said.isCapital && glosses.isEmpty ? max(more, capital) : more
            }
            if score > most { (best, most) = (language, score) }
        }
        return best
    }
}
