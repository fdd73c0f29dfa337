/// Of a hit that is a clip, in seconds from its file's begin. `second`: where what is meant is seen best.
public struct ClipMoment: Sendable, Equatable {
    public let start: Double
    public let end: Double
    public let second: Double
}

/// One photo of an answer. `takenAt`: ms of wall time, as if UTC; show it without converting. `score`:
/// comparable within one answer only; `parts` are its summands by name. `probability`: that the photo is one
/// of those meant. `clip`: nil for a photo. `copies`: the ids of the copies that it stands for.
public struct Hit: Sendable {
    public let row: Int
    public let photo: Photo
    public internal(set) var score: Double
    public internal(set) var probability: Double
    public internal(set) var parts: [(name: String, value: Double)]
    public let memory: String?
    public let matched: [String]
    public let clip: ClipMoment?
    public internal(set) var copies: [String] = []

    func part(_ name: String) -> Double { parts.first { $0.name == name }?.value ?? 0 }
}

/// What happened between the query and the hits (runtime/search/answer.py). `left`: number of photos after
/// each layer, the album's size first. `milliseconds`: by layer. `loadMs`: opening what this query was the
/// first to need, which counts for no layer.
public struct Trace: Sendable {
    public static let layers = ["cube", "kdtree", "refine", "graph", "vectors"]

    public internal(set) var query: String
    public internal(set) var cues: [String]
    public let cubeLines: [String]
    public let cubes: [Cube]
    public let refined: String
    public let refinedBy: String
    public let delta: Double
    public let entities: [EntityMatch]
    public let left: [(layer: String, photos: Int)]
    public let linked: Int
    public let widened: Bool
    public let loadMs: Double
    public let milliseconds: [(layer: String, spent: Double)]
    public let plan: String
    public let mode: String
    public let models: String
}

/// What a search remarks on besides its cues (runtime/search/remarks.py). `text`: words of the query. `n`: how many photos, of
/// `searched` searches. `name`: of the album or the gazetteer.
public struct Remark: Sendable, Equatable {
    public enum Code: String, Sendable {
        case anchor, elsewhere, empty, favourites, first, line, none, searched, spelt, unpictured, without
        case absentAnchor = "anchor.absent", noRelated = "anchor.none", undatedAnchor = "anchor.undated"
        case unpicturedForeign = "unpictured.foreign"
        case alone = "facet.alone", together = "facet.together"
        case camera = "facet.camera", fact = "facet.fact", medium = "facet.medium", orientation = "facet.orientation"
    }

    public let code: Code
    public var text = Text()
    public var n = 0
    public var name = ""

    /// Who is there where no name is asked for, by the kind of facet.
    public static let anybody = ["alone": "somebody", "together": "people"]

    /// Whether it says that the album has no photo of a kind that is asked for.
    public var isLacking: Bool { n == 0 && (code == .favourites || code.rawValue.hasPrefix("facet.")) }

    /// As the trace has it.
    public var line: String {
        let number = isLacking ? "none in this album" : "\(n)"
        switch code {
        case .anchor: return "in relation to \(name)"
        case .absentAnchor: return "the album does not seem to have \(text.quoted)"
        case .noRelated: return "no such photo in relation to \(name)"
        case .undatedAnchor: return "the album does not know when \(text.quoted) was"
        case .first: return "\(name) came first"
        case .elsewhere: return "no photo in \(name)"
        case .empty: return "no photos in this album"
        case .alone: return "\(name) alone: \(number)"
        case .together: return "\(name) together: \(number)"
        case .camera: return "by \(name): \(number)"
        case .fact: return "with \(name): \(number)"
        case .medium: return "\(name)s: \(number)"
        case .orientation: return "in \(name): \(number)"
        case .favourites: return "favourites only: \(number)"
        case .line: return text.string
        case .none: return "none \(text.first?.isLower == true ? "" : "of ")\(text.string)"  // "none of May 2019"
        case .searched: return "searched \(n) times for all that show \(text.quoted)"
        case .spelt: return "spelt \(text.quoted)"
        case .unpictured: return "pictures cannot be searched for \(text.string) with this model; memories were"
        case .unpicturedForeign:
            return "pictures cannot be searched for \(text.string) with this model; memories were; words of other languages than English "
                + "need a bundle with dictionaries (docs/languages.md)"
        case .without: return "without \(text.quoted): \(n) left out"
        }
    }
}

/// The hits, best first, and the trace. `presence`: the probability that the album holds what is meant at
/// all; tell the user when it is low. Of `Engine.find` also `remarks`: what the query asked for besides resemblance; `number`: how
/// many photos belong to what is meant, copies counted once, where the query asks "how many"; `note`: what to tell beside the hits.
public struct Answer: Sendable {
    public internal(set) var hits: [Hit]
    public internal(set) var trace: Trace
    public internal(set) var presence: Double
    public var remarks: [Remark] = []
    public internal(set) var number: Int?
    public internal(set) var note: Remark?

    public var isDoubtful: Bool { presence < 0.5 }
}

extension Answer {
    /// The answer in the form of `gamer search --json`.
    public var json: JSON {
        let t = trace
        let cubes = t.cubes.map { cube -> JSON in
            .object([
                "start": .optional(cube.start), "end": .optional(cube.end), "south": .optional(cube.south), "north": .optional(cube.north),
                "west": .optional(cube.west), "east": .optional(cube.east),
            ])
        }
        let entities = t.entities.map { match -> JSON in
            .object([
                "row": .int(match.row), "name": .string(match.name), "kind": .string(match.kind), "similarity": .number(Double(match.similarity)),
                "photos": .array(match.photos.map(JSON.int)), "reached": .array(match.reached.map(JSON.int)),
            ])
        }
        let told: [JSON.Member] = [
            .init("query", .string(t.query)), .init("cues", .array(t.cues.map(JSON.string))), .init("cube_lines", .array(t.cubeLines.map(JSON.string))),
            .init("cubes", .array(cubes)), .init("refined", .string(t.refined)), .init("refined_by", .string(t.refinedBy)), .init("delta", .number(t.delta)),
            .init("entities", .array(entities)), .init("left", .object(t.left.map { .init($0.layer, .int($0.photos)) })), .init("linked", .int(t.linked)),
            .init("widened", .bool(t.widened)), .init("load_ms", .number(t.loadMs)),
            .init("milliseconds", .object(t.milliseconds.map { .init($0.layer, .number($0.spent)) })), .init("plan", .string(t.plan)),
            .init("mode", .string(t.mode)), .init("models", .string(t.models)),
        ]
        return .object(["hits": .array(hits.map(\.json)), "trace": .object(told), "presence": .number(presence), "count": .optional(number), "note": .optional(note?.line)])
    }
}

extension Hit {
    var json: JSON {
        .object([
            "row": .int(row), "id": .string(photo.id), "path": .optional(photo.path), "taken_at": .optional(photo.wall), "lat": .optional(photo.lat),
            "lon": .optional(photo.lon), "score": .number(score), "probability": .number(probability),
            "parts": .object(parts.map { .init($0.name, .number($0.value)) }), "memory": .optional(memory), "matched": .array(matched.map(JSON.string)),
            "copies": .array(copies.map(JSON.string)),
            "clip": clip.map { .object(["start": .number($0.start), "end": .number($0.end), "second": .number($0.second)]) } ?? .null,
        ])
    }
}
