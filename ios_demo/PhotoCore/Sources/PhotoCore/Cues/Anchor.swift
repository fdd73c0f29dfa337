/// An event from which a time is counted: "two days after the fireworks" (runtime/cues/anchors.py). `phrase`:
/// the event's words. `span`: the characters of offset and phrase in the query.
public struct Anchor: Sendable {
    public let text: String
    public let phrase: String
    public let span: Range<Int>
    let offset: Offset

    /// A time cue for each of the event's intervals, moved by the offset.
    func cues(_ events: [Interval], _ tables: CueTables) -> [TimeCue] {
        events.prefix(5).compactMap { event in
            guard let moved = try? moved(event, tables) else { return nil }
            return TimeCue(text: text, start: moved.start, end: moved.end, span: span, kind: "anchor", confidence: tables.trust["anchor"] ?? 1)
        }
    }

    private func moved(_ event: Interval, _ tables: CueTables) throws -> Interval {
        guard offset.way == 0, let start = event.start, let end = event.end else { return try offset.shifted(event, tables) }
        let first = floorDiv(start, CueCalendar.dayMs) + CueCalendar.epoch, last = floorDiv(end, CueCalendar.dayMs) + CueCalendar.epoch
        if tables.daypart(offset.unit) != nil { return try CueCalendar.daypart(first, offset.unit, tables) }
        let reach = ["weekend": 1, "week": 3][offset.unit.string] ?? 0
        return CueCalendar.interval(Days(first - reach, last + reach))
    }
}

struct AnchorReader: Sendable {
    private let offsets: OffsetReader
    private let afterSomething: Pattern
    private let ofSomething: Pattern

    private static let hint = Pattern(#"\b(?:before|after|following|of)\b"#)
    private static let trim = Pattern(#"^(?:the|my|our|a|an)\s+|(?<!\s)\s+(?:(?:in|on|at|and|or|with|from|of)\s*)?$"#, ignoringCase: true)

    init(_ tables: CueTables, _ offsets: OffsetReader) throws {
        self.offsets = offsets
        let word = #"[^\s,.;:?!()"]+"#, parts = (["day"] + tables.dayparts.map { $0.name.string } + ["weekend", "week"]).joined(separator: "|")
        afterSomething = try Pattern(reading: offsets.words + #"\s+(?<phrase>"# + word + #"(?:\s+"# + word + "){0,7})")
        ofSomething = try Pattern(
            reading: #"(?<![a-z0-9])(?:(?:on|in|during|from)\s+)?the\s+(?<unit>"# + parts + #")\s+of\s+(?<phrase>(?:the|my|our|his|her|their|[a-z]+'s)\s+"#
                + word + #"(?:\s+"# + word + "){0,6})")
    }

    /// The anchors of a query: offsets that a phrase follows rather than a date. `taken`: the spans of the
    /// time cues. An anchor that overlaps one is dropped, and a phrase ends where one begins.
    func find(_ text: Text, taken: [Range<Int>]) -> [Anchor] {
        let flat = AtomReader.flatten(text)
        if AnchorReader.hint.search(flat) == nil { return [] }
        var found: [(Match, Offset)] = afterSomething.all(flat).compactMap { m in offsets.offset(m).map { (m, $0) } }
        found += ofSomething.all(flat).map { m in (m, Offset(count: 0, counted: false, unit: m["unit"]!, way: 0, span: m.span("unit")!)) }
        return found.compactMap { m, offset in
            let a = m.start, place = m.span("phrase")!, begin = place.lowerBound
            let end = min(place.upperBound, taken.map(\.lowerBound).filter { begin <= $0 && $0 < place.upperBound }.min() ?? place.upperBound)
            let said = Array(text[begin..<end]), phrase = AnchorReader.trim.replacing(said.stripped(), with: "")
            guard phrase.first?.isAlpha == true, !taken.contains(where: { $0.lowerBound < end && a < $0.upperBound }) else { return nil }
            let span = a..<(begin + said.strippedEnd().count)
            return Anchor(text: Text(text[span]).string, phrase: phrase.string, span: span, offset: offset)
        }
    }
}
