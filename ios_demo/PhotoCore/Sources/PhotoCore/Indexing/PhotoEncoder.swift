import Foundation

/// Encodes photos: image and text vectors, labels, place names and mentions (runtime/indexing/encode.py).
public final class PhotoEncoder {
    // A label of lower probability is a guess: it counts in the image's vector, but gives no memory and no
    // entity.
    private static let labelFloor: Float = 0.10
    private static let maxChunks = 1024
    private static let maxRead = 1_000 // characters of a chunk that is read in its language
    private static let maxNames = 1024 // entities of one photo, each of which is encoded, too

    private let models: Models
    private let large: (Photo) -> Pixels?
    private lazy var glosses = Result { [models] in try GlossReader.bundled(models, told: { _ in nil }) }

    /// `large`: a photo's pixels with at least `LineReader.photo` on the shorter side, where text is read in it; nil for
    /// those that it was given.
    public init(_ models: Models, large: @escaping (Photo) -> Pixels? = { _ in nil }) { (self.models, self.large) = (models, large) }

    /// What the image encoder says of a look. `labels`: by the mean of the frames' probabilities, the likeliest first.
    private struct Seen {
        let look: Look
        let codes: [ImageCode]
        let labels: [(name: String, share: Float)]

        init(_ look: Look, _ models: Models) throws {
            self.look = look
            codes = try look.frames.map(models.see)
            var sums: [(name: String, share: Double)] = [], places: [String: Int] = [:]
            for label in codes.flatMap(\.labels) {
                let at = places[label.name, default: sums.count]
                if at == sums.count {
                    places[label.name] = at
                    sums.append((label.name, 0))
                }
                sums[at].share += Double(label.share)
            }
            let count = Double(codes.count), means = sums.map { (name: $0.name, share: Float($0.share / count)) }
            labels = descending(means.map(\.share)).map { means[$0] }
        }
    }

    /// A photo, or a video or part of one. `look`: nil if its picture cannot be read now (in the cloud, deleted); the photo's
    /// memories are still indexed. Returns nil for a photo with neither: it would be taken for an indexed one for ever.
    public func encode(_ photo: Photo, _ look: Look?) throws -> Encoded? {
        if look == nil && photo.memories.isEmpty { return nil }
        let seen = try look.map { try Seen($0, models) }
        return try encoded(try completed(photo, seen), seen)
    }

    /// The memories of a photo, as they are; its picture is not read.
    public func retold(_ photo: Photo) throws -> Encoded { try encoded(photo, nil) }

    private func encoded(_ whole: Photo, _ seen: Seen?) throws -> Encoded {
        let texts = try PhotoEncoder.texts(whole.memories.filter { !$0.isDerived && $0 != .favourite }) { try glosses.get() }
        var vectors: [(channel: String, chunks: [[Float]])] = []
        if let seen { vectors += [("image", seen.codes.map(\.embedding))] + (try projected(seen.codes[seen.look.middle])) }
        if !texts.isEmpty {
            let encoder = try models.text()
            vectors.append(("text", try texts.map { try encoder.encode($0.string) }))
        }
        return Encoded(whole, vectors: vectors, mentions: PhotoEncoder.mentions(whole), clip: seen?.look.clip)
    }

    /// The text in a picture; none where what reads it cannot be used: the picture is found all the same.
    private func words(_ photo: Photo, _ seen: Seen) -> String {
        let pixels = seen.look.frames[seen.look.middle]
        guard models.hasLines, Written.isWorthReading(pixels, seen.labels), let reader = try? models.lines() else { return "" }
        return (try? reader.read(large(photo) ?? pixels)).map(Written.text) ?? ""
    }

    /// The windows of the memories, and behind each that is in another language the same in English words. Names alone
    /// are in no language.
    static func texts(_ memories: [Memory], _ glosses: () throws -> GlossReader?) throws -> [Text] {
        let nobody = NameWords([])
        var out: [Text] = []
        for memory in memories {
            for window in TextEncoder.chunks(memory.text.scalars) where out.count < maxChunks {
                out.append(window)
                if memory.source == "people" || window.count > maxRead || out.count == maxChunks { continue }
                if let reading = try glosses()?.read(window, nobody) { out.append(reading.english) }
            }
        }
        return out
    }

    /// v_I by channel, where the bundle's experts are trained.
    private func projected(_ code: ImageCode) throws -> [(channel: String, chunks: [[Float]])] {
        let channels = models.manifest.channels
        if channels.isEmpty { return [] }
        let vector = try models.photoVector(code)
        return channels.map { ($0.name, [vector]) }
    }

    /// The vectors of entity names, for the writer.
    public func names(_ names: [String]) throws -> [[Float]] {
        let encoder = try models.text()
        return try names.map { try encoder.encode($0) }
    }

    /// Adds memories derived on the device: words and labels from the pixels, the place name from the position. Their
    /// sources are "ocr", "label" and "place".
    private func completed(_ photo: Photo, _ seen: Seen?) throws -> Photo {
        var out = photo
        let words = seen.map { self.words(photo, $0) } ?? ""
        out.memories = photo.memories.filter { !$0.isDerived || ($0.source == "label" && seen == nil) }
        if !words.isEmpty && !out.memories.contains(where: { $0.source == "ocr" }) { out.memories.append(Memory("ocr", words)) }
        let names = seen?.labels.filter { $0.share >= PhotoEncoder.labelFloor }.map(\.name) ?? []
        if !names.isEmpty { out.memories.append(Memory("label", names.joined(separator: ", "))) }
        if let lat = photo.lat, let lon = photo.lon, let place = try models.gazetteer.get().nearest(lat, lon) {
            out.memories.append(Memory("place", "\(place.name), \(place.countryCode)"))
        }
        return out
    }

    private static func mentions(_ photo: Photo) -> [Mention] {
        var seen = Set<Text>()
        let named = photo.memories.filter { $0 != .favourite }.flatMap(of).filter { seen.insert(Entities.canonical($0.name.scalars)).inserted }
        return Array(named.prefix(PhotoEncoder.maxNames))
    }

    private static func of(_ memory: Memory) -> [Mention] {
        switch memory.source {
        case "label": return memory.text.components(separatedBy: ", ").map { Mention($0, "thing") }
        case "people": return memory.text.components(separatedBy: ", ").map { Mention($0, "person") }
        case "place":
            var parts = memory.text.components(separatedBy: ", ")
            if parts.count > 1 { parts.removeLast() }
            return [Mention(parts.joined(separator: ", "), "place")]
        default: return Entities.extract(memory.text.scalars)
        }
    }
}
