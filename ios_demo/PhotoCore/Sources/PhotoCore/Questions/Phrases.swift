/// What a run of words is: what it counts, an event, words that say nothing (runtime/questions/query.py, phrases.py).
public struct Phrases {
    private let vocabulary: QuestionVocabulary
    private let edges: [String]

    init(_ vocabulary: QuestionVocabulary) {
        self.vocabulary = vocabulary
        edges = vocabulary.roles("edges")
    }

    /// A text without the words at its ends that say nothing of what photos show; "" if it says nothing.
    public func content(_ text: Text) -> Text { stripped(vocabulary.words(text.tidied())).written }

    private func isListed(_ word: AskedWord, _ name: String) -> Bool { vocabulary.listed(name).contains(word.key) }

    /// The words without those at the ends, and the runs between commas, that say nothing of what photos show. `keepsVerbs`: whether the
    /// verbs at the ends stay, as in "who came to tea".
    func stripped(_ words: [AskedWord], keepsVerbs: Bool = false) -> [AskedWord] {
        let roles = keepsVerbs ? edges.filter { $0 != "seen" && $0 != "generic" } : edges
        var left = words.pieces { $0.isText(",") }.filter { !$0.trimmed(any: edges).isEmpty }.flatMap { $0 }
        while let word = left.first {
            let size = said(left)
            guard size > 0 || word.isMark || word.has(any: roles) else { break }
            left.removeFirst(max(size, 1))
        }
        for at in left.indices.dropFirst() {
            let size = said(left.from(at))  // "the whale that I saw"
            if size == 0 { continue }
            left.removeSubrange((left[at - 1].isAny("that", "which") ? at - 1 : at)..<(at + size))
            break
        }
        return left.trimmed(any: roles)
    }

    /// Whether the words say that somebody did something, or something happened.
    func isClause(_ words: [AskedWord]) -> Bool {
        if words.first?.has("subject") == true { return true }
        return words.indices.dropFirst().contains { at in
            let isVerb = words[at].has("verb", "aux") || words[at].key.has(suffix: "ed") && words[at].key.count > 4
            return isVerb && !words[at - 1].has("article", "definite", "preposition", "order")
        }
    }

    /// "I saw …", "the photo of …".
    func isMoment(_ words: [AskedWord]) -> Bool {
        let rest = words.first?.isAny("when") == true ? words.from(1) : words
        return said(rest) > 0 || rest.count > 1 && rest[0].has("definite") && rest[1].has("picture", "one")
    }

    /// Whether the words name something known: "the wedding", "we moved".
    func isDefinite(_ words: [AskedWord]) -> Bool { words.first.map { $0.has("definite") || isClause(words) } ?? false }

    /// "That", "it": what was told before.
    func refers(_ words: [AskedWord]) -> Bool { words.count == 1 && words[0].has("them") }

    /// "The photo after …", "a sunset after …": one of them.
    func namesOne(_ words: [AskedWord]) -> Bool {
        words.contains { $0.isAny("a", "an", "one") || $0.has("picture", "pictured") && !$0.key.has(suffix: "s") }
    }

    /// "Photos", "the other ones".
    func namesSeveral(_ words: [AskedWord]) -> Bool {
        words.contains { $0.isAny("ones", "others") || $0.has("picture", "pictured") && $0.key.has(suffix: "s") }
    }

    /// Whether all photos that fit are asked for.
    func isPlural(_ head: [AskedWord], _ request: Asking) -> Bool {
        namesSeveral(head) || request.everything || head.prefix(2).contains { $0.has("all") }
    }

    /// Whether photos are asked for, and the words do not only describe one.
    func isAboutPhotos(_ head: [AskedWord], _ request: Asking) -> Bool {
        request.isAsked || request.did || head.index(of: "picture", "all", "more", "one") != nil
    }

    /// Whether something is asked for beside the anchor.
    func asksForMore(_ head: [AskedWord], _ request: Asking) -> Bool {
        isPlural(head, request) || head.index(of: "more", "order") != nil || !head.trimmed(any: edges).isEmpty
    }

    /// The number of words of "I saw", "we also photographed" at the beginning; 0 without them.
    func said(_ words: [AskedWord]) -> Int {
        guard words.first?.isAny("i", "i'd", "i've", "we", "we'd", "we've") == true else { return 0 }
        var at = 1, had = 0
        while at < words.count, isListed(words[at], "said_between") || words[at].key.has(suffix: "ly") {
            at += 1
            if words[at - 1].isAny("had") { had = at }
        }
        if at < words.count, words[at].has("seen") { return at + 1 }
        if had > 0 { return had }  // "I had breakfast"
        guard at + 1 < words.count else { return 0 }
        let isAt = words[at].isAny("was", "were") && words[at + 1].isAny("at", "in")
        return isAt || words[at].isAny("went") && words[at + 1].isAny("to") ? at + 2 : 0
    }

    /// "India" of "our trip to India"; "" of anything else. A place or a time.
    public func gone(to text: Text) -> Text {
        let words = vocabulary.words(text), asking = vocabulary.listed("only_asking").map(\.string)
        guard let at = words.index(of: "stay"), at + 2 < words.count, words[at + 1].isAny("to", "in", "at") else { return [] }
        let isSaid = words[..<at].allSatisfy { word in word.has("article", "picture", "preposition") || asking.contains { word.values[$0] != nil } }
        return isSaid ? Array(words[(at + 2)...]).written : []
    }

    /// What "how many cats do we have" counts; nothing where it asks for a fact ("how many people came").
    func counted(_ words: [AskedWord]) -> [AskedWord] {
        guard words.first?.isAny("how many") == true else { return [] }
        var rest = words.dropFirst().filter { !Phrases.isStop($0) }
        if rest.first?.isAny("different") == true { rest.removeFirst() }
        if let at = rest.indices.dropFirst().first(where: { $0 + 1 < rest.count && rest[$0].has("aux") && rest[$0 + 1].isAny("i", "we", "there") }) {
            let isHaving = at + 2 < rest.count && isListed(rest[at + 2], "having_taken")
            rest.removeSubrange(at..<(at + (isHaving ? 3 : 2)))
        }
        if rest.count > 2, rest[0].isAny("of"), isListed(rest[1], "owners") { rest.removeFirst(2) }
        guard let first = rest.first, !first.has("duration"), !isListed(first, "uncounted") else { return [] }
        return rest.contains { $0.has("aux") || $0.isAny("came", "went", "cost", "should") } ? [] : rest
    }

    private static let units: [String: String] = ["day": "day", "month": "month", "year": "year", "city": "place", "place": "place", "country": "country"]

    /// The words without what "how many cats a month", "which year did I photograph most" count by, and that
    /// (runtime/questions/grouped.py); the words themselves for other questions.
    func grouped(_ words: [AskedWord]) -> ([AskedWord], Grouped?) {
        for at in words.indices.dropFirst().dropLast() {
            let isEach = words[at].isAny("each", "every", "per") || words[at].isAny("a") && words[at - 1].has("picture", "howmany")
            guard isEach, let by = Phrases.unit(words[at + 1]), words[..<at].contains(where: { $0.has("howmany") }) else { continue }
            return (Array(words[..<at]) + words.from(at + 2), Grouped(by: by, isMost: false))
        }
        guard let most = words.indices.first(where: { words[$0].isAny("most") && isOfPhotos(words[($0 + 1)...]) }), most > 0 else { return (words, nil) }
        let which = words.prefix(3).firstIndex { $0.has("which") } ?? words.count
        let unit = which + 1 < words.count ? Phrases.unit(words[which + 1]) : nil
        guard let by = words[0].has("where") ? "place" : unit else { return (words, nil) }
        return (Array(words[..<(words[most - 1].isAny("the") ? most - 1 : most)]) + words.from(most + 1), Grouped(by: by, isMost: true))
    }

    /// Whether "most", before these words, is of photos: it ends the question, or a picture follows, not "beautiful".
    private func isOfPhotos(_ after: ArraySlice<AskedWord>) -> Bool {
        after.first { !$0.isMark }.map { $0.has("picture", "medium") || $0.isAny("of", "often", "in") } ?? true
    }

    private static func unit(_ word: AskedWord) -> String? { units[(word.values["unit"] ?? word.key).string] }

    /// "Photos in the week after the wedding" for "photos after the wedding"; "" without an event. `said`: the text of words.
    func soon(_ words: [AskedWord], _ said: ([AskedWord]) -> Text) -> Text {
        guard let at = words.firstIndex(where: { $0.isAny("before", "after") || $0.has("way") }) else { return [] }
        let event = words[(at + 1)...].filter { !Phrases.isStop($0) }
        guard let first = event.first, let last = event.last, event.count > 1 || !first.has("definite") else { return [] }
        var head = Array(words[..<at])
        while head.last?.isAny("right", "just", "shortly", "soon") == true { head.removeLast() }
        guard words[at].has("way") || first.has("definite") || first.key.has(suffix: "'s") else { return [] }
        // What a street looks like after the rain is no matter of a week; "the day after" is for the cues.
        if (head + event).contains(where: { $0.isText(",") || $0.isText(";") }) || head.last?.has("unit") == true || last.has("weather") { return [] }
        return Text.join([head.isEmpty ? "photos".scalars : said(head), "in the week".scalars, words[at].key, event.written], " ")
    }

    private static func isStop(_ word: AskedWord) -> Bool { word.isText("?") || word.isText("!") || word.isText(".") }
}
