import Foundation

/// What photos tell where a time, a place or a person is asked for (runtime/agent/sentences.py), in any language.
struct Told {
    static let asked: Set<String> = ["when", "where", "who"]
    static let evidence = 10  // photos that are read for a fact
    private static let clock = Pattern(#"\bwhat time\b"#, ignoringCase: true)
    private static let past = Pattern(#"\b(?:was|were|did|had|last|first)\b"#, ignoringCase: true)  // else it asks for what a ticket says
    private static let owned = ["a", "an", "another", "any", "her", "his", "its", "my", "our", "some", "that", "the", "their", "this"].map(\.scalars)

    private let engine: Engine
    private let find: Find
    private var album: Album { engine.album }

    init(_ engine: Engine, _ find: Find) { (self.engine, self.find) = (engine, find) }

    /// Of the photos in `rows`, best first; "" where they do not tell it.
    func of(_ asks: String, _ query: Text, _ rows: [Int]) throws -> String {
        switch asks {
        case "when":
            let times = try album.times()
            guard let row = rows.first(where: { times[$0] != .min }) else { return "" }
            if Told.past.search(query) == nil, try !told(Array(rows.prefix(1)), "ocr").isEmpty { return "" }
            let minute = floorMod(floorDiv(times[row], 60_000), 1_440), day = Explain.day(times[row])
            return Told.clock.search(query) == nil ? day : day + String(format: " %02d:%02d", minute / 60, minute % 60)
        case "where": return try places(rows).first ?? ""
        default:
            let names = try told(rows, "people").flatMap { $0.split(separator: ",").map { Text($0).stripped(\.isSpace) } }
            return Told.most(names.filter { !$0.isEmpty }.map(\.string), 3).joined(separator: ", ")
        }
    }

    /// Of all photos in `rows` of a time or a place: their first and last day, or their places, those with most of them first.
    func ofAll(_ wanted: Wanted, _ rows: [Int]) throws -> String {
        if wanted.order != 0 || wanted.asks == "who" { return try of(wanted.asks, "was".scalars, Array(rows.prefix(Told.evidence))) }
        if wanted.asks == "where" { return Told.most(try places(rows), 24).joined(separator: "; ") }
        let times = try album.times(), days = rows.filter { times[$0] != .min }.map { Explain.day(times[$0]) }
        guard let first = days.min(), let last = days.max() else { return "" }
        return first == last ? first : "\(first) … \(last)"
    }

    private func told(_ rows: [Int], _ source: String) throws -> [Text] {
        try album.photos(rows).flatMap { photo in photo.memories.filter { $0.source == source }.map(\.text.scalars) }
    }

    private func places(_ rows: [Int]) throws -> [String] { try find.groupNames("place", rows).compactMap { $0 } }

    /// The names that come most often, of equals the first.
    private static func most(_ names: [String], _ count: Int) -> [String] {
        let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
        let distinct = Words.unique(names).enumerated().sorted { (counts[$1.element] ?? 0, $0.offset) < (counts[$0.element] ?? 0, $1.offset) }
        return distinct.prefix(count).map(\.element)
    }

    /// Whether the album knows the names in an English question, those that are not read as times or places, and has photos of the places:
    /// of somebody whom no memory names, or a place where no photo was taken, nothing is told.
    func isHeard() throws -> Bool {
        if !find.language.isEmpty { return true }
        let cues = try find.cues(find.query)
        let known = Set(try engine.album.entityNames(500).flatMap { $0.scalars.casefolded().split(separator: " ").map { Text($0) } })
        func isKnown(_ names: [Text]) throws -> Bool { try names.contains { try known.contains($0) || engine.album.holds($0) } }
        for place in cues.places where place.photos == 0 {
            if try !isKnown(place.name.scalars.lowered().split(separator: " ").map { Text($0) }) { return false }
        }
        let spans = cues.times.map(\.span) + cues.places.map(\.span), words = engine.questions.words(find.query.tidied()).filter { !$0.isMark }
        // A heading, or one in capitals
        if !words.contains(where: { $0.values.isEmpty && $0.text[0].properties.isLowercase }) { return true }
        func isName(_ at: Int) -> Bool {
            let word = words[at], isTitle = word.text[0].properties.isUppercase && !word.text.dropFirst().contains { $0.properties.isUppercase }
            return at > 0 && isTitle && word.values.isEmpty && !spans.contains { $0.contains(word.span.lowerBound) }
        }
        var at = 1
        while at < words.count {
            let end = words.indices.dropFirst(at).first { !isName($0) } ?? words.count
            let names = words[at..<end].map { $0.key.has(suffix: "'s") ? Array($0.key.dropLast(2)) : $0.key }
            if !names.isEmpty, !Told.owned.contains(words[at - 1].key), try !isKnown(names) { return false }
            at = end + 1
        }
        return true
    }
}
