import XCTest

@testable import PhotoCore

/// Layer 2: what describes what, what a photo hangs on, what is reached from there, and what a missing edge
/// changes.
final class EntityGraphTests: XCTestCase {
    private func mentions(_ text: String) -> [Mention] { Entities.extract(text.scalars) }

    func testWordsBetweenEntitiesRelateThem() {
        let chair = [Mention("chair", "thing"), Mention("IKEA", "place", parent: "chair", relation: "at")]
        XCTAssertEqual(mentions("The chair at IKEA costs $119"), chair + [Mention("$119", "price", parent: "chair", relation: "costs")])
        XCTAssertEqual(
            mentions("Ramen at Ichiran in Shibuya with Anna and Tom."),
            [
                Mention("ramen", "thing"), Mention("Ichiran", "place", parent: "ramen", relation: "at"),
                Mention("Shibuya", "place", parent: "Ichiran", relation: "in"), Mention("Anna", "thing", parent: "ramen", relation: "with"),
                Mention("Tom", "thing", parent: "ramen", relation: "with"),
            ])
        XCTAssertEqual(
            mentions("Bella is Anna's dog."),
            [Mention("bella", "thing"), Mention("Anna", "thing", parent: "dog", relation: "of"), Mention("dog", "thing", parent: "bella", relation: "is")])
        XCTAssertEqual(mentions("In Tokyo I ate sushi"), [Mention("Tokyo", "place", parent: "sushi", relation: "in"), Mention("sushi", "thing")])
    }

    func testASpeakerSpeaksUnlessANoteFollows() {
        let found = mentions("Anna: the wooden chair at IKEA was 119 euros on 2011-04-25")
        XCTAssertEqual(found.first { $0.name == "Anna" }?.kind, "person")
        XCTAssertEqual(found.first { $0.kind == "price" }, Mention("119 euros", "price", parent: "wooden chair", relation: "costs"))
        XCTAssertEqual(found.first { $0.kind == "date" }?.name, "2011-04-25")
        XCTAssertFalse(mentions("Chair: 119 at IKEA").contains { $0.kind == "person" })
    }

    func testRelationsCountCharacters() {
        let near = "lamp " + String(repeating: "🐶", count: 43) + " $5", far = "lamp " + String(repeating: "🐶", count: 47) + " $5"
        XCTAssertEqual(mentions(near).last?.parent, "lamp")
        XCTAssertNil(mentions(far).last?.parent)
    }

    func testWhatLiesAboveANodeIsWithinTheDepth() {
        // 0 → 1 → 2 → 3, 4 → 2, and 3 → 0 closes a circle.
        let edges = [(0, 1), (1, 2), (2, 3), (4, 2), (3, 0)]
        let parents = Adjacency(edges.map { (source: $0.1, target: $0.0) }, count: 5)
        XCTAssertEqual(Graph.above(2, parents: parents, depth: 0), [2])
        XCTAssertEqual(Graph.above(2, parents: parents, depth: 1), [1, 2, 4])
        XCTAssertEqual(Graph.above(2, parents: parents, depth: 2), [0, 1, 2, 4])
        XCTAssertEqual(Graph.above(2, parents: parents, depth: 9), [0, 1, 2, 3, 4])
    }

    func testAPhotoHangsOnWhatDescribesNothingElse() {
        XCTAssertEqual(Leaf.leaves([1, 2], [:]), [1: .alone, 2: .alone])
        XCTAssertEqual(Leaf.leaves([1], [1: [2, 3]]), [1: .parent, 2: .child, 3: .child])
        // Coffee → Blue Bottle → Kyoto.
        XCTAssertEqual(Leaf.leaves([1], [1: [2], 2: [3]]), [1: .parent, 2: .child, 3: .child])
        // One memory is about 2 itself.
        XCTAssertEqual(Leaf.leaves([1, 2], [1: [2]]), [1: .parent, 2: .alone])
        // A circle is reached from nowhere.
        XCTAssertEqual(Leaf.leaves([], [1: [2], 2: [1]]), [1: .parent, 2: .parent])
        XCTAssertEqual([Leaf.parent, .alone, .child].map(\.rawValue), [0, 1, 2])
    }

    private static let texts = [
        ("chair", "The chair at IKEA costs $119"), ("dog", "Bella is Anna's dog"), ("beach", "Bella at the beach"), ("ramen", "Ramen at Ichiran in Shibuya"),
        ("again", "Lunch at Ichiran"),
    ]

    /// An album of `texts`, in which each entity is similar to its own name alone.
    private func made(_ folder: String) throws -> (path: String, vectors: [String: [Float]]) {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/a.gamer"
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 64, delta: 0.5))
        let writer = try AlbumWriter(path)
        for (id, text) in EntityGraphTests.texts {
            var photo = Photo(id: id)
            photo.memories = [Memory("note", text)]
            try writer.add([Encoded(photo, vectors: [], mentions: mentions(text))])
        }
        var dice = Dice(7), vectors: [String: [Float]] = [:]
        try writer.finish { names in
            for name in names { vectors[name] = dice.unit(64) }
            return names.map { vectors[$0]! }
        }
        return (path, vectors)
    }

    /// The photos that name the entity, and those that only reach it; nil if it does not match.
    private func matched(_ album: (path: String, vectors: [String: [Float]]), _ name: String, depth: Int = 3) throws -> [[String]]? {
        let opened = try Album(album.path)
        defer { opened.close() }
        let found = try opened.matchEntities(album.vectors[name]!, Array(0..<opened.count), delta: 0.95, depth: depth)
        XCTAssertLessThan(found.count, 2)
        return try found.first.map { match in try [match.photos, match.reached].map { try $0.map { try opened.photo($0).id } } }
    }

    func testWhatAnotherMemorySaysOfAThingReachesAllItsPhotos() throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let album = try made(folder)
        XCTAssertEqual(try matched(album, "IKEA"), [["chair"], []])
        XCTAssertEqual(try matched(album, "Shibuya"), [["ramen"], ["again"]])
        // Bella → dog → Anna, and there is a second photo of Bella.
        XCTAssertEqual(try matched(album, "Anna"), [["dog"], ["beach"]])
        XCTAssertNil(try matched(album, "Anna", depth: 1))
    }

    func testADeletedEdgeChangesAnAnswer() throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let album = try made(folder)
        func delete(_ parent: String, _ child: String) throws {
            let db = try Database(album.path, .readWrite), row = "SELECT row FROM entities WHERE canonical=?"
            defer { db.close() }
            try db.rows("DELETE FROM edges WHERE parent=(\(row)) AND child=(\(row))", [.text(parent), .text(child)])
            XCTAssertEqual(try db.integer("SELECT changes()"), 1)
        }
        try delete("lunch", "ichiran")
        XCTAssertEqual(try matched(album, "Shibuya"), [["ramen"], []])
        try delete("chair", "ikea")
        XCTAssertNil(try matched(album, "IKEA"))
    }
}
