/// The photos that a question asks for (runtime/questions/question.py). `asks`: for photos, a time, a place, a person, a number or a fact.
/// `target`: what they show; empty for any photo. `relation`: to the `anchor`: in the "same" `unit` of time, "before" or "after" it (or
/// its whole `unit`), or "between" it and `other`; with an anchor and "", which of the two was first. `order`: 1 for the first (or next),
/// 2 for the second, -1 for the last (or previous), 0 for no order; `anchorOrder`: the same of the anchor. `number`: how many, 0 for all
/// that fit. `isOccasion`: all photos of the one occasion that `order` names. `isExhaustive`: whether every one is meant. `withAnchor`:
/// whether the anchor belongs to the answer. `shift`: units of time from the anchor's ("the day after" is 1). `side`: "earlier" or
/// "later" than the anchor within its unit.
public struct Wanted {
    public var asks = "photos"
    public var target: Text = []
    public var relation = ""
    public var unit = ""
    public var anchor: Text = []
    public var other: Text = []
    public var order = 0
    public var anchorOrder = 0
    public var number = 0
    public var isOccasion = false
    public var isExhaustive = false
    public var withAnchor = false
    public var shift = 0
    public var side = ""

    /// Whether photos are asked for by their order in time, without an anchor.
    public var isOrdered: Bool { order != 0 && asks == "photos" && relation.isEmpty }
}

/// Reads what a request wants, with or without an anchor (runtime/questions/reader.py).
struct WantedReader {
    private let phrases: Phrases
    private let asking: AskingReader
    private let relations: RelationReader

    init(_ vocabulary: QuestionVocabulary, _ phrases: Phrases) {
        self.phrases = phrases
        (asking, relations) = (AskingReader(vocabulary, phrases), RelationReader(vocabulary, phrases))
    }

    /// `isTime`, `isPlace`: whether a phrase is nothing but a time or place. `isLimited`: whether the question says which photos of its target.
    func read(_ words: [AskedWord], _ isTime: (Text) throws -> Bool, _ isPlace: (Text) throws -> Bool, isLimited: Bool) rethrows -> Wanted {
        let request = asking.read(words), isExhaustive = words.contains { $0.isAny("all", "every", "everything") }
        let base = Wanted(asks: request.asks, isExhaustive: isExhaustive)
        guard let split = try relations.split(request, isTime, isPlace) else { return plain(base, request, isLimited) }
        return related(base, request, split)
    }

    private func related(_ base: Wanted, _ request: Asking, _ split: Split) -> Wanted {
        let second = anchor(split.other).written, other = second.isEmpty ? split.other.written : second
        if split.relation.isEmpty {
            var compared = base
            (compared.anchor, compared.other) = (split.anchor.written, other)
            return compared
        }
        var out = wanted(base, request, split.head, split)
        let (order, phrase) = anchorOrder(split.anchor), named = anchor(ofOne(phrase, out.target)).written
        out.anchor = named.isEmpty ? split.anchor.written : named
        if out.isOccasion, !out.target.isEmpty, out.order != 0, !sharesAWord(out.target, out.anchor) {
            out.anchor = out.target + [" "] + out.anchor  // "the next jellyfish after the big swarm": a swarm of these
        }
        if base.asks == "fact" && request.isOfAPhoto { out.asks = "photos" }
        (out.relation, out.unit, out.shift, out.side) = (split.relation, split.unit, split.shift, split.side)
        (out.anchorOrder, out.other) = (order, other)
        out.withAnchor = split.relation == "same" && (split.shift != 0 || split.head.index(of: "more") == nil)
        return out
    }

    private func plain(_ base: Wanted, _ request: Asking, _ isLimited: Bool) -> Wanted {
        var out = wanted(base, request, request.words, nil)
        let asks = request.isQuestion || request.isAsked || request.words.first?.has("all") == true
        if !(asks || isLimited || out.order != 0 || out.number != 0) { out.target = request.words.written }
        return out
    }

    /// Reads order, number and target from what a question says besides its anchor.
    private func wanted(_ base: Wanted, _ request: Asking, _ words: [AskedWord], _ split: Split?) -> Wanted {
        let head = putBefore(countedBack(words)), at = orderAt(head, request, split != nil), counted = numberAt(head, at)
        let next = at.flatMap { $0 + 1 < head.count ? head[$0 + 1] : nil }
        let order = at.flatMap { head[$0].order } ?? 0, number = counted.map { head[$0].number } ?? 0
        let isSeveral = phrases.namesSeveral(head) || next.map(isPluralNoun) ?? false
        let isSingle = order != 0 ? !isSeveral : split.map { isNear(request, head, $0) } ?? false
        let isRelated = split.map { $0.relation != "same" } ?? false
        var out = base
        out.order = order
        out.number = number > 0 ? number : isSingle && request.asks != "count" ? 1 : 0
        out.isOccasion = next?.isAny("occasion", "time") == true || order != 0 && isSeveral && number == 0 && isRelated
        let rest = head.indices.filter { $0 != at && $0 != counted }.map { head[$0] }
        out.target = phrases.stripped(rest, keepsVerbs: request.asks == "who").written
        return out
    }

    /// "The third last", "the second to last": one word of order, counted from the end.
    private func countedBack(_ head: [AskedWord]) -> [AskedWord] {
        for at in head.indices.dropLast() {
            var end = at + 1
            for link in ["to", "the"] where end < head.count && head[end].isAny(link) { end += 1 }
            guard end < head.count, let first = head[at].order, let then = head[end].order, first > 1, abs(then) == 1 else { continue }
            var both = head[end]
            both.values["order"] = "\(first * then)".scalars
            return Array(head[..<at]) + [both] + head.from(end + 1)
        }
        return head
    }

    /// "Which of the photos of the cat is the oldest": the oldest photo of the cat.
    private func putBefore(_ head: [AskedWord]) -> [AskedWord] {
        guard let at = head.index(of: "picture"), head[0].isAny("which", "what"), let last = head.last, last.has("order") else { return head }
        var rest = Array(head.dropLast())
        while rest.last?.has("definite") == true { rest.removeLast() }
        guard let verb = rest.last, verb.has("aux") else { return head }
        var picture = rest[at]
        if verb.isAny("is", "was") {
            if picture.text.has(suffix: "s") { picture.text.removeLast() }
            if picture.key.has(suffix: "s") { picture.key.removeLast() }
        }
        return Array(rest[..<at]) + [last, picture] + rest.from(at + 1).dropLast()
    }

    /// Whether one photo is asked for, the nearest to the anchor: "right after", "the photo before".
    private func isNear(_ request: Asking, _ head: [AskedWord], _ split: Split) -> Bool {
        let isNear = split.exact || phrases.namesOne(head) || phrases.isMoment(split.anchor)
        return isNear && (split.relation == "before" || split.relation == "after") && !phrases.isPlural(head, request)
    }

    private func isPluralNoun(_ word: AskedWord) -> Bool { word.key.has(suffix: "s") && !["is", "ss", "us"].contains { word.key.has(suffix: $0) } }

    /// The index of the order of the photos asked for; nil if there is none.
    private func orderAt(_ head: [AskedWord], _ request: Asking, _ isRelated: Bool) -> Int? {
        for (at, word) in head.enumerated() {
            if !word.has("order") || at + 1 < head.count && head[at + 1].has("unit") { continue }
            if isRelated || ordersPhotos(head, at) { return at }
            let isVerbal = (request.asks == "when" || request.asks == "where") && word.isAny("first", "last")
            let isOfEvent = isVerbal || at == 0 || head[at - 1].has("aux", "definite", "self", "subject")
            if request.isQuestion, isOfEvent, !head[..<at].contains(where: { $0.isAny("that", "which", "who") }) { return at }
        }
        return nil
    }

    /// Without an anchor, only photos and times are counted: "first snow" is something that a photo shows.
    private func ordersPhotos(_ head: [AskedWord], _ at: Int) -> Bool {
        let follows = Array(head.from(at + 1).prefix(3))
        guard let next = follows.first else { return false }
        if next.number > 0, follows.count > 1, !next.isAny("a", "an") { return true }
        if at > 0, head[at].isAny("earliest", "latest", "most recent", "newest", "oldest") {
            if head[at - 1].isAny("my", "our") || head[at - 1].has("picture") { return true }
        }
        if head.indices.dropFirst(at + 2).contains(where: { phrases.said(head.from($0)) > 0 }) { return true }
        if at > 0 && head[at - 1].number > 1 || next.isAny("occasion", "time") { return true }
        return follows.prefix(2).contains { $0.has("picture", "one") } || follows.contains { $0.has("pictured") }
    }

    /// The index of the number of photos asked for; nil if there is none.
    private func numberAt(_ head: [AskedWord], _ order: Int?) -> Int? {
        head.indices.first { at in
            let word = head[at]
            if word.number == 0 || word.isAny("a", "an") { return false }
            let noun = head.from(at + 1).prefix(3).first { $0.has("picture", "pictured") || $0.isAny("ones") }
            if let noun, !(word.isAny("one") && noun.key.has(suffix: "s")) { return true }
            return order.map { abs(at - $0) == 1 } ?? false
        }
    }

    /// "The first snow" is 1, and the snow.
    private func anchorOrder(_ words: [AskedWord]) -> (Int, [AskedWord]) {
        let anchor = countedBack(words), at = anchor.first?.has("definite") == true ? 1 : 0
        guard at + 1 < anchor.count, let order = anchor[at].order else { return (0, anchor) }
        let owner = at > 0 && !anchor[0].isAny("my", "our", "the") ? Array(anchor[..<at]) : []
        return (order, owner + anchor.from(at + 1))
    }

    /// "The one in the snow" is another of what is asked for.
    private func ofOne(_ anchor: [AskedWord], _ target: Text) -> [AskedWord] {
        let at = anchor.first?.has("definite") == true ? 1 : 0
        if at < anchor.count, anchor[at].has("one") {
            let rest = anchor.from(at + 1)
            if !target.isEmpty && !rest.isEmpty { return [AskedWord(text: target, key: target, span: anchor[at].span, values: [:])] + rest }
            return rest.first?.isAny("of", "where", "with") == true ? rest.from(1) : rest
        }
        return anchor.count > 1 && anchor[anchor.count - 1].isAny("one") ? Array(anchor.dropLast()) : anchor
    }

    /// An anchor without "I saw", "the photo of", "was taken".
    private func anchor(_ words: [AskedWord]) -> [AskedWord] {
        var rest = words.count > 1 && words[0].isAny("the") && words[1].isAny("moment") ? words.from(2) : words
        if rest.first?.isAny("that", "when") == true { rest.removeFirst() }
        rest = rest.from(phrases.said(rest))
        while rest.last?.isAny("shot", "taken", "was", "were") == true { rest.removeLast() }
        let at = rest.first?.has("definite") == true ? 1 : 0
        let isOf = at + 1 < rest.count && rest[at].has("picture") && rest[at + 1].isAny("of", "showing", "with")
        return isOf ? rest.from(at + 2) : rest
    }

    private func sharesAWord(_ first: Text, _ second: Text) -> Bool {
        func stems(_ text: Text) -> Set<Text> { Set(text.lowered().split(separator: " ").filter { $0.count > 2 }.map { Text($0.prefix(5)) }) }
        return !stems(first).isDisjoint(with: stems(second))
    }
}

extension AskedWord {
    /// 1 for "first", -1 for "last"; nil for a word of no order.
    fileprivate var order: Int? { values["order"].flatMap { Int($0.string) } }
}
