/// A sentence attached to a photo. `source`: chat, social, ocr, caption, note, people, label or place.
public struct Memory: Sendable, Equatable {
    public let source: String
    public let text: String
    public let sharing: String?
    public let sensitivity: String?

    /// A person's mark: a word that any reader of albums finds, and that says nothing of the picture (index/records.py).
    public static let favourite = Memory("social", "favourite")

    public init(_ source: String, _ text: String, sharing: String? = nil, sensitivity: String? = nil) {
        (self.source, self.text, self.sharing, self.sensitivity) = (source, text, sharing, sensitivity)
    }

    /// Whether the device derived the memory itself. Such memories are derived again at each encoding.
    public var isDerived: Bool { source == "label" || source == "place" }
}

/// One photo. `takenAt`: ms since 1970 UTC, or wall time stored as if UTC where `tzSource` is "local".
/// `utcOffset`: whole minutes by which the clock on the wall was ahead of UTC. `lat`, `lon`: degrees (WGS
/// 84), both or neither.
public struct Photo: Sendable, Equatable {
    public var id: String
    public var path: String?
    public var takenAt: Int?
    public var tzSource = "local"
    public var utcOffset: Int?
    public var lat: Double?
    public var lon: Double?
    public var memories: [Memory] = []
    public var sharing: String?
    public var sensitivity: String?
    public var sha256: String?

    public init(id: String) { self.id = id }

    /// Local wall-clock time in ms, as if UTC. People mean this time by "at night".
    public var wall: Int? { takenAt.map { $0 + 60_000 * (utcOffset ?? 0) } }
}

/// An entity found in a memory. `kind`: person, place, thing, price or date. `parent`: what it describes (119
/// → chair). `relation`: how it is related to its parent ("costs", "at"); empty where nothing says.
public struct Mention: Sendable, Equatable {
    public let name: String
    public let kind: String
    public let parent: String?
    public let relation: String

    public init(_ name: String, _ kind: String, parent: String? = nil, relation: String = "") {
        (self.name, self.kind, self.parent, self.relation) = (name, kind, parent, relation)
    }
}

/// A photo with its vectors and mentions, as AlbumWriter takes it. `vectors`: channel → unit vectors, one for
/// each chunk.
public struct Encoded: Sendable {
    public let photo: Photo
    public let vectors: [(channel: String, chunks: [[Float]])]
    public let mentions: [Mention]
    public let clip: Clip?

    /// `clip`: of a video, the times of the frames whose vectors are those of the channel `image`.
    public init(_ photo: Photo, vectors: [(channel: String, chunks: [[Float]])], mentions: [Mention], clip: Clip? = nil) {
        (self.photo, self.vectors, self.mentions, self.clip) = (photo, vectors, mentions, clip)
    }
}

/// An entity node chosen in layer 2. `photos`: rows of the photos whose own memories name it; `reached`: of
/// those that hang on an entity above it in the graph, because another photo's memory says that it describes
/// that one. Both ascending.
public struct EntityMatch: Sendable {
    public let row: Int
    public let name: String
    public let kind: String
    public let similarity: Float
    public let photos: [Int]
    public let reached: [Int]

    func contains(_ photo: Int) -> Bool { photos.contains(photo) || reached.contains(photo) }
}
