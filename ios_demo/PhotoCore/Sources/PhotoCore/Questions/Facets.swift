/// What an album knows of a photo for certain (runtime/questions/facets.py). `kind`: "medium", "orientation", "camera",
/// "fact", "alone" (a name, or none for anybody) or "together" (names, or none for any two).
public struct Facet: Hashable, Sendable {
    public let kind: String
    public let value: Text

    public init(_ kind: String, _ value: Text) { (self.kind, self.value) = (kind, value) }
}

/// Takes facets out of a question's words. `has`: whether the album has one; else it is words too.
struct FacetReader {
    typealias Taken = (words: [AskedWord], facet: Facet)
    private static let camera = 5  // words of a camera's name

    let vocabulary: QuestionVocabulary
    let has: (Facet) throws -> Bool

    /// The words without the facets that they name, and these.
    func taken(_ words: [AskedWord]) throws -> ([AskedWord], [Facet]) {
        var left = words, facets: [Facet] = []
        for take in [medium(_:), orientation(_:), fact(_:), alone(_:), together(_:), company(_:), camera(_:)] {
            guard let taken = try take(left) else { continue }
            left = taken.words
            facets.append(taken.facet)
        }
        return (left, facets)
    }

    /// It is asked for only where nothing is said before it: "kids watching a video" is a scene.
    private func medium(_ words: [AskedWord]) throws -> Taken? {
        try first(words) { at, word in
            let photos = AskedWord(text: "photos".scalars, key: "photos".scalars, span: word.span, values: ["picture": []])
            let isFirst = words[..<at].allSatisfy { !$0.values.isEmpty && !$0.has("picture", "pictured") }
            guard isFirst, word.key.has(suffix: "s") || ends(words, at + 1) else { return nil }
            return (FacetReader.cut(words, at, at + 1, [photos]), Facet("medium", word.values["medium"] ?? []))
        }
    }

    private func orientation(_ words: [AskedWord]) throws -> Taken? {
        try first(words) { at, word in
            let shape = word.values["shape"] ?? [], follows = at + 1 < words.count ? words[at + 1] : nil
            let isNamed = follows?.has("format") == true, isBefore = !isNamed && follows?.has("picture") == true && (word.key != shape || word.isAny("square") && (at == 0 || words[at - 1].isAny("my", "our", "the", "all", "any", "me", "some")))
            let begin = !isBefore && at > 0 && words[at - 1].isAny("in") ? at - 1 : at
            guard isNamed || isBefore || begin < at && (follows?.isMark ?? true) else { return nil }
            return (FacetReader.cut(words, begin, isNamed ? at + 2 : at + 1), Facet("orientation", shape))
        }
    }

    /// "With flash"; other facts only right behind the photos: "with a date", "with text in them".
    private func fact(_ words: [AskedWord]) throws -> Taken? {
        try first(words) { at, word in
            let value = word.values["fact"] ?? [], isArticle = at > 0 && words[at - 1].isAny("a", "an", "the"), begin = isArticle ? at - 2 : at - 1
            let isInIt = at + 2 < words.count && words[at + 1].isAny("in", "on") && words[at + 2].isAny("it", "them"), end = isInIt ? at + 3 : at + 1
            guard begin >= 0, vocabulary.listed("containing").contains(words[begin].key), ends(words, end, orAny: "by", "on") else { return nil }
            let isBare = value == "flash".scalars && (!isArticle || words[at - 1].isAny("the"))
            guard isBare || begin > 0 && words[begin - 1].has("picture", "medium") else { return nil }
            let from = begin > 0 && words[begin - 1].has("made") ? begin - 1 : begin  // "taken with flash"
            return (FacetReader.cut(words, from, end), Facet("fact", value))
        }
    }

    /// "Anna alone", "Anna by herself": of somebody whom the album knows; "the tree alone" is a scene.
    private func alone(_ words: [AskedWord]) throws -> Taken? {
        try first(words) { at, word in
            let begin = namedFrom(words, at) { _ in false }
            guard word.has("alone"), begin < at, ends(words, at + 1, orAny: "by", "on") else { return nil }
            return (FacetReader.cut(words, at, at + 1), Facet("alone", Array(words[begin..<at]).written))
        }
    }

    /// "Anna and Tom together": names with "and" or commas between them.
    private func together(_ words: [AskedWord]) throws -> Taken? {
        try first(words) { at, word in
            let begin = namedFrom(words, at) { $0.isAny("and", ",", "&") }
            guard word.isAny("together"), at - begin > 2 else { return nil }
            return (FacetReader.cut(words, at, at + 1), Facet("together", Array(words[begin..<at]).written))
        }
    }

    /// Where the names before `at` begin: what has a capital, and not for beginning the question, or is no other word.
    private func namedFrom(_ words: [AskedWord], _ at: Int, _ isBetween: (AskedWord) -> Bool) -> Int {
        func isName(_ n: Int) -> Bool { words[n].text.first?.isUpper == true && (n > 0 || words[n].values.isEmpty) }
        var begin = at
        while begin > 0, isName(begin - 1) || isBetween(words[begin - 1]) { begin -= 1 }
        return begin
    }

    /// "Group photos", "people together", "somebody alone", "only one person"; not "two people in a boat", which is a scene.
    private func company(_ words: [AskedWord]) throws -> Taken? {
        for at in words.indices.dropLast() {
            guard let kind = kindOfCompany(words[at], words[at + 1], at > 0 ? words[at - 1] : nil) else { continue }
            let isCounted = kind == "together" && at > 0 && vocabulary.listed("how_many_people").contains(words[at - 1].key)
            var begin = isCounted || at > 0 && words[at - 1].isAny("just", "only") ? at - 1 : at
            let small = vocabulary.listed("determiners").union(vocabulary.listed("containing"))
            while begin > 0, small.contains(words[begin - 1].key) { begin -= 1 }
            let isOfIt = at + 2 < words.count && words[at + 2].isAny("of")  // "a group picture of penguins"
            let before = words[..<begin], facet = Facet(kind, [])
            guard before.allSatisfy({ $0.has("all", "courtesy", "medium", "picture", "request", "self") }), !isOfIt, ends(words, at + 2, orAny: "by", "on"),
                try has(facet)
            else { continue }
            let photos = AskedWord(text: "photos".scalars, key: "photos".scalars, span: words[at].span, values: ["picture": []])
            return (FacetReader.cut(words, begin, at + 2, before.contains { $0.has("picture", "medium") } ? [] : [photos]), facet)
        }
        return nil
    }

    private func kindOfCompany(_ word: AskedWord, _ follows: AskedWord, _ before: AskedWord?) -> String? {
        let persons = vocabulary.listed("persons")
        if word.isAny("group"), follows.has("picture") { return "together" }
        if word.isAny("one"), persons.contains(follows.key) { return before?.isAny("just", "only") == true ? "alone" : nil }
        guard persons.contains(word.key) else { return nil }
        return follows.isAny("together") ? "together" : follows.has("alone") ? "alone" : nil
    }

    private func first(_ words: [AskedWord], _ take: (Int, AskedWord) -> Taken?) throws -> Taken? {
        for (at, word) in words.enumerated() {
            if let taken = take(at, word), !taken.facet.value.isEmpty, try has(taken.facet) { return taken }
        }
        return nil
    }

    private static func cut(_ words: [AskedWord], _ begin: Int, _ end: Int, _ between: [AskedWord] = []) -> [AskedWord] {
        var rest = words
        rest.replaceSubrange(begin..<end, with: between)
        return rest
    }

    /// A camera's name ends the question, or what is told before a place or time: "taken with my iPhone".
    private func camera(_ words: [AskedWord]) throws -> Taken? {
        let end = (words.lastIndex { !$0.isMark } ?? -1) + 1
        let places = stride(from: end - 1, to: 1, by: -1).filter { vocabulary.listed("taken_where").contains(words[$0].key) }
        for end in [end] + places { if let taken = try camera(words, before: end) { return taken } }
        return nil
    }

    private func camera(_ words: [AskedWord], before end: Int) throws -> Taken? {
        for at in stride(from: end - 2, through: max(0, end - 2 - FacetReader.camera), by: -1) where vocabulary.listed("by_what").contains(words[at].key) {
            let begin = at > 0 && words[at - 1].has("made") ? at - 1 : at, first = words[at + 1].isAny("my", "our", "the") ? at + 2 : at + 1
            let facet = Facet("camera", Array(words[first..<end]).written)
            // Without "taken", a name has a capital or a number in it: "dinner with the family", "on the Canon".
            let isNamed = facet.value != facet.value.lowered() || facet.value.contains(where: \.isDigit)
            let isName = !facet.value.allSatisfy(\.isDecimal)  // nor is nothing one
            guard isName, begin < at || first > at + 1 && isNamed, try has(facet) else { continue }
            let rest = FacetReader.cut(words, begin, end)
            return (rest.allSatisfy(\.isMark) ? [] : rest, facet)
        }
        return nil
    }

    /// Whether a phrase ends before `at`: at the question's end, a mark, or a word that ties it to others.
    private func ends(_ words: [AskedWord], _ at: Int, orAny more: String...) -> Bool {
        if at >= words.count || words[at].isMark || vocabulary.listed("tied").contains(words[at].key) { return true }
        return more.contains { words[at].isAny($0) }
    }
}
