/// The words of what is asked for, `head`, and of its `anchor` (runtime/questions/relations.py). `other`: the second anchor of "between".
/// `exact`: right after. The rest: see `Wanted`. Without a relation the anchors are compared: which was first.
struct Split {
    var head: [AskedWord]
    var anchor: [AskedWord]
    var relation = "same"
    var other: [AskedWord] = []
    var unit = ""
    var shift = 0
    var side = ""
    var exact = false
}

/// Tells the words of what is asked for from those of its anchor: before, after, between, the same day. A wrong reading is worse than
/// none: a plain search still finds the photo. Where words only sound like an order ("cat chasing after a ball"), there is none.
struct RelationReader {
    private let phrases: Phrases
    private let edges: [String]

    init(_ vocabulary: QuestionVocabulary, _ phrases: Phrases) {
        self.phrases = phrases
        edges = vocabulary.roles("edges")
    }

    /// Nil for a request without an anchor; a time is none, and a place only one that is compared.
    func split(_ request: Asking, _ isTime: (Text) throws -> Bool, _ isPlace: (Text) throws -> Bool) rethrows -> Split? {
        for part in [whichFirst, shifted, same, between, around, atAnEvent] {
            guard let split = part(request) else { continue }
            let anchors = split.relation.isEmpty || split.relation == "between" ? [split.anchor.written, split.other.written] : [split.anchor.written]
            if anchors.contains(where: \.isEmpty) { continue }
            let compared = split.relation.isEmpty ? try anchors.filter { try !isPlace($0) } : anchors
            let bound = "\(split.relation) ".scalars + anchors[0]  // "after May": a month, though "May" alone may be a name
            if try !(split.relation.isEmpty ? compared : compared + [bound]).contains(where: isTime) { return split }
        }
        return request.sentence.isEmpty ? nil : try told(request, isTime)
    }

    /// The anchor that a story names: "The week before the hike we bought boots. Find the boots."
    private func told(_ request: Asking, _ isTime: (Text) throws -> Bool) rethrows -> Split? {
        var story = request
        (story.words, story.sentence, story.story, story.isQuestion, story.isAsked) = (request.sentence, [], [], false, true)
        for part in [shifted, same, between] {
            guard var split = part(story), !split.anchor.isEmpty else { continue }
            if try isTime(split.anchor.written) { continue }
            split.head = request.words
            return split
        }
        return nil
    }

    /// "Did I see A first, or B?", "which came first, A or B", "was A before B?".
    private func whichFirst(_ request: Asking) -> Split? {
        let words = request.words
        guard request.asks == "fact" || request.asks == "where", words.contains(where: { $0.isAny("after", "before", "or") }) else { return nil }
        let around = words.index(of: "before", "after") ?? -1
        guard let link = words.firstIndex(where: { $0.isAny("or") }), !(around > 0 && around + 2 < words.count && words[around + 2].has("after")) else {
            let then = around + 1 < words.count && words[around + 1].isAny("or") ? around + 3 : around + 1
            // "Was the wedding before the move", not "were the kids happy before the move"
            guard request.was, around > 0, let other = words.from(then).first, other.has("definite") || isCapital(other) else { return nil }
            guard words[0].has("definite") && around == 2 || words[..<around].allSatisfy(isCapital) else { return nil }
            return two(Array(words[..<around]), words.from(then))
        }
        let first = words.firstIndex { $0.isAny("earlier", "first") } ?? -1, mark = words[..<link].lastIndex(where: \.isMark) ?? -1
        if first >= 0, first == mark - 1, mark < link - 1 {  // not "the first night"
            return two(Array(words[(mark + 1)..<link]), words.from(link + 1))
        }
        if request.asks != "fact" { return nil }
        if words[0].isAny("which", "what") || words[..<link].contains(where: { $0.isAny("came") }) {
            return first >= 0 && first < link ? two(Array(words[(first + 1)..<link]), words.from(link + 1)) : nil
        }
        if let around = Array(words[..<link]).index(of: "before", "after"), around > 0, words[link...].contains(where: { $0.isAny("way") }) {
            return two(Array(words[..<around]), Array(words[(around + 1)..<link]))
        }
        return first < 0 ? nil : two(Array(words[..<min(first, link)]), words.from(link + 1).filter { !$0.isAny("first") })
    }

    private func isCapital(_ word: AskedWord) -> Bool { word.text.first?.properties.isUppercase == true }

    private func two(_ one: [AskedWord], _ other: [AskedWord]) -> Split? {
        let (anchor, second) = (named(one), named(other))
        return anchor.isEmpty || second.isEmpty ? nil : Split(head: [], anchor: anchor, relation: "", other: second)
    }

    /// What is compared, without "did I see".
    private func named(_ words: [AskedWord]) -> [AskedWord] {
        Array(words.trimmed("courtesy", "aux", "self", "which", "generic").drop { ($0.has("seen") || $0.isAny("it")) && !$0.isAny("meet", "met") })
    }

    /// "Two days after the concert": another day, counted from the anchor's.
    private func shifted(_ request: Asking) -> Split? {
        let words = request.words
        for at in words.indices.dropLast() {
            let way = words[at + 1]
            if !way.has("before", "after") || way.isAny("once", "since", "until") { continue }
            // "Earlier that day before the eagle" is within the day.
            if at > 0, words[at - 1].isAny("same", "that", "this") { continue }
            guard let unit = words[at].unit, unit != "event", unit != "trip" else { continue }
            let count = at > 0 ? words[at - 1].number : 0
            var first = count > 0 ? at - 1 : at
            while first > 0, words[first - 1].has("definite", "order", "preposition") || words[first - 1].isAny("following", "very") { first -= 1 }
            let (anchor, tail) = anchorAndTail(words, at + 2)
            guard let begin = anchor.first, !begin.isAny("last", "next", "tomorrow", "yesterday") else { continue }
            if anchor.allSatisfy({ $0.has("unit", "definite") }) { continue }
            let shift = (way.has("before") ? -1 : 1) * max(count, 1)
            return Split(head: Array(words[..<first]) + tail, anchor: anchor, unit: unit, shift: shift)
        }
        return nil
    }

    /// "The same day as", "the day of", "that evening": the anchor's unit of time.
    private func same(_ request: Asking) -> Split? {
        // "The days of the week" are no day.
        for (at, word) in request.words.enumerated() where !word.key.has(suffix: "s") {
            if let unit = word.unit, let split = sameAt(request, at, unit) { return split }
        }
        return nil
    }

    /// The same for the unit at index `at`.
    private func sameAt(_ request: Asking, _ at: Int, _ unit: String) -> Split? {
        let words = request.words, isSame = at > 0 && words[at - 1].isAny("same")
        var first = isSame ? at - 1 : at
        while first > 0, words[first - 1].has("definite", "preposition") { first -= 1 }
        if first > 0, words[first - 1].isAny("made", "shot", "taken") { first -= 1 }
        let follows = words.from(at + 1), (side, said) = self.side(Array(words[..<first]))
        let isOf = follows.first?.isAny("of") == true
        let isSided = isOf && (request.isQuestion || follows.index(of: "earlier", "later") != nil)
        let isClause = at == 0 && follows.first?.has("subject") == true  // "year I moved"
        if first == at && !isSided && !isClause { return nil }  // "walk of fame", "day trip"
        if said.last?.has("before", "after") == true { return nil }  // "after the day of …": of its whole
        var head = said
        if let start = anchorAt(words, at, isSame) {
            let (found, tail) = anchorAndTail(words, start), (anchor, late) = lateSide(found)
            head += tail
            var isScene = (isOf || follows[0].isAny("with")) && !isSame && !phrases.isMoment(anchor) && !request.isAsked
            if isOf, let owner = anchor.first, isOwned(owner) { isScene = false }
            if isScene && !phrases.asksForMore(head, request) && !(isOf && request.isQuestion) { return nil }  // "the party with balloons"
            if !anchor.isEmpty { return Split(head: head, anchor: anchor, unit: unit, side: side.isEmpty ? late : side) }
        }
        return toldUnit(request, at, unit, head, side)
    }

    /// "Mom's scan", "my exam".
    private func isOwned(_ word: AskedWord) -> Bool {
        word.isAny("my", "our") || word.has("possessive") || word.key.has(suffix: "'s") || word.key.has(suffix: "s'")
    }

    /// Where the anchor begins after the unit at index `at`; nil where none follows.
    private func anchorAt(_ words: [AskedWord], _ at: Int, _ isSame: Bool) -> Int? {
        guard at + 1 < words.count else { return nil }
        let follows = words[at + 1]
        if follows.isAny("in", "on"), at + 2 < words.count, words[at + 2].isAny("which") { return at + 3 }
        if follows.isAny("of", "that", "when", "where", "with") || isSame && follows.isAny("as", "like") { return at + 2 }
        if follows.has("subject") { return at + 1 }  // "the day we moved"
        let isDefinite = at > 0 && follows.has("definite") && words[at - 1].has("definite")
        return isDefinite && phrases.isClause(anchorAndTail(words, at + 1).0) ? at + 1 : nil
    }

    /// "That evening", "the following day" of what was told; "that morning, earlier than the cake".
    private func toldUnit(_ request: Asking, _ at: Int, _ unit: String, _ head: [AskedWord], _ side: String) -> Split? {
        guard at > 0 else { return nil }
        let before = request.words[at - 1], follows = request.words.from(at + 1), (late, rest) = self.side(follows)
        if !request.story.isEmpty, before.isAny("following", "next") {
            return Split(head: Array(request.words[..<(at - 1)]) + follows, anchor: request.story, unit: unit, shift: 1)
        }
        if !request.story.isEmpty, before.isAny("same", "that", "this") {
            return Split(head: head + rest, anchor: request.story, unit: unit, side: side.isEmpty ? late : side)
        }
        guard before.isAny("that"), let than = follows.prefix(3).firstIndex(where: { $0.isAny("earlier than", "later than") }) else { return nil }
        let (anchor, tail) = anchorAndTail(follows, than + 1)
        return Split(head: head + tail, anchor: anchor, unit: unit, side: follows[than].has("before") ? "earlier" : "later")
    }

    private func between(_ request: Asking) -> Split? {
        let words = request.words
        guard let at = words.firstIndex(where: { $0.isAny("between", "in between") }),
            let link = words.indices.dropFirst(at + 2).first(where: { words[$0].isAny("and") })
        else { return fromUntil(request) }
        let (other, tail) = anchorAndTail(words, link + 1), before = Array(words[..<at]), head = before + tail
        let anchor = Array(words[(at + 1)..<link])
        var isWanted = phrases.isPlural(head, request) || request.did || request.asks == "count" || head.index(of: "order") != nil
        isWanted = isWanted || phrases.isAboutPhotos(head, request) && head.trimmed(any: edges).isEmpty
        let isSetOff = at > 1 && words[(at - 2)..<at].contains(where: \.isMark)
        let isSaid = request.isAsked || isSetOff || before.trimmed("preposition").isEmpty
        let isDefinite = anchor[0].has("definite") && phrases.isDefinite(other) && isSaid || head.trimmed().isEmpty
        // "The bridge between two towers" is a scene.
        return isWanted || isDefinite ? Split(head: head, anchor: anchor, relation: "between", other: other) : nil
    }

    /// "From A until B", "after A but before B".
    private func fromUntil(_ request: Asking) -> Split? {
        let words = request.words
        guard let last = words.indices.first(where: { endsASpan(words, $0) }),
            let first = words[..<last].firstIndex(where: { $0.isAny("after", "from", "since") })
        else { return nil }
        let anchor = words[(first + 1)..<last].filter { !$0.isAny("but", "when") }, (other, tail) = anchorAndTail(words, last + 1)
        return anchor.isEmpty || other.isEmpty ? nil : Split(head: Array(words[..<first]) + tail, anchor: anchor, relation: "between", other: other)
    }

    /// "Until", "but before".
    private func endsASpan(_ words: [AskedWord], _ at: Int) -> Bool {
        if words[at].isAny("before") { return at > 0 && words[at - 1].isAny("but") }
        return words[at].isAny("through to", "until", "up to")
    }

    /// Before or after an anchor, or its whole unit of time.
    private func around(_ request: Asking) -> Split? {
        let words = request.words
        guard let at = wayAt(words) else { return nil }
        var (anchor, tail) = anchorAndTail(words, at + 1), edge = at
        while edge > 0, words[edge - 1].has("exactly") || words[edge - 1].isAny("came", "comes", "coming", "only", "that") { edge -= 1 }
        let isExact = words[edge..<at].contains { $0.has("exactly") }
        var before = Array(words[..<edge])
        if before.count > 1, before[before.count - 1].isAny("and"), before[before.count - 2].isMark { before.removeLast() }
        var head = before + tail
        if !request.story.isEmpty, anchor.isEmpty || phrases.refers(anchor) { anchor = request.story }
        if anchor.isEmpty || phrases.refers(anchor) { return nil }
        let leads = before.isEmpty && !tail.isEmpty
        let isSetOff = leads || before.last { !$0.isAny("from", "only") }?.isMark == true
        guard isExact || leads || isOrder(request, head, before.trimmed(), anchor, words[at], isSetOff) else { return nil }
        let (unit, whole) = wholeUnit(anchor), (side, rest) = self.side(head)
        (anchor, head) = (whole, rest)
        let unitAt = head.index(of: "unit")
        if !side.isEmpty, !request.story.isEmpty || unitAt != nil {  // "earlier that day, before I fell"
            return Split(head: head.filter { !$0.has("unit") }, anchor: anchor, unit: unitAt.flatMap { head[$0].unit } ?? "day", side: side)
        }
        if tail.isEmpty, head.trimmed(any: edges).isEmpty, head.index(of: "all") != nil { (anchor, head) = shownWith(anchor, head) }
        return Split(head: head, anchor: anchor, relation: words[at].has("after") ? "after" : "before", unit: unit, exact: isExact)
    }

    /// The index of "before", "after" or a word like them; nil without one. "Before and after" is none.
    private func wayAt(_ words: [AskedWord]) -> Int? {
        for (at, word) in words.enumerated() {
            let next = at + 1 < words.count ? words[at + 1] : nil, then = at + 2 < words.count ? words[at + 2] : nil
            if word.isAny("up to"), next?.has("them") == true { return at }
            if word.has("before", "after") { return next?.isAny("and") == true && then?.has("before", "after") == true ? nil : at }
        }
        return nil
    }

    /// Whether "before" and "after" mean the order of photos, and not what one of them shows. `spoken`: what of the head stands before the
    /// anchor. `isSetOff`: whether a comma stands between them.
    private func isOrder(
        _ request: Asking, _ head: [AskedWord], _ spoken: [AskedWord], _ anchor: [AskedWord], _ way: AskedWord, _ isSetOff: Bool
    ) -> Bool {
        if way.isAny("as soon as", "once") { return phrases.isClause(anchor) }
        if head.indices.contains(where: { head[$0].has("order") && !($0 + 1 < head.count && head[$0 + 1].has("unit")) }) { return true }
        if spoken.last?.has("placed") == true { return false }
        let isNamed = spoken.last?.has("made", "one", "picture") == true
        if way.isAny("following", "preceding"), !isNamed { return false }  // "ducklings following their mother"
        if phrases.isMoment(anchor) || way.isAny("prior to", "since") { return true }
        if isSetOff || spoken.isEmpty || request.asks != "photos" { return phrases.isDefinite(anchor) || way.has("way") }
        if anchor[0].has("subject") || anchor.count > 2 && anchor[0].has("definite") && anchor[1].has("order") { return true }
        return phrases.isAboutPhotos(head, request) && !anchor[0].isAny("a", "an", "and", "another", "some")
    }

    /// "Was there a cat at the party?"
    private func atAnEvent(_ request: Asking) -> Split? {
        let words = request.words
        guard request.isClosed, let at = words.indices.dropFirst().dropLast().last(where: { words[$0].isAny("at") }), words[at + 1].has("definite")
        else { return nil }
        return Split(head: Array(words[..<at]), anchor: words.from(at + 1), unit: "event")
    }

    /// "Everything after the party with the couch in it": the couch is what is looked for.
    private func shownWith(_ anchor: [AskedWord], _ head: [AskedWord]) -> ([AskedWord], [AskedWord]) {
        for at in anchor.indices.dropFirst().dropLast() {
            let has = anchor[at].isAny("that") && anchor[at + 1].isAny("has", "have", "show", "shows")
            guard has || anchor[at].isAny("with") && anchor[at + 1].has("definite") else { continue }
            let rest = anchor.from(at + 2), isInside = rest.count > 1 && rest[rest.count - 1].isAny("it", "them")
            return (Array(anchor[..<at]), head + (isInside ? Array(rest.dropLast(2)) : rest))
        }
        return (anchor, head)
    }

    /// The anchor from `start` on, and what follows it behind a mark, or where another clause begins.
    private func anchorAndTail(_ words: [AskedWord], _ start: Int) -> ([AskedWord], [AskedWord]) {
        if let mark = words.indices.dropFirst(start).first(where: { words[$0].isOne(of: ",:;.—–-") }) {
            return (Array(words[start..<mark]), words.from(mark + 1))
        }
        let other = words.indices.dropFirst(start + 2).first { beginsClause(words, $0) } ?? words.count
        return (Array(words[..<other].dropFirst(start)), words.from(other))
    }

    /// "Three days before the operation | I photographed the tree".
    private func beginsClause(_ words: [AskedWord], _ at: Int) -> Bool {
        let before = words[at - 1]
        if !words[at].isAny("he", "i", "she", "they", "we") || at + 1 >= words.count || before.isAny("and", "that") { return false }
        return !before.has("aux", "one", "picture", "preposition", "unit", "when", "where", "which", "who")
    }

    /// "… as the owl but later".
    private func lateSide(_ anchor: [AskedWord]) -> ([AskedWord], String) {
        guard anchor.count > 2, let at = anchor.indices.suffix(2).first(where: { anchor[$0].has("earlier", "later") }) else { return (anchor, "") }
        var rest = Array(anchor[..<at])
        while rest.count > 1, rest[rest.count - 1].isAny("a", "bit", "but", "only") { rest.removeLast() }
        return (rest, anchor[at].has("earlier") ? "earlier" : "later")
    }

    private func side(_ words: [AskedWord]) -> (String, [AskedWord]) {
        guard let at = words.index(of: "earlier", "later") else { return ("", words) }
        let side = words[at].has("earlier") ? "earlier" : "later"
        return (side, words.filter { !$0.has(side) })
    }

    /// "The day I saw the whale": the unit, and what it is the unit of.
    private func wholeUnit(_ anchor: [AskedWord]) -> (String, [AskedWord]) {
        guard anchor.count > 2, anchor[0].has("definite"), let unit = anchor[1].unit else { return ("", anchor) }
        let isLinked = anchor[2].isAny("of", "that", "when", "where")
        if !isLinked && !anchor[2].has("subject") && phrases.said(anchor.from(2)) == 0 { return ("", anchor) }
        return (unit, anchor.from(isLinked ? 3 : 2))
    }
}

extension AskedWord {
    /// Of time, such as "day"; nil for a word that names none.
    fileprivate var unit: String? { values["unit"]?.string }
}
