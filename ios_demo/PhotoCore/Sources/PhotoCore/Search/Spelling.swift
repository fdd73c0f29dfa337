/// Mends the spelling of a query's words, for a query that otherwise finds nothing (runtime/search/spelling.py). A word that neither the
/// album's memories, the text tower's vocabulary nor the gazetteer holds is replaced by one an edit away: a name of the album, else a
/// word of its memories, else the commonest of the vocabulary.
enum Spelling {
    private static let least = 4  // letters: shorter words have too many neighbours
    private static let mostMended = 4
    private static let atOnce = 64  // words that an album looks up
    private static let word = Pattern(#"[^\W\d_]{3,20}"#)

    /// `isEnglish`: false where only names are mended, as other words are unknown to an English vocabulary.
    static func mended(_ text: Text, _ album: Album, _ models: Models, isEnglish: Bool) throws -> Text {
        var words: [Text] = []
        for found in word.all(text).map(\.whole) where !words.contains(found) { words.append(found) }
        let known = try held(album, words.map { $0.lowered() }), unwritten = words.filter { !known.contains($0.lowered()) }
        if unwritten.isEmpty { return text }
        let vocabulary = try models.text().words, names = try names(album), gazetteer = try models.gazetteer.get()
        let unknown = try unwritten.filter { try $0.count >= least && vocabulary[$0.lowered()] == nil && gazetteer.lookup($0).isEmpty }
        if unknown.count > mostMended { return text }
        var out = text
        for word in unwritten {
            let near = near(word.lowered()), isUnknown = unknown.contains(word), isName = word[0].isUpper && !out.starts(with: word)
            var better = isName || isUnknown ? near.first(where: names.contains) : nil
            if better == nil, isEnglish, isUnknown {
                let common = near.filter { vocabulary[$0] != nil }.sorted { vocabulary[$0]! < vocabulary[$1]! }
                let ours = try held(album, common)
                better = common.first(where: ours.contains) ?? common.first
            }
            guard let better else { continue }
            let shown = word[0].isUpper ? better.titled() : better
            out = Pattern("\\b\(word.string)\\b").replacing(out, with: shown.string)
        }
        return out
    }

    /// The album's entities that are called by one word with a capital, in lower case: mostly people.
    private static func names(_ album: Album) throws -> Set<Text> {
        Set(try album.listedEntities().filter { $0.first?.isUpper == true && $0.dropFirst().allSatisfy(\.isLower) }.map { $0.lowered() })
    }

    /// All texts one edit away, in order: a letter too many, too few or wrong, or two exchanged. The first letter stays.
    private static func near(_ word: Text) -> [Text] {
        var out = Set<Text>()
        for at in 1...word.count {
            let head = Text(word[..<at]), tail = Text(word[at...]), rest = Text(tail.dropFirst())
            for value in UInt8(ascii: "a")...UInt8(ascii: "z") {
                let grown = head + [Unicode.Scalar(value)]
                out.insert(grown + tail)
                if !tail.isEmpty { out.insert(grown + rest) }
            }
            if !tail.isEmpty { out.insert(head + rest) }
            if tail.count > 1 { out.insert(head + [tail[1], tail[0]] + tail[2...]) }
        }
        out.remove(word)
        return out.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Those of `words` that a memory of the album holds.
    private static func held(_ album: Album, _ words: [Text]) throws -> Set<Text> {
        var found = Set<Text>()
        for start in stride(from: 0, to: words.count, by: atOnce) {
            let asked = Text.join(Array(words[start..<min(start + atOnce, words.count)]), " ")
            for word in try album.words(asked).words where !word.rows.isEmpty { found.insert(word.text.scalars.lowered()) }
        }
        return found.intersection(words)
    }
}
