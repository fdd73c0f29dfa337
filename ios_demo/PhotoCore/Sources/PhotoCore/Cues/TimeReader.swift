/// Joins time expressions into cues: ranges, bounds ("since May"), offsets ("two days after Christmas")
/// (runtime/cues/time_ranges.py).
struct TimeReader: Sendable {
    let tables: CueTables
    let atoms: AtomReader
    let offsets: OffsetReader
    private let reported: Pattern, made: Pattern

    private static let join = Pattern(#"\s*(?:(?:,\s*)?(?:to|until|till|til|through|thru|and|up to)\b|-)\s*"#)
    private static let open = Pattern(#"\b(since|after|before|until|till|prior to|by|from|(?:no )?(?:old|new)er than)\s+(?:the\s+)?$"#)
    private static let onward = Pattern(#"\s+(?:onwards?|on|until now|to now|up to now|until today|and later)\b"#)
    private static let means = [
        "prior to": "before", "older than": "before", "newer than": "after", "no older than": "since", "no newer than": "until",
    ]
    private static let lead = Pattern(#"^(?:from|since|after|before|until|till|by|(?:no )?(?:old|new)er than)\s+"#)
    private static let between = Pattern(#"\bbetween\s+(?:the\s+)?$"#)
    private static let from = Pattern(#"\bfrom\s+$"#)
    private static let this = Pattern(#"\bthis\b"#)
    private static let next = Pattern(#",?\s+(?:the\s+)?"#)
    private static let weekOf = Pattern(#"(?:(?:in|on|during|from)\s+)?the\s+(?<unit>week|weekend)\s+(?:of\s+)?$"#)

    init(_ tables: CueTables) throws {
        self.tables = tables
        (atoms, offsets) = (try AtomReader(tables), try OffsetReader(tables))
        reported = try Pattern(reading: #"\b(?:"# + (try tables.expander.expand("<<reporting>>")) + ")")
        made = try Pattern(reading: try tables.expander.expand("<<making>>") + "$")
    }

    /// One expression, or two joined into a range, with the words around it.
    private struct Read {
        var span: Range<Int>
        let spans: [Interval]
        let kind: String
        var keep: Range<Int>?
        var used = 1
    }

    /// The time cues of a text, and the spans inside them that should stay in the text.
    func find(_ text: Text, _ ctx: TimeContext) -> (cues: [TimeCue], keep: [Range<Int>]) {
        let found = atoms.atoms(text, ctx)
        if found.isEmpty { return ([], []) }
        let flat = AtomReader.flatten(text)
        var reads: [Read] = [], at = 0
        while at < found.count {
            let following = at + 1 < found.count ? found[at + 1] : nil
            let read = following.flatMap { range(flat, found[at], $0, ctx) } ?? single(flat, found[at], ctx)
            reads.append(read)
            at += read.used
        }
        if let album = ctx.extent { reads.removeAll { ofThing(flat, $0, album.low) } }
        reads = namedDays(flat, reads)
        if reads.contains(where: { $0.kind == "day" || $0.kind == "span" }) {
            // "this weekend, as said on 20260703": the date is that of the message, and so the photo's; words
            // such as "this weekend" are relative to it and not to the present day.
            reads.removeAll { TimeCue.deictic.contains($0.kind) }
        }
        // "did he ask her for advice this week" means the week when he asked.
        if reported.search(flat) != nil {
            reads.removeAll { TimeCue.deictic.contains($0.kind) && TimeReader.this.search(flat, in: $0.span) != nil }
        }
        let cues = reads.flatMap { read in
            read.spans.map {
                TimeCue(
                    text: Text(text[read.span]).string, start: $0.start, end: $0.end, span: read.span, kind: read.kind, confidence: tables.trust[read.kind] ?? 1)
            }
        }
        return (cues, reads.compactMap(\.keep))
    }

    /// Whether a time is that of a thing, and ended before the first photo: "the castle built before 1950".
    private func ofThing(_ flat: Text, _ read: Read, _ first: Int) -> Bool {
        read.spans.allSatisfy { $0.end.map { $0 < first } ?? false }
            && made.search(Text(flat[max(0, read.span.lowerBound - 60)..<read.span.lowerBound])) != nil
    }

    /// Joins a weekday with the date that follows it: "on Sunday, July 4th".
    private func namedDays(_ flat: Text, _ reads: [Read]) -> [Read] {
        var out: [Read] = []
        for read in reads {
            var read = read
            if let last = out.last, last.kind == "weekday", last.span.upperBound <= read.span.lowerBound,
                TimeReader.next.fullMatch(flat, in: last.span.upperBound..<read.span.lowerBound) != nil
            {
                read.span = last.span.lowerBound..<read.span.upperBound
                out.removeLast()
            }
            out.append(read)
        }
        return out
    }

    /// Reads "from March to May" or "between 2008 and 2010"; nil if the words between do not make a range.
    private func range(_ flat: Text, _ atom: Atom, _ other: Atom, _ ctx: TimeContext) -> Read? {
        let (a, b) = (atom.span.lowerBound, atom.span.upperBound)
        guard b <= other.span.lowerBound, let gap = TimeReader.join.fullMatch(flat, in: b..<other.span.lowerBound) else { return nil }
        let lead = TimeReader.between.search(flat, in: 0..<a)
        guard lead != nil || gap.whole.find("and".scalars) == nil else { return nil }
        let spans = joined(atom, other, ctx)
        if spans.isEmpty { return nil }
        let start = lead?.start ?? TimeReader.from.search(flat, in: 0..<a)?.start ?? a
        return Read(span: start..<other.span.upperBound, spans: spans, kind: "span", used: 2)
    }

    private func single(_ flat: Text, _ atom: Atom, _ ctx: TimeContext) -> Read {
        let (a, b) = (atom.span.lowerBound, atom.span.upperBound), exact = atom.exactly
        if let offset = offsets.read(flat, a) {
            let spans = exact.fixed.isEmpty ? everyYear(exact, ctx) : exact.fixed
            if !spans.isEmpty, let moved = try? spans.map({ try offset.shifted($0, tables) }) {
                return Read(span: offset.span.lowerBound..<b, spans: moved, kind: "span")
            }
        }
        if atom.kind == "day", !atom.fixed.isEmpty, let week = TimeReader.weekOf.search(flat, in: max(0, a - 40)..<a) {
            // "the week of" a date: the date is the first day of the week, or a day within it.
            let (before, after) = week["unit"] == "week".scalars ? (1, 6) : (2, 2)
            let day = CueCalendar.dayMs
            return Read(span: week.start..<b, spans: atom.fixed.map { Interval(($0.start ?? 0) - before * day, ($0.end ?? 0) + after * day) }, kind: "span")
        }
        let keep = atom.keep.flatMap { TimeReader.open.search(flat, in: 0..<a) == nil ? $0 : nil }
        return bounded(flat, atom, atom.fixed.isEmpty ? everyYear(atom, ctx) : atom.fixed, keep, ctx)
    }

    /// Applies the words around an expression: "since", "before", "onwards".
    private func bounded(_ flat: Text, _ atom: Atom, _ spans: [Interval], _ keep: Range<Int>?, _ ctx: TimeContext) -> Read {
        var (a, b) = (atom.span.lowerBound, atom.span.upperBound)
        let inner = TimeReader.lead.match(flat, in: a..<b), outer = TimeReader.open.search(flat, in: 0..<a)
        var word = (inner?.whole.stripped() ?? outer?[1] ?? []).string
        let rest = Array(flat[b...])
        if let onward = TimeReader.onward.match(rest), !spans.isEmpty, ["from", "since", ""].contains(word), rest.stripped().slice(0, 3) != "on ".scalars {
            return Read(span: (outer?.start ?? a)..<(b + onward.end), spans: bounds(Array(spans.prefix(1)), "since", ctx), kind: "open", keep: keep)
        }
        let compares = word.hasSuffix("than")
        word = TimeReader.means[word] ?? word
        if ["", "from", "by"].contains(word) || spans.isEmpty { return Read(span: a..<b, spans: spans, kind: atom.kind, keep: keep) }
        if let outer, inner == nil { a = outer.start }
        // "after Christmas" or "before Christmas" without a year: the two weeks after or before it.
        if atom.isYearly && !compares && (word == "before" || word == "after") {
            let exact = atom.exact != nil ? everyYear(atom.exactly, ctx) : spans
            return Read(span: a..<b, spans: exact.map { nextTo($0, word) }, kind: "yearly", keep: keep)
        }
        b = atom.span.upperBound
        return Read(span: a..<b, spans: bounds(atom.isYearly ? Array(spans.suffix(1)) : spans, word, ctx), kind: "open", keep: keep)
    }

    private func bounds(_ spans: [Interval], _ word: String, _ ctx: TimeContext) -> [Interval] {
        let first = spans[0], last = spans[spans.count - 1]
        switch word {
        case "since", "from": return [Interval(first.start, (first.start ?? 0) <= ctx.now.milliseconds ? ctx.now.milliseconds : nil)]
        case "after": return [Interval(last.end.map { $0 + 1 }, nil)]
        case "until", "till", "by": return [Interval(nil, last.end)]
        default: return [Interval(nil, first.start.map { $0 - 1 })]
        }
    }

    private func nextTo(_ span: Interval, _ word: String) -> Interval {
        let days = 14 * CueCalendar.dayMs
        if word == "before" { return Interval(span.start.map { $0 - days }, span.start.map { $0 - 1 }) }
        return Interval(span.end.map { $0 + 1 }, span.end.map { $0 + days })
    }

    private func at(_ atom: Atom, _ year: Int) throws -> Interval {
        guard case .yearly(let of) = atom.made else { throw NoDate() }
        return CueCalendar.interval(try of(year))
    }

    /// The intervals from the start of `a` to the end of `b`; empty if they make no range. A missing year is
    /// taken from the other expression.
    private func joined(_ a: Atom, _ b: Atom, _ ctx: TimeContext) -> [Interval] {
        var pairs: [(Interval, Interval)] = []
        do {
            if let first = a.fixed.first, let last = b.fixed.last {
                pairs = [(first, last)]
            } else if let last = b.fixed.last {
                let y = CueCalendar.year(ms: last.end ?? 0), first = try at(a, y)
                pairs = [((first.start ?? 0) <= (last.start ?? 0) ? first : try at(a, y - 1), last)]
            } else if let first = a.fixed.first {
                let y = CueCalendar.year(ms: first.start ?? 0), last = try at(b, y)
                pairs = [(first, (last.end ?? 0) >= (first.start ?? 0) ? last : try at(b, y + 1))]
            } else {
                for y in ctx.years() {
                    let (first, last) = (try at(a, y), try at(b, y))
                    pairs.append((first, (last.end ?? 0) >= (first.start ?? 0) ? last : try at(b, y + 1)))
                }
            }
        } catch { return [] }
        let spans = pairs.filter { ($0.0.start ?? 0) <= ($0.1.end ?? 0) }.map { Interval($0.0.start, $0.1.end) }
        return a.fixed.isEmpty && b.fixed.isEmpty ? covered(spans, ctx) : spans
    }

    /// The intervals that overlap the album's extent. The latest that has begun, if the extent is unknown or
    /// no interval overlaps it.
    private func covered(_ spans: [Interval], _ ctx: TimeContext) -> [Interval] {
        var begun = spans.filter { ($0.start ?? 0) <= ctx.now.milliseconds }
        if begun.isEmpty { begun = Array(spans.prefix(1)) }
        guard let extent = ctx.extent else { return Array(begun.suffix(1)) }
        let inside = spans.filter { ($0.end ?? 0) >= extent.low && ($0.start ?? 0) <= extent.high }
        return inside.isEmpty ? Array(begun.suffix(1)) : Array(inside.suffix(CueCalendar.maxIntervals))
    }

    private func everyYear(_ atom: Atom, _ ctx: TimeContext) -> [Interval] {
        if !atom.isYearly { return [] }
        let spans = ctx.years().compactMap { try? at(atom, $0) }  // 29 February of a common year
        if !spans.isEmpty { return covered(spans, ctx) }
        for y in stride(from: ctx.now.year, to: ctx.now.year - 9, by: -1) { if let found = try? at(atom, y) { return [found] } }
        return []
    }
}
