/// What a run of words is: what it counts, an event, words that say nothing (runtime/questions/query.py, phrases.py).
public struct Phrases {
    let vocabulary: QuestionVocabulary

    /// A text without the words at its ends that say nothing of what photos show; "" if it says nothing.
    public func content(_ text: Text) -> Text { stripped(vocabulary.words(text.tidied())).written }

    private func isListed(_ word: AskedWord, _ name: String) -> Bool { vocabulary.listed(name).contains(word.key) }

    private func stripped(_ words: [AskedWord]) -> [AskedWord] {
        let edges = vocabulary.listed("edges").map(\.string)
        func isEdge(_ word: AskedWord) -> Bool { word.isMark || edges.contains { word.values[$0] != nil } }
        func trimmed(_ run: [AskedWord]) -> [AskedWord] {
            guard let first = run.firstIndex(where: { !isEdge($0) }), let last = run.lastIndex(where: { !isEdge($0) }) else { return [] }
            return Array(run[first...last])
        }
        var left = words.split { $0.isText(",") }.map { Array($0) }.filter { !trimmed($0).isEmpty }.flatMap { $0 }
        while let word = left.first {
            let size = said(left)
            guard isEdge(word) || size > 0 else { break }
            left.removeFirst(max(size, 1))
        }
        for at in left.indices.dropFirst() {
            let size = said(Array(left[at...]))  // "the whale that I saw"
            if size == 0 { continue }
            left.removeSubrange((left[at - 1].isAny("that", "which") ? at - 1 : at)..<(at + size))
            break
        }
        return trimmed(left)
    }

    /// The number of words of "I saw", "we also photographed" at the beginning; 0 without them.
    private func said(_ words: [AskedWord]) -> Int {
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

    /// What "the last photo of Rex", "my 3 oldest pictures" ask for; nil for other questions, of which `gamer search` reads more: those
    /// with an anchor ("the last one before the wedding"), and what is asked otherwise ("which photo is the oldest").
    func ordered(_ words: [AskedWord]) -> Ordered? {
        var said = words[...]
        while let first = said.first, first.isMark || first.has("article", "courtesy", "definite", "filler", "modal", "request", "self") { said.removeFirst() }
        while let last = said.last, last.isMark || last.has("courtesy", "filler") { said.removeLast() }
        if said.contains(where: { $0.text.count == 1 && ",.?!;:—–…".unicodeScalars.contains($0.text[0]) }) { return nil }
        var number = 0
        if said.count > 1, let first = said.first, first.number > 0, said[said.startIndex + 1].has("order") {
            number = first.number
            said.removeFirst()
        }
        guard var order = said.popFirst()?.order else { return nil }
        if let last = said.first?.order {  // "the second last"
            if order < 2 || abs(last) != 1 { return nil }
            order *= last
            said.removeFirst()
        }
        if number == 0, let counted = said.first, counted.number > 0, !counted.isAny("a", "an", "one") {
            number = counted.number
            said.removeFirst()
        }
        let relating = ["after", "aux", "before", "earlier", "howmany", "later", "occasion", "order", "them", "unit", "way", "when", "where", "which", "who"]
        guard let noun = said.first, noun.has("picture", "pictured") else { return nil }
        for word in said.dropFirst() where relating.contains(where: { word.values[$0] != nil }) { return nil }
        for word in said.dropFirst() where word.isAny("between", "during", "same", "since", "that", "until", "while") { return nil }
        let isSeveral = said.contains { $0.isAny("ones", "others") || $0.has("picture", "pictured") && $0.key.has(suffix: "s") }
        return Ordered(order: order, number: number > 0 ? number : isSeveral ? 0 : 1, target: stripped(Array(said)).written)
    }

    private static let units: [String: String] = ["day": "day", "month": "month", "year": "year", "city": "place", "place": "place", "country": "country"]

    /// The words without what "how many cats a month", "which year did I photograph most" count by, and that
    /// (runtime/questions/grouped.py); the words themselves for other questions.
    func grouped(_ words: [AskedWord]) -> ([AskedWord], Grouped?) {
        for at in words.indices.dropFirst().dropLast() {
            let isEach = words[at].isAny("each", "every", "per") || words[at].isAny("a") && words[at - 1].has("picture", "howmany")
            guard isEach, let by = Phrases.unit(words[at + 1]), words[..<at].contains(where: { $0.has("howmany") }) else { continue }
            let rest = Array(words[..<at] + words[(at + 2)...]), counted = counted(rest)
            let said = counted.isEmpty ? Array(rest.drop { $0.has("howmany") }) : counted
            return (rest, Grouped(by: by, isMost: false, target: stripped(said).written))
        }
        guard let most = words.indices.first(where: { words[$0].isAny("most") && isOfPhotos(words[($0 + 1)...]) }), most > 0 else { return (words, nil) }
        let isWhere = words[0].has("where"), which = isWhere ? -1 : words.prefix(3).firstIndex { $0.has("which") } ?? words.count
        let unit = which + 1 < words.count ? Phrases.unit(words[which + 1]) : nil
        guard let by = isWhere ? "place" : unit else { return (words, nil) }
        let rest = Array(words[..<(words[most - 1].isAny("the") ? most - 1 : most)] + words[(most + 1)...])
        let said = rest.dropFirst(which + 2).filter { !$0.has("aux", "self", "subject", "made", "seen") && !isListed($0, "having_taken") }
        return (rest, Grouped(by: by, isMost: true, target: stripped(Array(said)).written))
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

extension AskedWord {
    /// 1 for "first", -1 for "last"; nil for a word of no order.
    fileprivate var order: Int? { values["order"].flatMap { Int($0.string) } }
}
