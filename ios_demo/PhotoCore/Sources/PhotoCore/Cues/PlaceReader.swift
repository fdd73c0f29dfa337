/// Finds the words of a query that name a place, and chooses which place of that name is meant
/// (runtime/cues/places.py).
///
/// A wrong place excludes every photo that is meant, a missed place excludes none, so a doubtful word makes
/// no cue.
struct PlaceReader {
    typealias Near = (Place) -> Int

    let words: PlaceWords
    let trust: Double
    let gazetteer: Gazetteer
    let near: Near?

    private static let word = Pattern(#"[^\W\d_]+(?:['’.\-‐‑][^\W\d_]+)*\.?"#)
    private static let and = Pattern(#"\s*(?:,|and|or|nor|&)\s*(?:the\s+)?(?:and\s+|or\s+)?"#)
    private static let single = Pattern(#"[ \-]{1,2}"#)
    private static let comma = Pattern(#"\s*,\s*| "#)
    private static let possessive = Pattern("['’]s$")
    private static let never: Set<Text> = Set(["the", "and", "or", "not"].map(\.scalars))
    private static let bare = 250_000, metropolis = 500_000, town = 50_000, city = 100_000, short = 3

    private struct Token {
        let text: Text
        let start: Int
        let end: Int
        let low: Text
        var isCapital: Bool { text.first?.isUpper == true }
        /// The word without a possessive ending: "Paris" of "Paris's".
        var plain: Text { possessive.replacing(text, with: "") }
    }

    /// The places that the text names, in its order. `taken`: the spans of other cues, in which no place is
    /// sought.
    func find(_ text: Text, taken: [Range<Int>]) throws -> [PlaceCue] {
        let tokens = tokens(text, taken), ends = runs(text, tokens), shouted = PlaceReader.shouted(tokens)
        var cues: [PlaceCue] = [], at = 0, lookups = 0
        // The last place's preposition, which in "in Paris and Rome" governs Rome too.
        var previous = Text()
        while at < tokens.count, lookups < 400, cues.count < 8 {
            lookups += 1
            let token = tokens[at]
            var found: (PlaceCue, Int)?
            if token.text.count > 1, !words.strong.contains(token.low), !words.weak.contains(token.low), !PlaceReader.never.contains(token.low) {
                let goesOn = cues.last.map { last in
                    last.span.upperBound <= token.start && PlaceReader.and.fullMatch(text, in: last.span.upperBound..<token.start) != nil
                } ?? false
                found = try place(text, tokens, ends, at, shouted, goesOn ? previous : [])
            }
            guard let (cue, after) = found else {
                at += 1
                continue
            }
            let preposition = self.preposition(text, tokens, at).word
            if !preposition.isEmpty { previous = preposition }
            cues.append(cue)
            at = after
        }
        return cues
    }

    private func tokens(_ text: Text, _ taken: [Range<Int>]) -> [Token] {
        var free = [Bool](repeating: true, count: text.count)
        for span in taken { for at in span where at < free.count { free[at] = false } }
        return PlaceReader.word.all(text).compactMap { m in
            let whole = m.whole, word = whole.filter { $0 == "." }.count > 1 ? whole : whole.strippedEnd { $0 == "." }
            if m.span.contains(where: { !free[$0] }) { return nil }
            return Token(text: word, start: m.start, end: m.start + word.count, low: word.lowered())
        }
    }

    /// For each token, the index after the last token of its run. The tokens of a run are separated by one or
    /// two spaces or hyphens only: names do not cross commas.
    private func runs(_ text: Text, _ tokens: [Token]) -> [Int] {
        var ends = [Int](repeating: tokens.count, count: tokens.count), end = tokens.count
        for at in tokens.indices.reversed() {
            if at + 1 < tokens.count && PlaceReader.single.fullMatch(text, in: tokens[at].end..<tokens[at + 1].start) == nil { end = at + 1 }
            ends[at] = end
        }
        return ends
    }

    /// Whether capitals carry no information, because all words of a query of three or more have them.
    private static func shouted(_ tokens: [Token]) -> Bool {
        tokens.count >= 3 && tokens.allSatisfy { $0.text.count <= 3 || $0.isCapital } && tokens.filter(\.isCapital).count >= 3
    }

    /// The preposition that governs token i and the index of its token; ("", i) if there is none. Up to two
    /// articles or adjectives between them are skipped.
    private func preposition(_ text: Text, _ tokens: [Token], _ i: Int) -> (word: Text, at: Int) {
        var j = i - 1
        while j >= 0, words.skip.contains(tokens[j].low), i - j <= 2 { j -= 1 }
        guard j >= 0, words.strong.contains(tokens[j].low) || words.weak.contains(tokens[j].low) else { return ([], i) }
        let between = Array(text[tokens[j].end..<tokens[i].start]).stripped { $0 == " " }
        guard between.isEmpty || tokens[(j + 1)..<i].contains(where: { $0.text == between }) else { return ([], i) }
        return (tokens[j].low, j)
    }

    /// The place that is meant, and the number of the album's photos there. Places with photos come first,
    /// then those whose primary name it is, then the gazetteer's order (most people first).
    private func choose(_ places: [Place]) -> (Place, Int) {
        let counts = places.map { near?($0) ?? 0 }
        // The numbers of photos of two places are not compared: 3 photos against 2 are chance.
        let best = places.indices.min { a, b in
            let one = (counts[a] == 0 ? 1 : 0, places[a].isPrimary ? 0 : 1, a), other = (counts[b] == 0 ? 1 : 0, places[b].isPrimary ? 0 : 1, b)
            return one < other
        }!
        return (places[best], counts[best])
    }

    /// Whether the words count as a place. `alone`: no capitalised neighbour could make the name a part of a
    /// longer one.
    private func accept(_ place: Place, _ name: Text, _ photos: Int, _ prep: Text, _ capital: Bool, _ count: Int, _ alone: Bool) -> Bool {
        let asked = near != nil, big = place.population >= PlaceReader.city || place.kind != "city", certain = words.certain.contains(prep)
        if place.isWord { return capital && (certain || (["to".scalars, "from".scalars].contains(prep) && place.kind == "country")) }
        if place.isGiven { return capital && (certain || (!prep.isEmpty && photos > 0)) && (alone || photos > 0) }
        if !place.isPrimary && !(photos > 0 || (certain && capital && place.population >= PlaceReader.town)) { return false }
        if prep.isEmpty && (name.count <= PlaceReader.short || (!place.isPrimary && place.population < PlaceReader.city)) {
            // Alone, a name must be well known: "Cat" would be Çat, "Haha" Hakha.
            return false
        }
        if !capital {
            if words.strong.contains(prep) || (!prep.isEmpty && big) {
                return photos > 0 || (!asked && place.isPrimary && (place.population >= PlaceReader.town || place.kind != "city"))
            }
            if photos > 0 { return place.isPrimary && (big || count > 1) }
            return !asked && count > 1 && place.isPrimary && place.population >= PlaceReader.metropolis
        }
        if !prep.isEmpty { return alone || count > 1 || photos > 0 || certain }
        return (asked ? photos > 0 : place.population >= PlaceReader.bare || place.kind != "city") && (alone || count > 1)
    }

    private static func inside(_ place: Place, _ outer: Place) -> Bool {
        if place.id == outer.id || outer.kind == "city" { return false }
        if outer.kind == "country" && place.countryCode == outer.countryCode { return true }
        return outer.kind == "region" && outer.contains(place.lat, place.lon) && ["", place.countryCode].contains(outer.countryCode)
    }

    /// Reads "Paris, Texas": the candidates within the country or region named next, and the index after it.
    /// `places` and `after` unchanged if there is no such name, or none of them lies within it.
    private func qualified(_ text: Text, _ tokens: [Token], _ ends: [Int], _ first: Int, _ after: Int, _ places: [Place]) throws -> ([Place], Int) {
        guard after < tokens.count, PlaceReader.comma.fullMatch(text, in: tokens[after - 1].end..<tokens[after].start) != nil else { return (places, after) }
        let name = Text.join(tokens[first...after].map(\.plain), " ")
        if tokens[after].text.isUpper {
            let whole = try gazetteer.lookup(name)
            // "Washington, DC" is in the gazetteer as one name.
            if !whole.isEmpty { return (whole, after + 1) }
        }
        let next = tokens[after..<min(ends[after], after + Gazetteer.maxWords)].map(\.plain)
        guard let found = try gazetteer.longestMatch(next), tokens[after].isCapital else { return (places, after) }
        let kept = places.filter { place in found.places.contains { PlaceReader.inside(place, $0) } }
        return kept.isEmpty ? (places, after) : (kept, after + found.count)
    }

    private func boxes(_ place: Place, wide: Bool) -> [Cube] {
        if !wide || place.kind != "city" { return place.boxes.map { $0.cube(place.border) } }
        let reach = 0.27  // degrees by which "near X" extends the box of X: about 30 km
        let grow = min(2.0, reach / max(0.1, 1 - abs(place.lat) / 90)), box = place.box
        let west = floorMod(box.west - grow + 180, 360) - 180, east = floorMod(box.east + grow + 180, 360) - 180
        return [Cube(south: max(-90, box.south - reach), north: min(90, box.north + reach), west: west, east: east)]
    }

    /// The place cue that begins at token i and the index after it; nil if there is none.
    private func place(_ text: Text, _ tokens: [Token], _ ends: [Int], _ i: Int, _ shouted: Bool, _ lent: Text) throws -> (PlaceCue, Int)? {
        let run = Array(tokens[i..<min(ends[i], i + Gazetteer.maxWords)])
        for length in stride(from: run.count, to: 0, by: -1) {
            let part = run[..<length], name = Text.join(part.dropLast().map(\.text) + [part[length - 1].plain], " ")
            var places = try gazetteer.lookup(name)
            if places.isEmpty { continue }
            var after = i + length
            var capital = part.allSatisfy { $0.isCapital || words.inner.contains($0.low) }
            var (prep, first) = preposition(text, tokens, i)
            if prep.isEmpty { prep = lent }
            (places, after) = try qualified(text, tokens, ends, i, after, places)
            let isQualified = after > i + length, (place, photos) = choose(places)
            capital = capital && part[0].isCapital && (!shouted || words.certain.contains(prep))
            let known = words.capitals.contains(part[0].text) && (!prep.isEmpty || isQualified)
            let alone = standsAlone(tokens, ends, i, after)
            if known || (isQualified && capital) || accept(place, name, photos, prep, capital, length, alone) {
                first = min(first, i)
                let span = tokens[first].start..<tokens[after - 1].end
                let cue = PlaceCue(
                    text: Text(text[span]).string, name: place.name, boxes: boxes(place, wide: words.wide.contains(prep)), span: span, kind: place.kind,
                    photos: near == nil ? nil : photos, confidence: trust)
                return (cue, after)
            }
        }
        return nil
    }

    /// Whether no capitalised word is adjacent to the name. "Paris Hilton" and "Jack London" are people,
    /// "Boston Dynamics" is a firm.
    private func standsAlone(_ tokens: [Token], _ ends: [Int], _ i: Int, _ after: Int) -> Bool {
        if after < tokens.count && ends[i] > after && tokens[after].isCapital { return false }
        guard i > 0, ends[i - 1] > i, tokens[i - 1].isCapital else { return true }
        let before = tokens[i - 1].low
        return words.strong.contains(before) || words.weak.contains(before) || words.skip.contains(before) || words.openers.contains(before)
    }
}
