/// A query whose time and place words are English (runtime/cues/languages.py). `sources`: for each of its code
/// points those of the original query that it stands for.
struct Reading: Sendable {
    let text: Text
    let sources: [Range<Int>]

    /// The code points of the original query that a span of `text` stands for.
    func original(_ span: Range<Int>) -> Range<Int> {
        let parts = sources[span]
        return (parts.map(\.lowerBound).min() ?? 0)..<(parts.map(\.upperBound).max() ?? 0)
    }
}

/// How queries in one language other than English are read. `marks`: a pattern of letters or words by which the
/// language is known, nil for a language of Latin letters, which is known by its `words`. `isSpaceless`: words
/// are not separated by spaces. `besides`: the English words for what stands before or after the name of a
/// place. `endings`: endings of inflected names, and what they replace.
struct Language: Sendable {
    let name: String
    let marks: Pattern?
    let words: Set<Text>
    let isSpaceless: Bool
    let besides: [(english: Text, before: Pattern?, after: Pattern?)]
    let endings: [(ending: Text, base: Text)]
    let tables: [String: [Text: Text]]
    let rules: [(pattern: Pattern, english: Text)]

    private static let named = Pattern("<<(@?)([a-z]+)([0-9]?)>>")
    private static let letters = Pattern(#"[^\W\d_]+"#)

    init(_ raw: JSON, digits: [String: String]) throws {
        func pattern(_ text: String) throws -> Pattern? { text.isEmpty ? nil : try Pattern(reading: text) }
        func string(_ name: String) -> String { raw["places"]?[name]?.string ?? "" }
        name = raw["name"]?.string ?? ""
        marks = try pattern(raw["marks"]?.string ?? "")
        let isSpaceless = raw["spaceless"]?.bool ?? false
        self.isSpaceless = isSpaceless
        besides = try [("near ", "near_before", "near_after"), ("in ", "before", "after")].map { english, before, after in
            let left = string(before)
            return (english.scalars, try pattern(left.isEmpty ? "" : "(?:" + left + ")$"), try pattern(string(after)))
        }
        endings = (raw["endings"]?.array ?? []).map { (($0[0]?.string ?? "").scalars, ($0[1]?.string ?? "").scalars) }
        let tables = Dictionary(
            (raw["tables"]?.members ?? []).map { table in
                (
                    table.name,
                    Dictionary((table.value.members ?? []).map { ($0.name.scalars, ($0.value.string ?? "").scalars) }, uniquingKeysWith: { $1 })
                )
            }, uniquingKeysWith: { $1 })
        self.tables = tables
        let listed = (raw["words"]?.array ?? []).compactMap { $0.string?.scalars }
        // A language with marks is known by them alone.
        words = marks != nil ? [] : Set(listed + tables.values.flatMap { $0.keys.flatMap { Language.letters.all($0).map(\.whole) } })
        rules = try (raw["rules"]?.array ?? []).map { rule in
            let expanded = Language.named.replacing((rule["pattern"]?.string ?? "").scalars) { m in
                let name = m[2]!.string
                let choices = digits[name] ?? CueExpander.spelt(Array((tables[name] ?? [:]).keys))
                return (m[1]!.isEmpty ? "(?<\(name)\(m[3]!.string)>\(choices))" : "(?:\(choices))").scalars
            }.string
            let text = isSpaceless ? expanded : #"(?<![\w-])(?:"# + expanded + #")(?![\w-])"#
            return (try Pattern(reading: text), (rule["english"]?.string ?? "").scalars)
        }
    }
}

/// Reads the time and place words of other languages as English ones: rules turn "im letzten Sommer" into "last
/// summer". The language is found from the query's letters and words; an English query is never changed.
struct LanguageReader: Sendable {
    /// The English words for `span`, in parts that each name their own source.
    private struct Piece {
        let span: Range<Int>
        let parts: [(words: Text, source: Range<Int>)]
    }

    private let english: Set<Text>
    private let languages: [Language]

    private static let word = Pattern(#"[^\W\d_]+"#)
    private static let hyphenated = Pattern(#"[^\W\d_]+(?:-[^\W\d_]+)*"#)
    private static let ideographs = Pattern("[\u{3041}-\u{30ff}\u{4e00}-\u{9fff}]+")
    private static let slot = Pattern(#"\{([a-z]+[0-9]?)(?:-([0-9]))?\}"#)
    private static let katakana: ClosedRange<Unicode.Scalar> = "\u{30a1}"..."\u{30ff}"
    private static let mostLookups = 400, longestName = 8, shortestName = 2, mostWords = 3

    init(_ tables: CueTables) { (english, languages) = (tables.english, tables.languages) }

    /// The query with its time and place words in English; nil if it has none of another language.
    func translated(_ text: Text, thisYear: Int, _ gazetteer: Gazetteer?) throws -> Reading? {
        let low = LanguageReader.lowered(text)
        guard let language = language(of: low) else { return nil }
        var pieces = phrases(low, language, thisYear)
        if let gazetteer, language.marks != nil {
            var free = [Bool](repeating: true, count: low.count)
            for piece in pieces { for at in piece.span { free[at] = false } }
            pieces += try language.isSpaceless ? spacelessNames(low, language, gazetteer, free) : inflectedNames(low, language, gazetteer, free)
        }
        return pieces.isEmpty ? nil : LanguageReader.joined(text, pieces)
    }

    private static func lowered(_ text: Text) -> Text {
        text.map { ("\u{ff01}"..."\u{ff5e}").contains($0) ? Unicode.Scalar($0.value - 0xfee0)!.simpleLower : $0.simpleLower }
    }

    /// The code of the language whose letters the query has, or most of whose words; nil for English.
    func code(of text: Text) -> String? { language(of: LanguageReader.lowered(text))?.name }

    private func language(of low: Text) -> Language? {
        if !low.allSatisfy(\.isASCII), let marked = languages.first(where: { $0.marks?.search(low) != nil }) { return marked }
        let words = Set(LanguageReader.word.all(low).map(\.whole)), known = words.intersection(english)
        var best: Language?, most = (0, 0)
        for language in languages {
            let own = words.intersection(language.words), alone = own.subtracting(known).count
            if (alone, own.count) > most && alone > known.subtracting(own).count { (best, most) = (language, (alone, own.count)) }
        }
        return best
    }

    /// The pieces that the rules find; of overlapping ones that of the earlier rule.
    private func phrases(_ low: Text, _ language: Language, _ thisYear: Int) -> [Piece] {
        var taken = [Bool](repeating: false, count: low.count), out: [Piece] = []
        for (pattern, english) in language.rules {
            var at = 0
            while at <= low.count, let m = pattern.search(low, from: at) {
                if m.start < m.end, !taken[m.span].contains(true) {
                    for i in m.span { taken[i] = true }
                    out.append(Piece(span: m.span, parts: filled(m, english, language, thisYear)))
                    at = m.end
                } else {
                    at = m.start + 1  // a shorter match may begin after the characters that are taken
                }
            }
        }
        return out
    }

    /// The template's parts: literal words stand for the whole match, slots for their group.
    private func filled(_ m: Match, _ english: Text, _ language: Language, _ thisYear: Int) -> [(words: Text, source: Range<Int>)] {
        var out: [(words: Text, source: Range<Int>)] = [], last = 0
        for slot in LanguageReader.slot.all(english) {
            if slot.start > last { out.append((Text(english[last..<slot.start]), m.span)) }
            last = slot.end
            let name = slot[1]!.string
            if let years = slot[2] {
                out.append((String(thisYear - (Int(years.string) ?? 0)).scalars, m.span))
            } else if let said = m[name]?.tidied(), let source = m.span(name) {
                let table = language.tables[String(name.prefix { !$0.isNumber })]
                out.append((table?[said] ?? said, source))
            }
        }
        if last < english.count { out.append((Text(english[last...]), m.span)) }
        return out
    }

    /// The names of places in a text without spaces: at each character the longest that the gazetteer has.
    private func spacelessNames(_ low: Text, _ language: Language, _ gazetteer: Gazetteer, _ free: [Bool]) throws -> [Piece] {
        var out: [Piece] = [], lookups = 0
        for run in LanguageReader.ideographs.all(low) {
            var at = run.start
            while at < run.end, lookups < LanguageReader.mostLookups {
                var step = 1
                for length in stride(from: min(LanguageReader.longestName, run.end - at), through: LanguageReader.shortestName, by: -1) {
                    let span = at..<(at + length)
                    if free[span].contains(false) || LanguageReader.isWithinWord(low, span) { continue }
                    lookups += 1
                    guard let place = try gazetteer.lookup(Text(low[span])).first else { continue }
                    out.append(placePiece(low, span, place.name, language, free))
                    step = length
                    break
                }
                at += step
            }
        }
        return out
    }

    /// Whether the characters begin or end inside a longer word of katakana: "アメリカ" of "アメリカン".
    private static func isWithinWord(_ low: Text, _ span: Range<Int>) -> Bool {
        [span.lowerBound, span.upperBound].contains { $0 > 0 && $0 < low.count && katakana.contains(low[$0 - 1]) && katakana.contains(low[$0]) }
    }

    /// The names of places in a text with spaces, in any case: "Лиссабоне" is looked up as "Лиссабон" too.
    private func inflectedNames(_ low: Text, _ language: Language, _ gazetteer: Gazetteer, _ free: [Bool]) throws -> [Piece] {
        let words = LanguageReader.hyphenated.all(low).filter { !$0.whole.allSatisfy(\.isASCII) }.map(\.span)
        var out: [Piece] = [], lookups = 0, at = 0
        while at < words.count, lookups < LanguageReader.mostLookups {
            var found = 0
            for count in stride(from: min(LanguageReader.mostWords, words.count - at), through: 1, by: -1) {
                let span = words[at].lowerBound..<words[at + count - 1].upperBound
                if free[span].contains(false) || span.count < LanguageReader.shortestName + 1 { continue }
                let forms = LanguageReader.forms(Text(low[span]), language)
                lookups += forms.count
                var name: String?
                for form in forms where name == nil { name = try gazetteer.lookup(form).first?.name }
                guard let name else { continue }
                out.append(placePiece(low, span, name, language, free))
                found = count
                break
            }
            at += max(found, 1)
        }
        return out
    }

    /// The name, and what it may be the inflected form of.
    private static func forms(_ name: Text, _ language: Language) -> [Text] {
        let forms = language.endings.filter { name.count >= $0.ending.count && Array(name.suffix($0.ending.count)) == $0.ending }
            .map { Text(name.dropLast($0.ending.count)) + $0.base }
        return Words.unique(forms.filter { $0.count > shortestName })
    }

    /// The English name, with "in" or "near" if a word beside it says so that no phrase has.
    private func placePiece(_ low: Text, _ span: Range<Int>, _ name: String, _ language: Language, _ free: [Bool]) -> Piece {
        for (english, before, after) in language.besides {
            let left = before?.search(low, in: 0..<span.lowerBound), right = after?.match(low, at: span.upperBound)
            let whole = (left?.start ?? span.lowerBound)..<(right?.end ?? span.upperBound)
            if whole != span, !free[whole].contains(false) { return Piece(span: whole, parts: [(english, whole), (name.scalars, span)]) }
        }
        return Piece(span: span, parts: [(name.scalars, span)])
    }

    /// The text with the pieces in place, and spaces around them.
    private static func joined(_ text: Text, _ pieces: [Piece]) -> Reading {
        var out = Text(), sources: [Range<Int>] = [], at = 0
        func add(_ words: Text, _ source: Range<Int>) {
            out += words
            sources += Array(repeating: source, count: words.count)
        }
        for piece in pieces.sorted(by: { ($0.span.lowerBound, $0.span.upperBound) < ($1.span.lowerBound, $1.span.upperBound) }) {
            let begin = piece.span.lowerBound
            if begin < at { continue }  // the particle between two names is taken once
            for i in at..<begin { add([text[i]], i..<(i + 1)) }
            if let last = out.last, last != " " { add([" "], begin..<begin) }
            for part in piece.parts { add(part.words, part.source) }
            at = piece.span.upperBound
            if at < text.count, text[at].isAlpha || text[at].isNumber { add([" "], at..<at) }
        }
        for i in at..<text.count { add([text[i]], i..<(i + 1)) }
        return Reading(text: out, sources: sources)
    }
}
