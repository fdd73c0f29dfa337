/// The words by which questions are read, of cue_rules.json. `words`: language → role → word → its reading, "" without one.
/// `lists`: name → words that the reader's rules name.
struct QuestionWords: Sendable {
    let words: [String: [String: [Text: Text]]]
    let lists: [String: Set<Text>]

    init(_ raw: JSON) {
        func table<Value>(_ raw: JSON?, _ read: (JSON) -> Value) -> [String: Value] {
            Dictionary((raw?.members ?? []).map { ($0.name, read($0.value)) }, uniquingKeysWith: { $1 })
        }
        words = table(raw["words"]) { roles in
            table(roles) { Dictionary(($0.members ?? []).map { ($0.name.scalars, ($0.value.string ?? "").scalars) }, uniquingKeysWith: { $1 }) }
        }
        lists = table(raw["lists"]) { Set(($0.array ?? []).compactMap { $0.string?.scalars }) }
    }
}

/// A word, a mark, or a phrase that the vocabulary takes for one ("most recent"). `text`: as it is written. `key`: in lower case
/// and usual spelling. `span`: its characters in the source. `values`: role → reading.
struct AskedWord: Equatable {
    private static let marks = Set("!\"'()*,-./:;?[]‘’“”–—…".unicodeScalars)

    var text: Text
    var key: Text
    var span: Range<Int>
    var values: [String: Text]

    var isMark: Bool { text.count == 1 && AskedWord.marks.contains(text[0]) }
    var lowered: Text { text.lowered() }

    /// The number that it names, 1 to 999; 0 if it names none.
    var number: Int {
        let isDecimal = key.count < 4 && !key.isEmpty && key.allSatisfy { ("0"..."9").contains($0) }
        return isDecimal ? Int(key.string) ?? 0 : values["number"].flatMap { Int($0.string) } ?? 0
    }

    /// Whether it has one of `roles`.
    func has(_ roles: String...) -> Bool { roles.contains { values[$0] != nil } }

    /// Whether its key is one of `keys`.
    func isAny(_ keys: String...) -> Bool { keys.contains { key.elementsEqual($0.unicodeScalars) } }

    func isText(_ mark: Unicode.Scalar) -> Bool { text == [mark] }

    func has(any roles: [String]) -> Bool { roles.contains { values[$0] != nil } }

    /// Whether it is one of `marks`.
    func isOne(of marks: String) -> Bool { text.count == 1 && marks.unicodeScalars.contains(text[0]) }
}

extension Array where Element == AskedWord {
    /// The words as they were written, with single spaces where something between them was left out.
    var written: Text {
        var out = Text(), end = 0
        for word in self {
            if !out.isEmpty, word.span.lowerBound != end, !word.isOne(of: ",.;:?!)") { out.append(" ") }
            out += word.text
            end = word.span.upperBound
        }
        return out.stripped { " ,;:.-".unicodeScalars.contains($0) }
    }

    /// The words from an index on; none behind the last.
    func from(_ start: Int) -> [AskedWord] { Array(dropFirst(start)) }

    /// The words without those at both ends that have one of `roles`, and without marks there.
    func trimmed(any roles: [String]) -> [AskedWord] {
        func isEdge(_ word: AskedWord) -> Bool { word.isMark || word.has(any: roles) }
        guard let first = firstIndex(where: { !isEdge($0) }), let last = lastIndex(where: { !isEdge($0) }) else { return [] }
        return Array(self[first...last])
    }

    func trimmed(_ roles: String...) -> [AskedWord] { trimmed(any: roles) }

    /// The runs of words between the borders; empty runs are left out.
    func pieces(_ isBorder: (AskedWord) -> Bool) -> [[AskedWord]] { split(whereSeparator: isBorder).map { Array($0) } }

    /// The index of the first word with one of `roles`, from `start` on; nil if there is none.
    func index(of roles: String..., from start: Int = 0) -> Int? {
        indices.first { at in at >= start && roles.contains { self[at].values[$0] != nil } }
    }
}

/// The words of a text with their roles in a question (runtime/questions/words.py). Words of other languages are other spellings
/// of English ones: "ohne" is "without".
final class QuestionVocabulary {
    private static let token = Pattern(#"[^\W_]+(?:['’/.-][^\W_]+)*|[^\s¿¡]"#)
    private static let contracted = Pattern(#"['’](?:s|d|re|ve)$"#)
    // What stands between two of them is quoted, not said.
    private static let quotes = Set("\"'“”‘’".unicodeScalars.map { [$0] })
    // German nouns behind which "nach der" says where to, or what for; "Ausflug" is more often followed by a time.
    private static let goal = Pattern(#"(?:wege?|reisen?|(?<![sp])flug|flüge|fahrt(?:en)?|suchen?|fragen?)$"#)
    private static let longest = 4  // words of a phrase of the vocabulary

    private let all: QuestionWords
    private var known: [String: Known] = [:]

    init(_ all: QuestionWords) { self.all = all }

    /// A list of words that the reader's rules name.
    func listed(_ name: String) -> Set<Text> { all.lists[name] ?? [] }

    /// A list that names roles.
    func roles(_ name: String) -> [String] { listed(name).map(\.string) }

    /// The words and marks of a text in which every space is a single one. `language`: of what it may be in besides English, or "".
    func words(_ source: Text, _ language: String = "") -> [AskedWord] {
        let known = of(language), tokens = QuestionVocabulary.token.all(source).flatMap { QuestionVocabulary.spans($0, known) }
        let written = tokens.map { Text(source[$0]).lowered() }, keys = written.map(known.key)
        var out: [AskedWord] = [], at = 0, isQuoted = false
        while at < tokens.count {
            let (size, said) = phrase(at, keys, written, known) ?? (1, keys[at])
            let key = size > 1 ? known.usual(said) : said, spans = Array(tokens[at..<(at + size)])
            if QuestionVocabulary.quotes.contains(key) { isQuoted.toggle() }
            let whole = spans[0].lowerBound..<spans[size - 1].upperBound
            for (part, span) in known.values(key).isEmpty ? QuestionVocabulary.parts(key, spans) : [(key, whole)] {
                out.append(AskedWord(text: Text(source[span]), key: part, span: span, values: isQuoted ? [:] : known.values(part)))
            }
            at += size
        }
        return out
    }

    /// The one of `languages` that has most words of a wish in `text` ("senza", "na de"); "" without such.
    func languageOfWishes(_ text: Text, _ languages: [String]) -> String {
        let source = text.tidied(), counts = languages.map { wishes(source, $0) }, most = counts.max() ?? 0
        let best = zip(languages, counts).filter { $1 == most }
        return most > 0 && (best.count == 1 || !source.contains(" ")) ? best[0].0 : ""
    }

    private func wishes(_ source: Text, _ language: String) -> Int {
        let roles = listed("wishes"), english = listed("english_too")
        let said = words(source, language).filter { word in roles.contains { word.values[$0.string] != nil } }
        return said.map(\.lowered).filter { !english.contains($0) && of("").values($0).isEmpty }.count
    }

    private func phrase(_ at: Int, _ keys: [Text], _ written: [Text], _ known: Known) -> (Int, Text)? {
        for size in stride(from: min(QuestionVocabulary.longest, keys.count - at), to: 1, by: -1) {
            for words in [keys, written] {
                let phrase = Text.join(Array(words[at..<(at + size)]), " ")
                let isGoal = phrase.has(prefix: "nach ") && at > 0 && QuestionVocabulary.goal.search(written[at - 1]) != nil
                if known.values(phrase)["phrase"] != nil && !isGoal { return (size, phrase) }
            }
        }
        return nil
    }

    /// The characters of a word, or of an article before an apostrophe and its word.
    private static func spans(_ match: Match, _ known: Known) -> [Range<Int>] {
        let text = match.whole.lowered().map { $0 == "’" ? "'" : $0 }, whole = match.span
        let length = (text.firstIndex(of: "'") ?? -1) + 1, cut = whole.lowerBound + length
        let isOwn = known.values(text)["spelling"] != nil || known.values(Array(text.prefix(length)))["spelling"] == nil
        return isOwn ? [whole] : [whole.lowerBound..<cut, cut..<whole.upperBound]
    }

    /// English words with the characters that say them: one each, and the last all that are left.
    private static func parts(_ key: Text, _ spans: [Range<Int>]) -> [(Text, Range<Int>)] {
        let words = key.split(separator: " ", maxSplits: spans.count - 1, omittingEmptySubsequences: false).map { Text($0) }
        return words.enumerated().map { at, word in
            (word, spans[at].lowerBound..<spans[at < words.count - 1 ? at : spans.count - 1].upperBound)
        }
    }

    private func of(_ language: String) -> Known {
        if let made = known[language] { return made }
        let made = Known((language == "en" ? ["en"] : ["en", language]).compactMap { all.words[$0] })
        known[language] = made
        return made
    }

    /// English words with their roles, and those of another language as spellings of them.
    private struct Known {
        private static let asking = ["when", "where", "who", "which", "how"]
        private var roles: [Text: [String: Text]] = [:]

        init(_ languages: [[String: [Text: Text]]]) {
            for language in languages { for (role, words) in language { for (word, reading) in words { roles[word, default: [:]][role] = reading } } }
        }

        func values(_ key: Text) -> [String: Text] { roles[key] ?? [:] }

        func usual(_ text: Text) -> Text { values(text)["spelling"] ?? text }

        /// `text`: in lower case.
        func key(_ text: Text) -> Text {
            let usual = usual(text.map { $0 == "’" ? "'" : $0 }), bare = QuestionVocabulary.contracted.replacing(usual, with: "")
            return bare != usual && Known.asking.contains { values(bare)[$0] != nil } ? bare : usual
        }
    }
}
