/// Reads time and place from a query and builds the cubes that layer 1 searches (runtime/cues/parse.py).
/// Deterministic rules, no network, no model. Words that were not understood stay in the rest.
public struct CueReader: Sendable {
    static let maxQuery = 2_000
    private static let maxCubes = 40

    let tables: CueTables
    private let times: TimeReader
    private let recurring: RecurringReader
    private let anchors: AnchorReader
    private let languages: LanguageReader

    private static let not = Pattern(
        #"(?:,\s*)?\b(?:(?:but\s+)?(?:not|never)(?:\s+(?:from|in|at|taken\s+in|the\s+ones?\s+(?:from|in)))?|(?:all\s+)?except(?:ing)?(?:\s+for)?"#
            + #"(?:\s+(?:those|the\s+ones?))?|excluding|other\s+than|apart\s+from|anywhere\s+but|everywhere\s+but|but\s+not)\s+(?:the\s+)?$"#,
        ignoringCase: true)
    private static let again = Pattern(#"\s*(?:,\s*)?(?:or|nor)\s+(?:in\s+|from\s+|at\s+)?"#, ignoringCase: true)
    private static let dangling = Pattern(
        // One character a turn and no second way to take a space: "+" inside of "+" took exponential time.
        #"(?<![\s,;:\-–])(?:[\s,;:\-–]|\b(?:in|on|at|from|of|during|near|around|between|since|to|for|and|the|or|but))+$"#,
        ignoringCase: true)
    private static let emptyBrackets = Pattern(#"\(\s*\)|\[\s*\]|"\s*""#)
    private static let spaced = Pattern(#"(?<!\s)\s+([,.;:?!])"#)
    private static let tail = Pattern(#"(?<![?!.\s])[?!.\s]*$"#)
    private static let repeated = Pattern(#"([,;:])(?:\s*[,;:])+"#)

    /// `rules`: the path of cue_rules.json.
    public init(rules: String) throws {
        tables = try CueTables(rules)
        times = try TimeReader(tables)
        recurring = try RecurringReader(tables, times.atoms)
        anchors = try AnchorReader(tables, times.offsets)
        languages = LanguageReader(tables)
    }

    /// The code of the language whose letters the query has, or most of whose words; nil for English.
    public func language(of query: Text) -> String? { languages.code(of: query) }

    /// Reads the cues of a query, from its first 2,000 characters. `extent`: ms of the album's first and last
    /// photo, both included. `near`: the number of the album's photos in a place. `home`: the box of the
    /// album's home. `southern`: seasons are those of the southern hemisphere.
    public func parse(
        _ query: Text, now: WallClock, gazetteer: Gazetteer?, extent: (low: Int, high: Int)? = nil, near: ((Place) -> Int)? = nil,
        home: (() throws -> Cube?)? = nil, southern: Bool = false
    ) throws -> Cues {
        let written = query.slice(0, CueReader.maxQuery)
        let reading = try languages.translated(written, thisYear: now.year, gazetteer), text = reading?.text ?? written
        let found = times.find(text, TimeContext(now: now, extent: extent, southern: southern, tables: tables)), spans = found.cues.map(\.span)
        var places = try atHome(text, home)
        if let gazetteer { places += try reader(gazetteer, near).find(text, taken: spans + places.map(\.span)) }
        let negated = negations(text, spans + places.map(\.span))
        var draft = Cues()
        draft.times = found.cues.filter { negated[$0.span] == nil }
        draft.places = places.filter { negated[$0.span] == nil }
        draft.negatedTimes = found.cues.filter { negated[$0.span] != nil }
        draft.negatedPlaces = places.filter { negated[$0.span] != nil }
        draft.recurring = recurring.find(text, taken: found.cues.filter { $0.kind != "today" }.map(\.span))
        draft.anchors = anchors.find(text, taken: spans)
        (draft.query, draft.extent) = (text, extent)
        draft.keep = found.keep.filter { keep in !negated.keys.contains { $0.lowerBound <= keep.lowerBound && keep.lowerBound < $0.upperBound } }
        return assembled(reading.map { asWritten(draft, written, $0, negated) } ?? draft)
    }

    /// The cues of a query that was read in English, with their texts and spans in the query as written. A
    /// negated cue's span takes in the negation, which `assembled` finds in English alone.
    private func asWritten(_ cues: Cues, _ written: Text, _ reading: Reading, _ negated: [Range<Int>: Range<Int>]) -> Cues {
        var out = cues
        func place(_ span: Range<Int>) -> (span: Range<Int>, text: String) {
            let original = reading.original(negated[span] ?? span)
            return (original, Text(written[original]).string)
        }
        func moved(_ cue: TimeCue) -> TimeCue {
            var cue = cue
            (cue.span, cue.text) = place(cue.span)
            return cue
        }
        func moved(_ cue: PlaceCue) -> PlaceCue {
            var cue = cue
            (cue.span, cue.text) = place(cue.span)
            return cue
        }
        (out.times, out.negatedTimes) = (cues.times.map(moved), cues.negatedTimes.map(moved))
        (out.places, out.negatedPlaces) = (cues.places.map(moved), cues.negatedPlaces.map(moved))
        out.recurring = cues.recurring.map { cue in
            let (span, text) = place(cue.span)
            return RecurringCue(text: text, kind: cue.kind, weekdays: cue.weekdays, minutes: cue.minutes, span: span, confidence: cue.confidence)
        }
        out.anchors = cues.anchors.map { anchor in
            let (span, text) = place(anchor.span)
            return Anchor(text: text, phrase: anchor.phrase, span: span, offset: anchor.offset)
        }
        (out.query, out.keep) = (written, cues.keep.map(reading.original))
        return out
    }

    /// Adds the time and the place that a language model quoted from the query, where the rules read none.
    /// The quotes are "" if there is none. The rules read each quote as if "in" came before it. A quote that
    /// is not in the query is dropped, so that the model cannot invent one. The quoted words stay in the
    /// rest, since the model may have misread them.
    public func withQuotes(
        _ cues: Cues, time: Text, place: Text, now: WallClock, gazetteer: Gazetteer?, extent: (low: Int, high: Int)?, near: ((Place) -> Int)?, southern: Bool
    ) throws -> Cues {
        var out = cues
        if !time.isEmpty, let at = cues.query.find(time), cues.times.isEmpty, cues.negatedTimes.isEmpty {
            let context = TimeContext(now: now, extent: extent, southern: southern, tables: tables)
            out.times = times.find("in ".scalars + time.lowered(), context).cues.map { cue in
                var cue = cue
                (cue.text, cue.span) = (time.string, at..<(at + time.count))
                return cue
            }
        }
        if !place.isEmpty, let at = cues.query.find(place), let gazetteer, cues.places.isEmpty, cues.negatedPlaces.isEmpty {
            out.places = try reader(gazetteer, near).find("in ".scalars + place.titled(), taken: []).prefix(1).map { cue in
                var cue = cue
                (cue.text, cue.span) = (place.string, at..<(at + place.count))
                return cue
            }
        }
        if out.times == cues.times && out.places == cues.places { return cues }
        out.keep += out.times.filter { !cues.times.contains($0) }.map(\.span) + out.places.filter { !cues.places.contains($0) }.map(\.span)
        return assembled(out)
    }

    /// Turns the anchors whose event `find` knows into time cues; the words of the others stay in the text.
    /// `find`: from a phrase to the event's intervals, empty if unsure.
    public func resolve(_ cues: Cues, _ find: (String) throws -> [Interval]) rethrows -> Cues {
        var out = cues, found: [Range<Int>] = []
        out.anchors = []
        for anchor in cues.anchors {
            let events = try find(anchor.phrase)
            if events.isEmpty {
                out.anchors.append(anchor)
            } else {
                out.times += anchor.cues(events, tables)
                found.append(anchor.span)
            }
        }
        if found.isEmpty { return cues }
        // A place within an anchor's words is the event's, not the photo's.
        out.places.removeAll { place in found.contains { $0.contains(place.span.lowerBound) } }
        return assembled(out)
    }

    private func reader(_ gazetteer: Gazetteer, _ near: ((Place) -> Int)?) -> PlaceReader {
        PlaceReader(words: tables.places, trust: tables.trust["place"] ?? 1, gazetteer: gazetteer, near: near)
    }

    /// The cue of "at home" in a text, if the album's home is known.
    private func atHome(_ text: Text, _ home: (() throws -> Cube?)?) throws -> [PlaceCue] {
        guard let home, let found = tables.places.home.search(text), let box = try home() else { return [] }
        return [
            PlaceCue(text: found.whole.string, name: "home", boxes: [box], span: found.span, kind: "home", photos: nil, confidence: tables.trust["place"] ?? 1)
        ]
    }

    /// Computes `cubes` and `rest` from the cues. A place where the album has no photo makes no cube. Its
    /// name stays in the rest, and so does a time outside the album's extent: a memory may mention them.
    private func assembled(_ cues: Cues) -> Cues {
        var out = cues
        let all = cues.times.map(\.span) + cues.places.map(\.span) + cues.negatedTimes.map(\.span) + cues.negatedPlaces.map(\.span)
        let cutting = cues.places.filter { $0.photos != 0 }
        let excluded = cues.negatedTimes.map(\.span) + cues.negatedPlaces.map(\.span)
        let remove =
            cues.times.filter { reached($0, cues.extent) }.map(\.span) + cutting.map(\.span) + Array(negations(cues.query, all).values) + excluded
        out.cubes = cubes(cues.times, cutting)
        out.rest = rest(cues.query, remove, cues.keep).string
        return out
    }

    private func reached(_ cue: TimeCue, _ extent: (low: Int, high: Int)?) -> Bool {
        guard let extent, !TimeCue.deictic.contains(cue.kind) else { return true }
        return (cue.end ?? .max) >= extent.low && (cue.start ?? .min) <= extent.high
    }

    private func cubes(_ times: [TimeCue], _ places: [PlaceCue]) -> [Cube] {
        if times.isEmpty && places.isEmpty { return [] }
        var boxes = Words.unique(places.flatMap(\.boxes)).map(Optional.some), spans = TimeCue.merged(times)
        if boxes.isEmpty { boxes = [nil] }
        if spans.isEmpty { spans = [Interval(nil, nil)] }
        // Latest first, so that the limit drops the oldest.
        let crossed = spans.reversed().flatMap { when in
            boxes.map {
                Cube(start: when.start, end: when.end, south: $0?.south, north: $0?.north, west: $0?.west, east: $0?.east, border: $0?.border)
            }
        }
        return crossed.prefix(CueReader.maxCubes).reversed()
    }

    /// The span of each negated cue → that span extended over the negation before it.
    private func negations(_ text: Text, _ spans: [Range<Int>]) -> [Range<Int>: Range<Int>] {
        var out: [Range<Int>: Range<Int>] = [:], before: Range<Int>?
        for span in Set(spans).sorted(by: { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) }) {
            let low = max(0, span.lowerBound - 60)
            if let found = CueReader.not.search(text, in: low..<span.lowerBound) {
                out[span] = found.start..<span.upperBound
            } else if let last = before, out[last] != nil, last.upperBound <= span.lowerBound,
                CueReader.again.fullMatch(text, in: last.upperBound..<span.lowerBound) != nil
            {
                out[span] = last.upperBound..<span.upperBound
            }
            before = span
        }
        return out
    }

    /// The text without the spans to remove, except where spans to keep overlap them; unchanged if no word is
    /// left. Spaces and punctuation are tidied.
    private func rest(_ text: Text, _ remove: [Range<Int>], _ keep: [Range<Int>]) -> Text {
        var gone = [Bool](repeating: false, count: text.count)
        for span in remove { for at in span { gone[at] = true } }
        for span in keep { for at in span { gone[at] = false } }
        if !gone.contains(true) { return text }
        var left = text.indices.map { gone[$0] ? " " : text[$0] }.tidied()
        left = CueReader.emptyBrackets.replacing(left, with: " ")
        left = CueReader.spaced.replacing(left) { $0[1] ?? [] }
        let end = CueReader.tail.search(left), close = end?.whole.stripped() ?? []
        var body = Array(left[..<(end?.start ?? left.count)])
        let last = remove.map(\.upperBound).max() ?? 0
        // A cue ended the query: do not leave "photos from".
        if !text[last...].contains(where: \.isWord) { body = CueReader.dangling.replacing(body, with: "") }
        body = CueReader.repeated.replacing(body) { $0[1] ?? [] }.stripped { " ,;:-–".unicodeScalars.contains($0) }
        return body.contains(where: \.isWord) ? body + close : text
    }
}
