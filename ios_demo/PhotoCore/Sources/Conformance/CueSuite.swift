import Foundation
import PhotoCore

/// Suite `cues`: a query, a day and an album's places → times, places, cubes and the rest of the text; and
/// the checks of refinements.
enum CueSuite {
    /// The rules file, which Python, Kotlin and Swift share: the path in PHOTO_RULES, or the file in the
    /// repository that contains the fixtures.
    static func rules(_ suite: Suite) -> String {
        ProcessInfo.processInfo.environment["PHOTO_RULES"] ?? suite.path("../../../runtime/cues/cue_rules.json")
    }

    static func ready(_ suite: Suite) throws -> Replayed {
        let reader = try CueReader(rules: rules(suite))
        let gazetteer = try Gazetteer(suite.path(try suite.shared.text("gazetteer")))
        return { one in
            let given = one.given
            func said(_ name: String) throws -> Text { try given.text(name).scalars }
            switch try given.text("op") {
            case "parse": return try parse(suite, given, reader, gazetteer)
            case "home":
                let positions = try given.list("positions").map { place in place[0]?.double.flatMap { lat in place[1]?.double.map { (lat: lat, lon: $0) } } }
                guard let box = Home.learn(positions, try given.integers("times")) else { return .object(["box": .null]) }
                return .object(["box": .array([box.south, box.north, box.west, box.east].map { .number($0 ?? 0) })])
            case "fast": return .object(["text": .string(Refine.fast(try said("text")).string)])
            case "clean": return .object(["text": .string(Refine.clean(try said("text"), try given.whole("limit")).string)])
            case "content_words":
                let words = Refine.contentWords(try said("text")).sorted { $0.lexicographicallyPrecedes($1) }
                return .object(["words": .strings(words.map(\.string))])
            case "objection":
                let context = Refine.Context(names: try given.strings("names").map(\.scalars))
                return .object(["text": .string(Refine.objection(try said("text"), query: try said("query"), plain: try said("plain"), context))])
            case "fitting":
                return .object(["notes": .string(Refine.Context.fitting(try given.strings("names").map(\.scalars), try said("query")).notes())])
            case "nearest":
                let at = (given["at"]?.array ?? []).compactMap(\.double)
                return .object(["name": try gazetteer.nearest(at[0], at[1]).map { .string($0.name) } ?? .null])
            case "fold": return .object(["text": .string(Gazetteer.fold(try said("text")).string)])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    /// Suite `questions`: what a query leaves out, whether it asks for favourites, and the text that a search takes.
    static func questions(_ suite: Suite) throws -> Replayed {
        let reader = QuestionReader(try CueTables(rules(suite)))
        return { one in
            let given = one.given, text = try given.text("text").scalars
            if try given.text("op") == "language" {
                return .object(["language": .string(reader.languageOfWishes(text, try given.strings("languages")))])
            }
            if try given.text("op") == "content" {
                return .object(["content": .string(reader.phrases.content(text).string), "gone": .string(reader.phrases.gone(to: text).string)])
            }
            let having = (given["has"]?.array ?? []).compactMap(\.string)
            let excluded = (given["excluded"]?.array ?? []).compactMap { $0.string?.scalars }
            let read = try reader.read(
                text, language: given["language"]?.string ?? "", hasFavourites: given["marked"]?.bool ?? true,
                has: { having.contains("\($0.kind):\($0.value.string)") }, isCue: { excluded.contains($0) })
            return .object([
                "query": .string(read.query.string), "without": .strings(read.without.map(\.string)), "favourites": .bool(read.favourites),
                "bare": .bool(read.isBare), "pictures": .bool(read.pictures), "facts": .strings(read.without.map(reader.fact)),
                "facets": .strings(read.facets.map { "\($0.kind):\($0.value.string)" }), "counts": .bool(read.counts), "soon": .string(read.soon.string),
                "grouped": read.grouped.map { .array([.string($0.by), .bool($0.isMost), .string(read.wanted.target.string)]) } ?? .null,
                "ordered": read.ordered.map { .array([.int($0.order), .int($0.number), .string($0.target.string)]) } ?? .null,
            ])
        }
    }

    private static func parse(_ suite: Suite, _ given: JSON, _ reader: CueReader, _ gazetteer: Gazetteer) throws -> JSON {
        guard let now = WallClock(try given.text("now")) else { throw Failure.value("no day") }
        let extent = given["extent"]?.array.flatMap { list in list[0].int.flatMap { low in list[1].int.map { (low: low, high: $0) } } }
        var near: ((Place) -> Int)?
        if let name = given["positions"]?.string, let listed = suite.shared["positions"]?[name]?.array {
            let positions = listed.map { ($0[0]?.double ?? 0, $0[1]?.double ?? 0) }
            near = { place in positions.filter { place.contains($0.0, $0.1) }.count }
        }
        let sides = given["home"]?.array?.compactMap(\.double) ?? []
        let home: (() throws -> Cube?)? = sides.count == 4 ? { Cube(south: sides[0], north: sides[1], west: sides[2], east: sides[3]) } : nil
        let read = try reader.parse(
            try given.text("query").scalars, now: now, gazetteer: gazetteer, extent: extent, near: near, home: home,
            southern: given["southern"]?.bool ?? false)
        let events = suite.shared["events"]
        return told(
            reader.resolve(read) { phrase in
                (events?[phrase.scalars.lowered().string]?.array ?? []).map { Interval($0[0]?.int, $0[1]?.int) }
            })
    }

    private static func told(_ cues: Cues) -> JSON {
        .object([
            "times": .array(cues.times.map(time)), "negated_times": .array(cues.negatedTimes.map(time)), "places": .array(cues.places.map(place)),
            "negated_places": .array(cues.negatedPlaces.map(place)),
            "recurring": .array(
                cues.recurring.map {
                    .object([
                        "text": .string($0.text), "kind": .string($0.kind), "weekdays": .ints($0.weekdays), "minutes": .ints($0.minutes),
                        "confidence": .number($0.confidence),
                    ])
                }), "anchors": .array(cues.anchors.map { .object(["text": .string($0.text), "phrase": .string($0.phrase)]) }),
            "cubes": .array(cues.cubes.map(TreeSuite.json)), "rest": .string(cues.rest), "refined": .string(Refine.fast(cues.rest.scalars).string),
            "lines": .strings(Explain.cueLines(cues)), "cube_lines": .strings(Explain.cubeLines(cues)),
        ])
    }

    private static func time(_ cue: TimeCue) -> JSON {
        .object([
            "text": .string(cue.text), "start": .optional(cue.start), "end": .optional(cue.end), "kind": .string(cue.kind),
            "confidence": .number(cue.confidence),
        ])
    }

    private static func place(_ cue: PlaceCue) -> JSON {
        let boxes = cue.boxes.map { box in JSON.array([box.south, box.north, box.west, box.east].map { .optional($0) }) }
        return .object([
            "text": .string(cue.text), "name": .string(cue.name), "kind": .string(cue.kind), "photos": .optional(cue.photos),
            "confidence": .number(cue.confidence), "boxes": .array(boxes),
        ])
    }
}
