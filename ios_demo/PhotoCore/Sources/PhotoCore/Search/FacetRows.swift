/// The photos of an album that have what a query says literally: a shape, a camera, a fact, who is there (runtime/search/facets.py).
final class FacetRows {
    private let engine: Engine
    private let album: Album
    private var found: [Facet: [Bool]] = [:]

    init(_ engine: Engine) { (self.engine, album) = (engine, engine.album) }

    /// Whether a question may name a facet: a photo has it, or the album is sure to have none.
    func isNamed(_ facet: Facet) throws -> Bool { try of(facet).contains(true) || isLacking(facet) }

    private func isLacking(_ facet: Facet) throws -> Bool {
        switch (facet.kind, facet.value.string) {
        case ("medium", "receipt"): return false
        // An album that a phone made has pictures and knows no header of theirs.
        case ("medium", _): return try (!album.details("orientations").isEmpty || !album.pictured().contains(true)) && album.words(facet.value).bm25().allSatisfy { $0 == 0 }
        case ("orientation", _): return try !album.details("orientations").isEmpty
        case ("fact", "flash"): return try !album.details("lightings").isEmpty
        default: return false
        }
    }

    func of(_ facet: Facet) throws -> [Bool] {
        if let known = found[facet] { return known }
        let rows = try having(facet)
        found[facet] = rows
        return rows
    }

    private func having(_ facet: Facet) throws -> [Bool] {
        let value = facet.value.string
        switch (facet.kind, value) {
        case ("fact", _): return try knowing(value)
        case ("orientation", _): return try album.detailed("orientations", value)
        case ("camera", _):
            let asked = FacetRows.words(facet.value)
            return try album.details("cameras").filter { asked.isSubset(of: FacetRows.words($0.scalars)) }
                .reduce([Bool](repeating: false, count: album.count)) { all, name in zip(all, try album.detailed("cameras", name)).map { $0 || $1 } }
        case ("alone", _), ("together", _): return try withFaces(FacetRows.names(facet.value), isAlone: facet.kind == "alone")
        case (_, "video"): return try album.detailed("clips")
        case (_, "receipt"): return try album.words("receipt receipts".scalars).bm25().map { $0 > 0 }
        default: return try album.detailed("mediums", value)
        }
    }

    /// The photos whose "date" or "place" is known, that show "text", or were taken with "flash".
    func knowing(_ fact: String) throws -> [Bool] {
        switch fact {
        case "date": return try Copies.inherited(album, engine.dated)
        case "place": return try Copies.inherited(album, engine.placed)
        case "text": return Find.mask(try album.memories(of: "ocr").map(\.row), album.count)
        default: return try album.detailed("lightings", "flash")
        }
    }

    private static let between = Pattern(#",|&|\band\b"#)

    private static func names(_ text: Text) -> [Text] {
        let cuts = between.all(text).compactMap { $0.span(0) }, ends = cuts.map(\.lowerBound) + [text.count]
        return zip([0] + cuts.map(\.upperBound), ends).map { Text(text[$0..<$1]) }
    }

    /// The photos that show the faces of all of them, by the name or its first word; `isAlone`: and no other. Without names those
    /// that show two faces or more, or one.
    private func withFaces(_ names: [Text], isAlone: Bool) throws -> [Bool] {
        let wanted = names.map { $0.stripped().casefolded() }.filter { !$0.isEmpty }
        var shown: [Int: [String?]] = [:]
        for face in try album.faces() { shown[face.row, default: []].append(face.name) }
        let rows = shown.filter { _, faces in
            if wanted.isEmpty { return (faces.count == 1) == isAlone }
            let known = faces.compactMap { $0?.scalars.casefolded() }
            return (!isAlone || faces.count == 1) && wanted.allSatisfy { name in known.contains { name == $0 || name == $0.split(whereSeparator: \.isSpace).first.map { Text($0) } } }
        }
        return Find.mask(Array(rows.keys), album.count)
    }

    private static func words(_ name: Text) -> Set<Text> { Set(name.casefolded().split { $0.isSpace || $0 == "-" }.map { Text($0) }) }
}
