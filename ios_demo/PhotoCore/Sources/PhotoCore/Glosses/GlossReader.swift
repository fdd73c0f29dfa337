/// A part of the query. `said`: its characters; `options`: English for it, the best first. Without options it stays as
/// it is: it is then a name, an English word, or anything between words. `word`: what memories in the language of the
/// query would hold, of a part of a compound the whole; `isEnglish`: English has it too.
public struct GlossPiece: Sendable, Equatable {
    public var said: Text
    public var options: [Gloss] = []
    public var word: Text = []
    public var isEnglish = false

    /// Whether it is a word such as "the", which no memory is found by; its first gloss is that word.
    var saysNothing: Bool { options.first.map { $0.text.lowered().words().allSatisfy(Words.stop.contains) } ?? false }
}

/// A text in a language other than English. `language`: its code; "" if no table has its script.
public struct GlossReading: Sendable {
    public let text: Text
    public let language: String
    public let pieces: [GlossPiece]

    /// The text with the first gloss of each of its words.
    var english: Text { pieces.flatMap { $0.options.first?.text ?? $0.said } }
}

/// Reads a query in another language as English ones, word by word, with the tables of one bundle
/// (runtime/glosses/reading.py). The longest phrase of a table is taken at each word; a word that it does not have is
/// split as a compound, or freed of pronouns at its end, or compared with the album's names in Latin letters. Words
/// that are English or names stay as they are.
public final class GlossReader {
    private static let beginning = "glosses-"  // of the files' names
    static let mostRead = 48  // words of a query, or of a window of a memory, that are read; the others stay
    static let mostOptions = 4  // glosses of a word that a search uses
    static let leastWeight = 0.15  // of a gloss, beside the best of its word
    static let leastFunction = 0.4  // the weight from which a gloss such as "have" makes a word one that says little
    static let leastCompound = 8  // letters of a compound that tells its language
    static let leastPart = 4  // letters of a compound's word
    static let mostClitic = 2  // letters of "l'", "qu'"
    static let longestRun = 8  // characters of a word that is written without spaces
    static let surelyEnglish = 2.0  // nats by which a word of a foreign query is likelier English
    private static let word = Pattern(#"[^\W\d_]+"#)

    let tables: [GlossTable]
    private let english: [Text: Int]
    private let told: (Text) -> String?

    /// `vocabulary`: the tokens of a vocabulary of English with their ids, the commoner the less. `told`: the language
    /// that the reader of cues finds, or nil.
    public init(_ tables: [GlossTable], vocabulary: [(token: Text, id: Int)], told: @escaping (Text) -> String?) {
        (self.tables, english, self.told) = (tables, GlossGuess.ranks(vocabulary), told)
    }

    /// What reads queries in other languages than English; nil for a bundle without tables. Raises Failure.bundle for a
    /// damaged table.
    static func bundled(_ models: Models, told: @escaping (Text) -> String?) throws -> GlossReader? {
        let names = names(models)
        return names.isEmpty
            ? nil : GlossReader(try names.map { try GlossTable(try models.data($0)) }, vocabulary: try models.text().vocabulary(), told: told)
    }

    /// Whether the bundle reads other languages than English by glosses.
    static func isThere(_ models: Models) -> Bool { !names(models).isEmpty }

    private static func names(_ models: Models) -> [String] { models.manifest.files.map(\.name).filter { $0.hasPrefix(beginning) } }

    /// The reading of a query; nil for an English one, and where nothing of it can be read. `language`: the code of the one that it
    /// is probably in; "" if the reader of cues shall say.
    public func read(_ text: Text, _ names: NameWords, language: String = "") throws -> GlossReading? {
        let words = GlossReader.spans(text)
        if words.isEmpty || tables.isEmpty && text.allSatisfy(\.isASCII) { return nil }
        let said = words.map { GlossTable.folded(Text(text[$0])) }
        let asked = said.enumerated().map { at, word in
            SaidWord(word: word, isName: names.contains(word), isCapital: at > 0 && text[words[at].lowerBound].isUpper)
        }
        let codes = tables.filter { !$0.header.isSpaceless }.map(\.language)
        let code = try GlossGuess.language(asked, codes, english, told: language.isEmpty ? told(text) : language) { code, word in
            try known(tables.first { $0.language == code }!, word)
        }
        var table = tables.first { $0.language == code }
        if table == nil, text.contains(where: GlossReader.isIdeograph) { table = tables.first(where: \.header.isSpaceless) }
        if table == nil && said.allSatisfy(GlossTable.isLatin) { return nil }
        let pieces = try Sentence(text: text, words: words, said: said, names: names, table: table, english: english).pieces()
        return pieces.contains { !$0.options.isEmpty } ? GlossReading(text: text, language: table?.language ?? "", pieces: pieces) : nil
    }

    /// The glosses of a word, or of a compound's last.
    private func known(_ table: GlossTable, _ word: Text) throws -> [Gloss] {
        if GlossTable.isLatin(word) != (try table.isLatin.get()) { return [] }
        let glosses = try table.lookup(word)
        if !glosses.isEmpty || english[word] != nil || table.header.links.isEmpty || word.count < GlossReader.leastCompound { return glosses }
        return try GlossReader.head(table, word).map { try table.lookup(Text(word[$0...])) } ?? []
    }

    private static func spans(_ text: Text) -> [Range<Int>] {
        var out: [Range<Int>] = [], at = 0
        while out.count < mostRead, at < text.count, let found = word.search(text, from: at) {
            out.append(found.span)
            at = found.end
        }
        return out
    }

    private static func isIdeograph(_ letter: Unicode.Scalar) -> Bool {
        switch letter.value {
        case 0x3041...0x30ff, 0x4e00...0x9fff, 0xe00...0xe7f: return true
        default: return false
        }
    }

    /// Where the last word of a compound begins, the longest that follows another word; nil if it is none.
    static func head(_ table: GlossTable, _ said: Text) throws -> Int? {
        if table.header.links.isEmpty || said.count > GlossTable.longest || said.count < 2 * leastPart { return nil }
        return try (leastPart...said.count - leastPart).first { at in
            if try table.lookup(Text(said[at...])).isEmpty { return false }
            return try before(table, Text(said[..<at])).contains { try !table.lookup($0).isEmpty }
        }
    }

    /// What the first part of a compound may be: without each of the letters that a compound puts between.
    static func before(_ table: GlossTable, _ part: Text) -> [Text] {
        table.header.links.filter { part.count - $0.count >= leastPart && part[(part.count - $0.count)...].elementsEqual($0) }.map {
            Array(part.dropLast($0.count))
        }
    }
}

private struct Sentence {
    let text: Text
    let words: [Range<Int>]
    let said: [Text]
    let names: NameWords
    let table: GlossTable?
    let english: [Text: Int]

    func pieces() throws -> [GlossPiece] {
        var out: [GlossPiece] = [], at = 0, end = 0
        while at < words.count {
            let start = words[at].lowerBound
            out.append(GlossPiece(said: Text(text[end..<start])))
            let (count, found) = try pieces(at)
            if count == 1 && isClitic(at, found) {
                (end, at) = (words[at].upperBound + 1, at + 1)
                continue
            }
            end = words[at + count - 1].upperBound
            let whole = Text(text[start..<end]), shared = english[GlossTable.folded(whole)] != nil
            var read = found
            for n in read.indices where !read[n].options.isEmpty { (read[n].word, read[n].isEnglish) = (whole, shared) }
            if read.count == 1 { read[0].said = whole }
            out += read
            at += count
        }
        out.append(GlossPiece(said: Text(text[end...])))
        return out.filter { !$0.said.isEmpty }
    }

    /// Whether a word such as "l" stands before an apostrophe, and says nothing.
    private func isClitic(_ at: Int, _ found: [GlossPiece]) -> Bool {
        let end = words[at].upperBound
        if table == nil || end >= text.count || text[end] != "'" && text[end] != "’" { return false }
        return words[at].count <= GlossReader.mostClitic || found.allSatisfy(\.saysNothing)
    }

    /// (How many words from `at` are read together, what they are.)
    private func pieces(_ at: Int) throws -> (Int, [GlossPiece]) {
        for count in stride(from: min(GlossTable.mostWords, words.count - at), to: 1, by: -1) {
            let options = try glosses(Text.join(Array(said[at..<(at + count)]), " "))
            if !options.isEmpty { return (count, [GlossPiece(said: [], options: options)]) }
        }
        return (1, try word(at))
    }

    private func word(_ at: Int) throws -> [GlossPiece] {
        let word = Text(text[words[at]]), low = said[at], isCapital = word[0].isUpper, isName = isCapital && names.contains(low)
        func piece(_ options: [Gloss] = []) -> [GlossPiece] { [GlossPiece(said: word, options: options)] }
        if at > 0, isCapital, !GlossTable.isLatin(low), let name = names.like(word, NameWords.surelyAlike) { return piece([Gloss(text: name, weight: 1)]) }
        if table != nil {
            let options = try glosses(low)
            if !options.isEmpty, !isName, GlossGuess.likelier(low, options, english) > -GlossReader.surelyEnglish { return piece(options) }
            if isName || english[low] != nil { return piece() }
            for parts in [compound, freed, run] {
                let found = try parts(low)
                if !found.isEmpty { return found }
            }
        }
        if GlossTable.isLatin(low) { return piece() }
        let least = isCapital ? NameWords.leastAlike : NameWords.surelyAlike
        let name = names.like(word, least) ?? (table == nil ? [] : GlossLetters.latin(word).titled())
        return piece(name.isEmpty ? [] : [Gloss(text: name, weight: 1)])
    }

    private func glosses(_ low: Text) throws -> [Gloss] {
        let likely = (try table?.lookup(low) ?? []).filter { $0.weight >= GlossReader.leastWeight }.prefix(GlossReader.mostOptions)
        // "hat" is "has" before it is "holds": of several glosses that of a word that says little comes first.
        func isFirst(_ gloss: Gloss) -> Bool { gloss.weight >= GlossReader.leastFunction && Words.stop.contains(gloss.text) }
        return likely.filter(isFirst) + likely.filter { !isFirst($0) }
    }

    /// A compound as its words; empty if it is none.
    private func compound(_ low: Text) throws -> [GlossPiece] {
        guard let table, let at = try GlossReader.head(table, low) else { return [] }
        let part = Text(low[..<at]), last = Text(low[at...])
        let first = try GlossReader.before(table, part).first { try !table.lookup($0).isEmpty } ?? part
        return [GlossPiece(said: part, options: try glosses(first)), GlossPiece(said: [" "]), GlossPiece(said: last, options: try glosses(last))]
    }

    /// A verb without the pronouns that are written at its end.
    private func freed(_ low: Text) throws -> [GlossPiece] {
        for ending in table?.header.endings ?? [] where !ending.isEmpty && GlossTable.fits(low, ending) {
            let options = try glosses(Array(low.dropLast(ending.count)))
            if !options.isEmpty { return [GlossPiece(said: low, options: options)] }
        }
        return []
    }

    /// A run of characters without spaces: at each the longest word that the table has.
    private func run(_ low: Text) throws -> [GlossPiece] {
        guard let table, table.header.isSpaceless else { return [] }
        var out: [GlossPiece] = [], at = 0
        while at < low.count {
            var next = at + 1, options: [Gloss] = []
            for length in stride(from: min(GlossReader.longestRun, low.count - at), to: 0, by: -1) {
                options = try glosses(Text(low[at..<(at + length)]))
                if !options.isEmpty {
                    next = at + length
                    break
                }
            }
            out.append(GlossPiece(said: Text(low[at..<next]), options: options))
            if !options.isEmpty { out.append(GlossPiece(said: [" "])) }
            at = next
        }
        return out.contains { !$0.options.isEmpty } ? out : []
    }
}
