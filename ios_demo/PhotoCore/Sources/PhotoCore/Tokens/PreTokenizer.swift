/// Splits a normalised text into words (tokenizer.json's `pre_tokenizer`).
indirect enum PreTokenizer: Sendable {
    case none
    case all([PreTokenizer])
    case bert
    case byteLevel(prefixSpace: Bool, cuts: Bool)
    case digits(each: Bool)
    case split(Pattern, keepsMatches: Bool, keepsRest: Bool)
    case whiteSpace
    case metaspace(Text, prepends: Bool, cuts: Bool)

    init(_ raw: JSON?) throws {
        guard let raw, let type = raw["type"]?.string else {
            self = .none
            return
        }
        switch type {
        case "Sequence": self = .all(try (raw["pretokenizers"]?.array ?? []).map { try PreTokenizer($0) })
        case "BertPreTokenizer": self = .bert
        case "ByteLevel": self = .byteLevel(prefixSpace: raw["add_prefix_space"]?.bool ?? true, cuts: raw["use_regex"]?.bool ?? true)
        case "Digits": self = .digits(each: raw["individual_digits"]?.bool ?? false)
        case "WhitespaceSplit": self = .whiteSpace
        case "Metaspace":
            let scheme = raw["prepend_scheme"]?.string ?? (raw["add_prefix_space"]?.bool ?? true ? "always" : "never")
            // "first" would put the mark before the first text only.
            guard scheme == "always" || scheme == "never" else { throw Failure.value("a tokenizer with Metaspace and prepend_scheme \(scheme)") }
            self = .metaspace((raw["replacement"]?.string ?? "▁").scalars, prepends: scheme == "always", cuts: raw["split"]?.bool ?? true)
        case "Split":
            let behavior = raw["behavior"]?.string ?? "", inverted = raw["invert"]?.bool ?? false
            guard behavior == "Removed" || behavior == "Isolated" else { throw Failure.value("a tokenizer that splits by \(behavior)") }
            let pattern = try patternOf(raw["pattern"])
            self = .split(pattern, keepsMatches: behavior == "Isolated" || inverted, keepsRest: behavior == "Isolated" || !inverted)
        default: throw Failure.value("a tokenizer with the pre-tokenizer \(type)")
        }
    }

    func callAsFunction(_ text: Text) -> [Text] {
        switch self {
        case .none: return text.isEmpty ? [] : [text]
        case .all(let steps): return steps.reduce(text.isEmpty ? [] : [text]) { pieces, step in pieces.flatMap { step($0) } }
        case .bert: return PreTokenizer.byPunctuation(text)
        case .whiteSpace: return text.split { $0.properties.isWhitespace }.map { Array($0) }
        case .digits(let each): return PreTokenizer.byDigits(text, each)
        case .split(let pattern, let matches, let rest): return PreTokenizer.cut(text, pattern.all(text).map(\.span), matches, rest)
        case .metaspace(let mark, let prepends, let cuts): return PreTokenizer.marked(text, mark, prepends, cuts)
        case .byteLevel(let prefixSpace, let cuts):
            let whole = prefixSpace && text.first != " " ? [" "] + text : text
            return (cuts ? PreTokenizer.words(whole) : whole.isEmpty ? [] : [whole]).map(ByteAlphabet.spell)
        }
    }

    /// The text with `mark` for spaces, and one before it if it `prepends`, cut before each if it `cuts`.
    private static func marked(_ text: Text, _ mark: Text, _ prepends: Bool, _ cuts: Bool) -> [Text] {
        if text.isEmpty { return [] }
        var whole = Text(text.map { $0 == " " ? mark : [$0] }.joined())
        if prepends && !whole.starts(with: mark) { whole = mark + whole }
        if !cuts { return [whole] }
        var out: [Text] = [], begin = 0
        while begin < whole.count {
            let end = whole.find(mark, from: begin + (whole[begin...].starts(with: mark) ? mark.count : 0)) ?? whole.count
            out.append(Array(whole[begin..<end]))
            begin = end
        }
        return out
    }

    private static func cut(_ text: Text, _ spans: [Range<Int>], _ matches: Bool, _ rest: Bool) -> [Text] {
        var out: [Text] = [], last = 0
        for span in spans {
            if rest && span.lowerBound > last { out.append(Array(text[last..<span.lowerBound])) }
            if matches && !span.isEmpty { out.append(Array(text[span])) }
            last = span.upperBound
        }
        if rest && last < text.count { out.append(Array(text[last...])) }
        return out
    }

    private static func byPunctuation(_ text: Text) -> [Text] {
        var out: [Text] = [], word = Text()
        func close() {
            if !word.isEmpty { out.append(word) }
            word = []
        }
        for letter in text {
            if letter.properties.isWhitespace {
                close()
            } else if isPunctuation(letter) {
                close()
                out.append([letter])
            } else {
                word.append(letter)
            }
        }
        close()
        return out
    }

    private static func isPunctuation(_ letter: Unicode.Scalar) -> Bool {
        if letter.isASCII { return letter.value > 32 && letter.value < 127 && !letter.isWord || letter == "_" }
        switch letter.properties.generalCategory {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation, .finalPunctuation, .otherPunctuation:
            return true
        default: return false
        }
    }

    private static func byDigits(_ text: Text, _ each: Bool) -> [Text] {
        var out: [Text] = []
        for letter in text {
            let digit = letter.isNumber
            if let last = out.last?.last, last.isNumber == digit, !(digit && each) { out[out.count - 1].append(letter) } else { out.append([letter]) }
        }
        return out
    }

    /// GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
    private static func words(_ text: Text) -> [Text] {
        var out: [Text] = [], at = 0
        while at < text.count {
            let end = wordEnd(text, at)
            out.append(Array(text[at..<end]))
            at = end
        }
        return out
    }

    private static let endings: [Text] = ["s", "t", "re", "ve", "m", "ll", "d"].map { $0.scalars }

    private enum Kind { case letter, number, space, other }

    private static func kind(_ letter: Unicode.Scalar) -> Kind {
        letter.isAlpha ? .letter : letter.isNumber ? .number : letter.properties.isWhitespace ? .space : .other
    }

    private static func wordEnd(_ text: Text, _ at: Int) -> Int {
        if text[at] == "'", let ending = endings.first(where: { text[(at + 1)...].starts(with: $0) }) { return at + 1 + ending.count }
        let begin = text[at] == " " && at + 1 < text.count ? at + 1 : at
        let first = kind(text[begin])
        if first != .space {
            var end = begin
            while end < text.count, kind(text[end]) == first { end += 1 }
            return end
        }
        var end = at
        while end < text.count, text[end].properties.isWhitespace { end += 1 }
        // The last space before a word belongs to the word.
        return end < text.count && end - at > 1 ? end - 1 : end
    }
}
