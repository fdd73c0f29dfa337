/// Deterministic entity extraction by rules: memory text in, mentions out (index/entities/extract.py).
///
/// Entities are searched for in this order: quoted names, prices, dates, capitalised names (people, places,
/// things), noun-like phrases (runs of words between stop words). `Relations` says which of them describe
/// others, as in the paper's example Chair → IKEA, 119.
public enum Entities {
    private static let maxMentions = 12
    private static let maxText = 20_000

    private static let month =
        "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
    private static let quoted = Pattern(#"["“«]([^"“”«»\n]{2,60})["”»]|(?<![\w'])'([^'\n]{2,60})'(?!\w)"#)
    private static let price = Pattern(
        #"[$€£¥]\s?\d[\d,]{0,20}(?:\.\d{1,20})?|(?<![\w.])\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:[€£¥]|(?:dollars?|euros?|pounds|yuan|yen|bucks|usd|eur|gbp|cny|rmb)\b)"#,
        ignoringCase: true)
    private static let date = Pattern(
        #"\b\d{4}-\d{2}-\d{2}\b|\b"# + month + #"\.?\s+\d{1,2}(?:st|nd|rd|th)?(?:,?\s+\d{4})?\b|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?"# + month
            + #"(?:,?\s+\d{4})?\b|\b"# + month + #"\s+\d{4}\b|\b(?:19|20)\d{2}\b"#, ignoringCase: true)
    private static let capital = #"[^\W\d_a-zß-öø-ÿ][\w’'\-]*"#
    private static let name = Pattern(capital + #"(?:[ \t]+(?:(?:of|de|la|da|van|von|the|&)[ \t]+)?"# + capital + ")*")
    private static let placeBefore = Pattern(
        #"\b(?:in|at|from|near|to|around|toward|towards|outside|inside|visiting|visited)\s+(?:the\s+)?$"#, ignoringCase: true)
    // What follows a speaker is speech; "Chair: 119 at IKEA" is a note about a chair.
    private static let noted = #"\d[\d,]{0,20}(?:\.\d{1,20})?(?=\s*(?:$|[,;\n])|\s+(?:at|in|from)\b)"#
    private static let speakerAfter = Pattern(#"\s?:\s(?!\s*"# + noted + ")", ignoringCase: true)
    private static let notedPrice = Pattern(#"(?<=\w:\s)"# + noted, ignoringCase: true)
    private static let sentenceStart = Pattern(#"(?:^|[.!?:…\n"“(]\s*|[^\w\s,;'’&/-]\s*)$"#)
    private static let breaks = Pattern(#"[.!?;:,\n()…—–/]"#)
    private static let possessive = Pattern(#"['’]s\b"#)
    private static let possessiveEnd = Pattern("['’]s$")
    private static let priceSpace = Pattern(#"(?<=[$€£¥])\s+"#)

    /// The key of an entity's spellings: lower case, single spaces, no possessive, last word singular.
    public static func canonical(_ name: Text) -> Text {
        var words = possessive.replacing(name.casefolded(), with: "").words()
        if let last = words.last { words[words.count - 1] = Words.singular(last) }
        return Text.join(words, " ")
    }

    /// At most 12 mentions, names before phrases, one per canonical name.
    public static func extract(_ whole: Text) -> [Mention] {
        let text = whole.slice(0, maxText)
        var search = Search(text: text)
        for match in quoted.all(text) {
            let inner = (match[1] ?? match[2] ?? []).stripped { " ,.!?".unicodeScalars.contains($0) }
            search.take(match.start, match.end, inner, "thing")
        }
        for match in price.all(text) { search.take(match.start, match.end, priceSpace.replacing(match.whole, with: ""), "price") }
        for match in notedPrice.all(text) { search.take(match.start, match.end, match.whole, "price") }
        for match in date.all(text) where match.whole != "may".scalars { search.take(match.start, match.end, match.whole.tidied(), "date") }
        search.names()
        search.phrases()
        return linked(text, search.found)
    }

    private struct Search {
        let text: Text
        var found: [Span] = []
        var taken: [Bool]

        init(text: Text) {
            self.text = text
            taken = [Bool](repeating: false, count: text.count)
        }

        mutating func take(_ start: Int, _ end: Int, _ name: Text, _ kind: String) {
            guard name.count > 1, !taken[start..<end].contains(true) else { return }
            for at in start..<end { taken[at] = true }
            found.append(Span(start: start, end: end, name: name, kind: kind))
        }

        /// Takes runs of capitalised words as names. A single word at a sentence's start is a name only if it
        /// is a speaker ("Anna: ...") or an owner ("Anna's dog"), or is capitalised within a sentence
        /// elsewhere in the text.
        mutating func names() {
            var inner = Set<Text>()
            var kept: [(start: Int, end: Int, name: Text, speaks: Bool)] = []
            for match in Entities.name.all(text) where !taken[match.start] {
                var start = match.start, name = match.whole.strippedEnd { "’'-".unicodeScalars.contains($0) }
                var atStart = Entities.sentenceStart.search(text, in: max(0, start - 8)..<start) != nil
                var (head, rest) = Entities.partition(name)
                // "The Golden Gate" → "Golden Gate".
                while !rest.isEmpty && Words.notEntities.contains(Entities.plain(head).casefolded()) {
                    start = match.start + (match.whole.find(rest, from: head.count) ?? 0)
                    (name, atStart) = (rest.strippedStart(), false)
                    (head, rest) = Entities.partition(name)
                }
                // "Tokyo I" → "Tokyo".
                while let space = name.lastIndex(of: " "), Words.stop.contains(name.slice(space + 1, name.count).casefolded()) {
                    name = name.slice(0, space).strippedEnd()
                }
                let single = !name.contains(" ")
                if single && Words.notEntities.contains(Entities.plain(name).casefolded()) { continue }
                let speaks = Entities.speakerAfter.match(text, at: match.end) != nil
                if !atStart || !single || speaks || Entities.plain(name) != name { inner.insert(Entities.canonical(name)) }
                kept.append((start, match.end, Entities.possessiveEnd.replacing(name.tidied(), with: ""), speaks))
            }
            for (start, end, name, speaks) in kept where inner.contains(Entities.canonical(name)) {
                let place = Entities.placeBefore.search(text, in: max(0, start - 24)..<start) != nil
                take(start, end, name, speaks ? "person" : place ? "place" : "thing")
            }
        }

        /// Takes runs of content words as things: at most the last two words, where English has its head
        /// noun. Frequent phrases come first, then early ones.
        mutating func phrases() {
            var runs: [[Match]] = [[]]
            var last = 0
            for match in Words.word.all(text) {
                if !runs[runs.count - 1].isEmpty && (Entities.breaks.search(text, in: last..<match.start) != nil || taken[match.start]) { runs.append([]) }
                last = match.end
                if taken[match.start] { continue }
                if Entities.isContent(match.whole) {
                    runs[runs.count - 1].append(match)
                } else if !runs[runs.count - 1].isEmpty {
                    runs.append([])
                }
            }
            let spans = runs.compactMap { run -> [Match]? in
                var run = run
                while let end = run.last, Words.looksVerbal(Entities.plain(end.whole).lowered()) { run.removeLast() }
                return run.isEmpty ? nil : Array(run.suffix(2))
            }
            let names = spans.map { span in
                Text.join(span.dropLast().map { $0.whole.lowered() } + [Words.singular(span[span.count - 1].whole.lowered())], " ")
            }
            var counts: [Text: Int] = [:]
            for name in names { counts[name, default: 0] += 1 }
            let ranked = spans.indices.sorted {
                (-counts[names[$0]]!, -spans[$0].count, spans[$0][0].start) < (-counts[names[$1]]!, -spans[$1].count, spans[$1][0].start)
            }
            for i in ranked { take(spans[i][0].start, spans[i][spans[i].count - 1].end, names[i], "thing") }
        }
    }

    private static func partition(_ name: Text) -> (Text, Text) {
        guard let at = name.firstIndex(of: " ") else { return (name, []) }
        return (Array(name[..<at]), Array(name[(at + 1)...]))
    }

    private static func isContent(_ word: Text) -> Bool {
        let lower = plain(word).casefolded()
        return lower.count >= 3 && !Words.notEntities.contains(lower) && !lower.allSatisfy(\.isDigit) && !(lower.has(suffix: "ly") && lower.count > 5)
    }

    private static func plain(_ word: Text) -> Text {
        let straight = word.map { $0 == "’" ? "'" : $0 }
        return straight.has(suffix: "'s") ? Array(straight.dropLast(2)) : straight
    }

    /// Limits the mentions to 12 without repeats, and says what each describes. A parent is included even if
    /// the limit would have dropped it.
    private static func linked(_ text: Text, _ found: [Span]) -> [Mention] {
        let parents = parents(text, found.sorted { $0.start < $1.start })
        var keys: [Text] = [], chosen: [Text: Span] = [:]
        func choose(_ key: Text, _ item: Span) {
            if chosen[key] == nil {
                chosen[key] = item
                keys.append(key)
            }
        }
        for item in found {
            let key = canonical(item.name)
            if !key.isEmpty && !Words.stop.contains(key) && chosen.count < maxMentions { choose(key, item) }
        }
        let selected = keys
        for key in selected {
            guard let parent = parents[key]?.span else { continue }
            let above = canonical(parent.name)
            if !above.isEmpty { choose(above, parent) }
        }
        let extra = keys[selected.count...]
        let kept = extra.count < maxMentions ? selected.prefix(maxMentions - extra.count) + extra : selected[...]
        let items = Dictionary(uniqueKeysWithValues: kept.map { ($0, chosen[$0]!) })
        return items.sorted { $0.value.start < $1.value.start }.map { mention($0.value, items, parents[$0.key]) }
    }

    /// Canonical name → the parent, and the relation. Of several the first counts that closes no circle.
    private static func parents(_ text: Text, _ ordered: [Span]) -> [Text: (span: Span, relation: Text)] {
        var parents: [Text: (span: Span, relation: Text)] = [:]
        for (at, link) in Relations.related(text, ordered).sorted(by: { $0.key < $1.key }) {
            let name = canonical(ordered[at].name)
            var above = canonical(ordered[link.parent].name), closes = above == name
            while let parent = parents[above] {
                above = canonical(parent.span.name)
                closes = closes || above == name
            }
            if !closes && parents[name] == nil { parents[name] = (ordered[link.parent], link.relation) }
        }
        return parents
    }

    private static func mention(_ item: Span, _ kept: [Text: Span], _ parent: (span: Span, relation: Text)?) -> Mention {
        guard let parent, let above = kept[canonical(parent.span.name)], canonical(above.name) != canonical(item.name) else {
            return Mention(item.name.string, item.kind)
        }
        return Mention(item.name.string, item.kind, parent: above.name.string, relation: parent.relation.string)
    }
}
