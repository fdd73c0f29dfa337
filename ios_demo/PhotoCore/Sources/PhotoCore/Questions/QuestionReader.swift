/// What a query asks for besides resemblance (runtime/questions/question.py). `query`: the text that a search takes, without what
/// the others say. `without`: what the photos must not show. `favourites`: only photos that the person marked. `isBare`: whether it
/// says nothing else of what photos show. `pictures`: whether photos are asked for by name, not what was said. `facets`: what the
/// album knows of the photos. `counts`: whether their number is asked for. `soon`: `query` with "after the wedding" as "in the week
/// after the wedding", or "". `wanted`: the photos that are asked for. `grouped`: by what their number is, or nil.
public struct Question {
    public let query: Text
    public let without: [Text]
    public let favourites: Bool
    public let isBare: Bool
    public let pictures: Bool
    public let facets: [Facet]
    public let counts: Bool
    public let soon: Text
    public let wanted: Wanted
    public let grouped: Grouped?

    /// What photos are asked for by their order in time alone, or nil.
    public var ordered: Wanted? { wanted.isOrdered && grouped == nil ? wanted : nil }
}

/// The number of photos by day, month, year, place or country. `isMost`: whether only that with the most of them is asked for.
public struct Grouped {
    public let by: String
    public let isMost: Bool
}

/// Reads a query into a `Question` (runtime/questions/reader.py, excluded.py).
public final class QuestionReader {
    static let mostRead = 1_000  // characters of a query that are read
    private static let mostWords = 4  // of a thing that is left out
    private let vocabulary: QuestionVocabulary
    public let phrases: Phrases
    private let wanted: WantedReader

    public init(_ tables: CueTables) {
        vocabulary = QuestionVocabulary(tables.questions)
        phrases = Phrases(vocabulary)
        wanted = WantedReader(vocabulary, phrases)
    }

    /// `has`: whether the album has a facet ("in portrait format"); else it is words too. `isCue`: whether what is left out is a time or
    /// place ("except 2024"), which the reader of cues excludes. `hasFavourites`: whether a photo of the album is marked; else "my
    /// favourite cat" is only words. `language`: see `QuestionVocabulary.words`. `isTime`: whether a phrase is nothing but a time or place
    /// ("2015", "Christmas"), which is no anchor; `isPlace`: nothing but a place, which may be compared with another.
    public func read(
        _ text: Text, language: String = "", hasFavourites: Bool = true, has: (Facet) throws -> Bool = { _ in false }, isCue: (Text) throws -> Bool = { _ in false },
        isTime: (Text) throws -> Bool = { _ in false }, isPlace: (Text) throws -> Bool = { _ in false }
    ) throws -> Question {
        let source = text.slice(0, QuestionReader.mostRead).tidied(), written = vocabulary.words(source, language)
        let (rest, things) = try leaveOut(written, isCue), (unmarked, favourites) = hasFavourites ? takeFavourites(rest) : (rest, false)
        let (told, facets) = try withoutActuallyEscaping(has) { try FacetReader(vocabulary: vocabulary, has: $0).taken(unmarked) }
        let (words, grouped) = phrases.grouped(told)
        let counted = phrases.counted(words)
        var query = !counted.isEmpty ? said(counted) : words == written ? source : said(words)
        if query.isEmpty && counted.isEmpty && words != written { query = "photos".scalars }
        let first = Array(words.prefix(5)).index(of: "picture", "one"), edges = vocabulary.roles("edges")
        let isLimited = !things.isEmpty || favourites || !facets.isEmpty
        return Question(
            query: text.count > QuestionReader.mostRead ? text : query, without: things, favourites: favourites,
            isBare: words.trimmed(any: edges).isEmpty,
            pictures: first.map { !words[..<$0].contains(where: \.isMark) } ?? false, facets: facets, counts: !counted.isEmpty,
            soon: phrases.soon(counted.isEmpty ? words : counted, said),
            wanted: try wanted.read(words, isTime, isPlace, isLimited: isLimited), grouped: grouped)
    }

    /// The fact, such as "date", if a phrase names nothing but it, "" otherwise: "without a date".
    public func fact(of phrase: Text) -> String {
        let named = Set(vocabulary.words(phrase.tidied()).map { $0.values["fact"] ?? [] })
        return named.count == 1 ? named.first!.string : ""
    }

    /// See `QuestionVocabulary.words`.
    func words(_ source: Text, _ language: String = "") -> [AskedWord] { vocabulary.words(source, language) }

    /// See `QuestionVocabulary.languageOfWishes`.
    public func languageOfWishes(_ text: Text, _ languages: [String]) -> String { vocabulary.languageOfWishes(text, languages) }

    /// The text of words without what another language calls a photo; "photos" where nothing else is said.
    private func said(_ words: [AskedWord]) -> Text {
        let rest = words.filter { !($0.has("picture") && $0.key != $0.lowered) }
        return (rest.isEmpty ? words.map { AskedWord(text: $0.key, key: $0.key, span: $0.span, values: $0.values) } : rest).written
    }

    /// The words without what is left out, and the things that are. A time or a place stays in the words, for the reader of cues.
    private func leaveOut(_ words: [AskedWord], _ isCue: (Text) throws -> Bool) rethrows -> ([AskedWord], [Text]) {
        var left = words, out: [Text] = [], at = 0
        while at < left.count {
            let first = marker(left, at), (named, end) = first > 0 ? things(left, first) : ([], at)
            let cues = try named.map { thing in try isListed(thing[0], "time_or_place") || isCue(thing.written) }
            let begin = at > 0 && left[at - 1].isText(",") ? at - 1 : at
            if named.isEmpty || !cues.contains(false) || (left[..<begin] + left[end...]).allSatisfy(\.isMark) {
                at += 1
                continue
            }
            let stays = zip(named, cues).filter(\.1).flatMap { negated(left[at], $0.0) }
            let anybody = vocabulary.listed("anybody")
            out += zip(named, cues).filter { !$0.1 }.map(\.0.written).map { anybody.contains($0.lowered()) ? "people".scalars : $0 }
            left = Array(left[..<begin]) + stays + Array(left[end...])
            at = begin + stays.count
        }
        return (left, out)
    }

    private func isListed(_ word: AskedWord, _ name: String) -> Bool { vocabulary.listed(name).contains(word.key) }

    /// ", not" before a time or a place that stays.
    private func negated(_ at: AskedWord, _ thing: [AskedWord]) -> [AskedWord] {
        // The comma touches nothing behind it.
        let comma = AskedWord(text: [","], key: [","], span: at.span.lowerBound..<Int.max, values: [:])
        return [comma, AskedWord(text: "not".scalars, key: "not".scalars, span: at.span, values: at.values)] + thing
    }

    /// The index of the first word after a marker of exclusion that begins at `at`; 0 if none does.
    private func marker(_ words: [AskedWord], _ at: Int) -> Int {
        let word = words[at], follows = at + 1 < words.count ? words[at + 1] : nil
        if word.isAny("where", "that", "which"), let no = no(after: at, words) { return no + 1 }
        if word.has("without") { return isScene(words, at) ? 0 : at + 1 }
        if word.isAny("but", "and"), let follows {
            let skipped = follows.isAny("also") ? at + 2 : at + 1, isBut = word.isAny("but")
            if skipped < words.count, words[skipped].isAny("no") || isBut && (words[skipped].isAny("not") || words[skipped].has("without")) {
                return skipped + 1
            }
        }
        let isNone = word.isAny("none", "nothing") && follows?.isAny("showing", "with", "of") == true
        return at > 0 && words[at - 1].isText(",") && (isNone || word.isAny("no", "not")) ? at + 1 : 0
    }

    /// The index of "no" of "where there is no", "that have no"; nil without one.
    private func no(after at: Int, _ words: [AskedWord]) -> Int? {
        for no in at + 2..<max(at + 2, min(at + 4, words.count)) {
            if words[no - 1].isAny("aren't", "arent", "isn't", "isnt", "don't", "doesn't") {
                return words[no].isAny("showing", "wearing", "show", "have", "any") ? no : no - 1
            }
            if words[no].isAny("no") && isListed(words[no - 1], "shown") { return no }
        }
        return nil
    }

    /// Whether what is missing is worn or a part of what is shown: "goalkeeper without gloves".
    private func isScene(_ words: [AskedWord], _ at: Int) -> Bool {
        if !words[at].isAny("without", "with no") || at == 0 || words[at - 1].isText(",") { return false }
        if Array(words[..<at]).index(of: "picture", "howmany", "favourite") != nil { return false }
        if at + 1 < words.count, words[at + 1].has("possessive") { return true }  // "the telescope without its mount"
        guard let first = things(words, at + 1).0.first else { return false }
        return first[0].has("worn") || first[first.count - 1].has("worn")
    }

    /// The things of a list that begins at `at`, and the index after it.
    private func things(_ words: [AskedWord], _ at: Int) -> ([[AskedWord]], Int) {
        let (thing, end) = thing(words, at)
        if thing.isEmpty || thing.count == 1 && thing[0].isAny("ones", "wait", "more") { return ([], at) }
        let inside = inIt(words, end)
        if inside > end { return ([thing], inside) }
        var more = end
        let isComma = more < words.count && words[more].isText(",")
        more += isComma ? 1 : 0
        let isLinked = more < words.count && isListed(words[more], "links")
        more += isLinked ? 1 : 0
        more += more < words.count && words[more].isAny("also") ? 1 : 0
        let isNegated = more < words.count && (words[more].isAny("no", "not") || words[more].has("without"))
        more += isNegated ? 1 : 0
        if !isComma && !isLinked { return ([thing], end) }
        let (rest, last) = things(words, more)
        // A comma alone goes on with the list only if a link ends it: "Tom, Lena or a dog".
        return rest.isEmpty || !(isLinked || isNegated || rest.count > 1) ? ([thing], end) : ([thing] + rest, last)
    }

    private func thing(_ words: [AskedWord], _ begin: Int) -> ([AskedWord], Int) {
        var at = begin
        while at < words.count {
            let goesOn = at + 1 < words.count && words[at + 1].isAny("with", "of"), word = words[at]
            guard isListed(word, "determiners") || at > begin && isListed(word, "having") || word.has("one") && goesOn else { break }
            at += 1
        }
        let thing = Array(words[min(at, words.count)...].prefix(QuestionReader.mostWords).prefix { !endsThing($0) })
        return (thing, at + thing.count)
    }

    private func endsThing(_ word: AskedWord) -> Bool {
        word.isMark || isListed(word, "ends") || isListed(word, "links") || word.has("without", "after", "before")
            || word.isAny("but", "no", "not", "please", "thank you", "thanks", "in", "at", "on", "from", "by", "with")
    }

    /// The index after "in them", "on the photo"; `at` without one.
    private func inIt(_ words: [AskedWord], _ at: Int) -> Int {
        guard at + 1 < words.count, words[at].isAny("in", "on") else { return at }
        if words[at + 1].isAny("it", "them", "sight", "there") { return at + 2 }
        return words[at + 1].isAny("the") && at + 2 < words.count && words[at + 2].has("picture") ? at + 3 : at
    }

    /// The words without what asks for marked photos, and whether something did.
    private func takeFavourites(_ words: [AskedWord]) -> ([AskedWord], Bool) {
        func without(_ begin: Int, _ end: Int, _ between: [AskedWord] = []) -> ([AskedWord], Bool) {
            (Array(words[..<begin]) + between + Array(words[min(end, words.count)...]), true)
        }
        var found = words.index(of: "favourite")
        while let at = found {
            let word = words[at], near = Array(words[(at + 1)...].prefix(3)), next = near.first
            var before = at
            while before > 0, words[before - 1].isAny("my", "our", "the", "all", "only") { before -= 1 }
            if let noun = near.index(of: "picture", "one"), !near[..<noun].contains(where: \.isMark) { return without(before, at + 1) }
            if at > 0, words[at - 1].has("picture"), word.key != word.lowered { return without(at, at + 1) }  // "fotos favoritas"
            if word.isAny("hearted", "starred"), at > 0, words[at - 1].isAny("i", "we") { return without(at - 1, at + 1) }
            let isAlone = (next.map { $0.isMark || $0.has("preposition", "before", "after", "without") } ?? true) && !followsNoun(words, at)
            let isOnly = next?.isAny("only") == true, isPlural = word.isAny("favourites")
            if isAlone || isPlural && (before < at || isOnly) {
                let noun = (isPlural ? "photos" : "photo").scalars
                return without(before, isOnly ? at + 2 : at + 1, [AskedWord(text: noun, key: noun, span: word.span, values: ["picture": []])])
            }
            found = words.index(of: "favourite", from: at + 1)
        }
        return takeHeart(words)
    }

    /// "Mis libros favoritos": not the photos that are marked.
    private func followsNoun(_ words: [AskedWord], _ at: Int) -> Bool {
        guard at > 0, vocabulary.listed("favourite_adjectives").contains(words[at].lowered) else { return false }
        let before = words[at - 1]
        if before.isMark || isListed(before, "no_nouns") { return false }
        return !before.has("all", "article", "link", "only", "picture", "preposition", "request", "without")
    }

    /// "… that I marked with a heart".
    private func takeHeart(_ words: [AskedWord]) -> ([AskedWord], Bool) {
        guard let at = words.index(of: "heart") else { return (words, false) }
        var first = at
        while first > 0, at - first < 6, !words[first - 1].isMark, !words[first - 1].has("picture", "one") {
            first -= 1
            if words[first].isAny("that", "which", "i") { break }
        }
        let said = words[first..<at]
        if !said.contains(where: { isListed($0, "given") }) || !said.contains(where: { $0.isAny("i", "we", "marked") }) { return (words, false) }
        if first > 0, words[first - 1].isAny("that", "which") { first -= 1 }
        return (Array(words[..<first]) + Array(words[(at + 1)...]), true)
    }
}
