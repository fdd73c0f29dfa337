/// An entity in a text: characters `start` to `end`, its name and its kind.
struct Span {
    let start: Int
    let end: Int
    let name: Text
    let kind: String

    /// Only a thing or a person may be described by what follows it.
    var isHead: Bool { kind == "thing" || kind == "person" }
}

/// What an entity describes: the position of its parent in the list of spans, and how.
struct Link {
    let parent: Int
    let relation: Text
}

/// How the entities of a memory are related: (head, relation, tail), by the words that stand between them
/// (index/entities/relations.py).
///
/// The paper's example (Chair, 119, IKEA), as "the chair at IKEA costs $119", gives chair -at→ IKEA and chair -costs→ $119. Within a
/// sentence, an entity that follows a preposition or a verb describes an earlier one:
///
/// - a price describes the nearest thing, and *costs*;
/// - a place directly after a place or after something that is *at* or *in* a place describes that one ("ramen
///   at Ichiran in Shibuya": Ichiran -in→ Shibuya), so that a walk of the graph learns where things are;
/// - another entity describes the last one that itself describes nothing ("coffee with Anna":
///   coffee -with→ Anna);
/// - an owner describes what is owned ("Anna's dog": dog -of→ Anna);
/// - "with Anna and Tom" relates both as the first.
///
/// What no rule relates stands alone. Only the entity that describes nothing stands for the photo; its
/// description is reached through the graph.
enum Relations {
    private static let costs = "costs".scalars
    private static let of = "of".scalars
    private static let within = "in".scalars
    // Characters between a price and the thing it belongs to.
    private static let priceReach = 48
    // Entities of a sentence that are compared with each other.
    private static let maxSpans = 64
    // Characters between two entities that words relate.
    private static let maxBetween = 60
    private static let sentence = Set(".!?…\n;".unicodeScalars)
    private static let locative = Words.list("at in near on inside outside")
    private static let relations = locative.union(
        Words.list(
            """
            from to with by of for into onto behind beside under over above below between along across through around before after during without
            against toward towards named called as
            """))
    private static let be = Words.list("is are was were")
    private static let joins = Words.list("and or plus")
    private static let determiners = Words.list("the a an my our his her their")
    private static let owned = Words.list("'s ’s")

    /// Position of a span → what it describes. `spans`: in order of `start`, without overlaps.
    static func related(_ text: Text, _ spans: [Span]) -> [Int: Link] {
        var reading = Reading(text: text, spans: spans)
        for sentence in reading.sentences() { reading.relate(sentence) }
        return reading.links
    }

    /// The last preposition or verb; empty if there is none.
    private static func relation(_ words: [Text]) -> Text {
        words.last { word in
            relations.contains(word) || be.contains(word) || Words.verbs.contains(word) || (!Words.stop.contains(word) && Words.looksVerbal(word))
        } ?? []
    }

    private struct Reading {
        let text: Text
        let spans: [Span]
        var links: [Int: Link] = [:]

        /// The positions of the spans of each sentence.
        func sentences() -> [[Int]] {
            var out: [[Int]] = []
            for (at, span) in spans.enumerated() {
                let begins = out.last.map { $0.count == Relations.maxSpans } ?? true
                if begins || text[spans[at - 1].end..<span.start].contains(where: Relations.sentence.contains) { out.append([]) }
                out[out.count - 1].append(at)
            }
            return out
        }

        mutating func relate(_ sentence: [Int]) {
            // What comes before anything that it could describe, and its relation.
            var waiting: [(at: Int, relation: Text)] = []
            for (nth, at) in sentence.enumerated() {
                let span = spans[at]
                let words = nth == 0 ? opening(span.start) : folded(spans[sentence[nth - 1]].end, span.start)
                var link: Link?
                if span.kind == "price" {
                    link = price(sentence, at, nth)
                } else if nth > 0 {
                    link = self.link(sentence[..<nth], at, words)
                }
                if let link {
                    links[at] = link
                } else if owns(span) {
                    continue  // an owner describes what is owned, which comes next
                } else if span.isHead {
                    for place in waiting { links[place.at] = Link(parent: at, relation: place.relation) }
                    waiting = []
                } else if span.kind == "place" || span.kind == "date" {
                    let relation = Relations.relation(words)
                    if !relation.isEmpty { waiting.append((at, relation)) }
                }
            }
        }

        /// The last few words before the first entity of a sentence.
        private func opening(_ end: Int) -> [Text] { folded(end - Relations.maxBetween, end).suffix(3) }

        private func folded(_ start: Int, _ end: Int) -> [Text] { Words.word.all(text.slice(start, end)).map { $0.whole.casefolded() } }

        private mutating func link(_ earlier: ArraySlice<Int>, _ at: Int, _ words: [Text]) -> Link? {
            guard let before = earlier.last else { return nil }
            let gap = text.slice(spans[before].end, spans[at].start), between = gap.stripped()
            if gap.count > Relations.maxBetween { return nil }
            if owns(spans[before]) && between.isEmpty { return owned(before, at) }
            if between == [","] && spans[at].name.first?.isUpper == true {
                return spans[before].kind == "place" ? Link(parent: before, relation: Relations.within) : links[before]
            }
            let joined = words.filter(Relations.joins.contains)
            if !joined.isEmpty && words.allSatisfy({ Relations.joins.contains($0) || Relations.determiners.contains($0) }) { return links[before] }
            let relation = Relations.relation(words)
            if relation.isEmpty { return nil }
            if spans[at].kind == "place" && Relations.locative.contains(relation) && isWhere(before) { return Link(parent: before, relation: relation) }
            let heads = earlier.filter { links[$0] == nil && spans[$0].isHead }
            // The subject of a verb comes first; what a preposition describes comes last.
            let head = Relations.relations.contains(relation) ? heads.last : heads.first
            return head.map { Link(parent: $0, relation: relation) }
        }

        /// Relates an owner to what it owns; what is owned takes over what the owner would have described.
        private mutating func owned(_ owner: Int, _ at: Int) -> Link? {
            let taken = links.updateValue(Link(parent: at, relation: Relations.of), forKey: owner)
            return taken?.parent == at ? nil : taken
        }

        /// Whether a span says where something is: a place, or what something is at or in.
        private func isWhere(_ at: Int) -> Bool {
            spans[at].kind == "place" || links[at].map { Relations.locative.contains($0.relation) } ?? false
        }

        private func owns(_ span: Span) -> Bool { Relations.owned.contains(text.slice(max(span.start, span.end - 2), span.end).casefolded()) }

        /// The nearest thing in the price's sentence; one before the price is preferred to one after it.
        private func price(_ sentence: [Int], _ at: Int, _ nth: Int) -> Link? {
            let others = sentence[..<nth].reversed() + sentence[(nth + 1)...]
            let near = others.first { spans[$0].kind == "thing" && isNear(spans[at], spans[$0]) }
            return near.map { Link(parent: $0, relation: Relations.costs) }
        }

        private func isNear(_ one: Span, _ other: Span) -> Bool {
            (one.start < other.start ? other.start - one.end : one.start - other.end) <= Relations.priceReach
        }
    }
}
