import XCTest

@testable import PhotoCore

/// People: searched for while a library is indexed, named, made one, forgotten.
final class PeopleTests: XCTestCase {
    private var folder = ""
    private var path: String { folder + "/a.gamer" }
    /// Photo → who it shows; a photo's picture has its number in each byte.
    private var shown = ["p0": "A", "p1": "AB", "p2": "", "p3": "B", "p4": "BC", "p5": "A"]
    private var searched: [String] = []
    private var isBroken = false

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 16, delta: 0.5))
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private struct Phone: PhotoSource {
        let shown: [String: String]

        func keys() -> [String] { shown.keys.sorted() }
        func name(_ key: String) -> String { key }
        func owns(_ id: String) -> Bool { true }
        func asset(_ key: String) -> String { String(key.prefix { $0 != "@" }) }
        func picture(_ key: String) -> Look? { Look(Phone.pixels(key)) }

        func photo(_ key: String) -> Photo? {
            var photo = Photo(id: key)
            (photo.path, photo.memories) = ("library:\(key)", [Memory("caption", "picture \(key)")])
            return photo
        }

        static func pixels(_ key: String) -> Pixels { Pixels(bytes: [UInt8](repeating: UInt8(key.dropFirst().prefix { $0 != "@" })!, count: 3), width: 1, height: 1) }
    }

    private func find(_ pixels: Pixels) throws -> [Face] {
        if isBroken { throw Failure.runtime("broken") }
        let plain = "p\(pixels.bytes[0])", id = shown.keys.first { $0.hasPrefix(plain + "@") } ?? plain
        guard let who = shown[id].map({ Array($0.utf8) }) else { return [] } // a grey picture
        searched.append(id)
        if shown[id] == "!" { throw Failure.runtime("broken") }
        return who.map { letter in
            var vector = [Float](repeating: 0.001 * Float(pixels.bytes[0] % 10), count: 128)
            vector[Int(letter) - 65] = 0.5
            return Face(box: FaceBox(0.25, 0.25, 0.5, 0.5), quality: 1, vector: vector)
        }
    }

    private static func axis(_ n: Int) -> [Float] { (0..<16).map { $0 == n % 16 ? 1 : 0 } }

    private static func encode(_ photo: Photo) -> Encoded {
        let texts = photo.memories.map { axis($0.text.count) }
        let named = photo.memories.filter { $0.source == "people" }.map { Mention($0.text, "person") }
        return Encoded(photo, vectors: texts.isEmpty ? [] : [("text", texts)], mentions: named)
    }

    private let naming = Naming(retold: PeopleTests.encode) { $0.map { PeopleTests.axis($0.count) } }

    @discardableResult
    private func index(encoder: String = "faces 1", isStopped: @escaping () -> Bool = { false }) throws -> [Int] {
        searched = []
        var left: [Int] = []
        let skips = SkipList(folder + "/skips"), phone = Phone(shown: shown)
        let people = PeopleSearch(encoder, { try self.find($0) }, naming, skips) { Phone.pixels($0) }
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        let run = IndexRun(phone, writer, skips, SmallList(folder + "/small"), MarkList(folder + "/marks"), people: people) { photo, _ in
            PeopleTests.encode(photo)
        }
        _ = try run.run(isStopped: isStopped, progress: { left.append($0.unsearched) }, names: { $0.map { PeopleTests.axis($0.count) } })
        return left
    }

    private func change(_ change: (Naming, AlbumWriter) throws -> Void) throws {
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        try change(naming, writer)
    }

    private func people() throws -> People {
        let album = try Album(path)
        defer { album.close() }
        return try album.people() ?? People()
    }

    private func of(_ photo: String) throws -> Int { try people().people.first { $0.photos.first == photo }!.row }
    private func unnamed() throws -> Int { try people().people.first { $0.name == nil && $0.photos.count == 3 }!.row }

    private func found(_ word: String) throws -> [String] {
        let album = try Album(path), scores = try album.words(word.scalars).bm25()
        defer { album.close() }
        return try scores.indices.filter { scores[$0] > 0 }.map { try album.photo($0).id }.sorted()
    }

    private func holds(_ word: String) throws -> Bool { try Data(contentsOf: URL(fileURLWithPath: path)).range(of: Data(word.utf8)) != nil }

    func testTheFacesOfALibraryBecomePeopleOnce() throws {
        let left = try index()
        XCTAssertEqual(left.filter { $0 > 0 } + [left.last!], [6, 0])
        XCTAssertEqual(try people().people.map { $0.photos.joined(separator: " ") }.sorted(), ["p0 p1 p5", "p1 p3 p4", "p4"])
        try index()
        XCTAssertEqual(searched, [])
        XCTAssertEqual(Check.problems(path), [])
    }

    func testANameIsFoundBySearchesAndNewPhotosOfThePersonGetIt() throws {
        try index()
        try change { try $0.name($1, try of("p0"), " Pilar  Ortega ") }
        XCTAssertEqual(try found("ortega"), ["p0", "p1", "p5"])
        shown["p6"] = "AC"
        try index()
        XCTAssertEqual(searched, ["p6"])
        XCTAssertEqual(try found("pilar"), ["p0", "p1", "p5", "p6"])
        try change { try $0.name($1, try of("p0"), "Berta") }
        XCTAssertEqual(try found("ortega"), [])
        XCTAssertEqual(try found("berta"), ["p0", "p1", "p5", "p6"])
        XCTAssertEqual(Check.problems(path), [])
    }

    func testTwoPeopleOfOneNameAreMadeOne() throws {
        try index()
        try change { try $0.name($1, try of("p0"), "Anna") }
        let other = try unnamed()
        XCTAssertThrowsError(try change { try $0.name($1, other, "anna") })
        try change { try $0.merge($1, try of("p0"), other) }
        XCTAssertEqual(try found("anna"), ["p0", "p1", "p3", "p4", "p5"])
        XCTAssertEqual(try people().people.count, 2)
    }

    func testWhoIsForgottenLeavesNoByteAndIsNotSearchedAgain() throws {
        try index()
        try change { try $0.name($1, try of("p0"), "Wilhelmina") }
        try change { try $0.name($1, try unnamed(), "Berta") }
        XCTAssertTrue(try holds("Wilhelmina"))
        try change { try $0.forget($1, try of("p0")) }
        XCTAssertFalse(try holds("ilhelmina"))
        XCTAssertEqual(try found("berta"), ["p1", "p3", "p4"])
        XCTAssertEqual(try people().closed, ["p0", "p1", "p5"])
        try index()
        XCTAssertEqual(searched, [])
        XCTAssertEqual(Check.problems(path), [])
        let album = try Album(path)
        XCTAssertEqual(try album.entityNames(9), ["Berta"])
        album.close()
    }

    func testEarlierNamesGoTooAndWhatAKilledProgramLeftIsErasedByTheNext() throws {
        try index()
        try change { try $0.name($1, try of("p0"), "Wilhelmina") }
        try change { try $0.name($1, try of("p0"), "Berta") }
        let writer = try AlbumWriter(path)
        var chat = Photo(id: "chat")
        chat.memories = [Memory("people", "Cleo")]
        try writer.add([PeopleTests.encode(chat)])
        writer.close()
        try change { try $0.forget($1, try of("p0")) }
        XCTAssertFalse(try holds("ilhelmina"))
        let album = try Album(path)
        XCTAssertEqual(try album.entityNames(9), ["Cleo"])
        album.close()
        let db = try Database(path, .readWrite)
        try db.run("INSERT INTO meta VALUES('erasing', '')")
        try index()
        XCTAssertNil(try db.first("SELECT 1 FROM meta WHERE key='erasing'"))
        db.close()
        XCTAssertEqual(Check.problems(path), [])
    }

    func testInAnEditedPhotoNobodyIsSearchedWhoWasForgottenInItAndOthersAre() throws {
        try index()
        try change { try $0.forget($1, try of("p0")) }
        for (old, new) in [("p1", "p1@2"), ("p3", "p3@2")] { shown[new] = shown.removeValue(forKey: old) }
        try index()
        XCTAssertEqual(searched, ["p3@2"])
        XCTAssertEqual(try people().closed, ["p0", "p1@2", "p5"])
        for n in 6...30 { shown["p\(n)"] = "" }
        shown["p5@2"] = shown.removeValue(forKey: "p5")
        var asked = 0
        try index {
            asked += 1
            return asked > 1
        }  // it is stopped after its first batch
        try index()
        XCTAssertEqual(try people().closed, ["p0", "p1@2", "p5@2"])
        XCTAssertFalse(searched.contains("p5@2"))
        XCTAssertEqual(Check.problems(path), [])
    }

    func testNobodyCanBeForgottenWhereNobodyWasFoundOrNamed() throws {
        try change { try $0.forgetAll($1) }
        try index()
        try change { try $0.forgetAll($1) }
        XCTAssertEqual(try people().people.count, 0)
    }

    func testNetworksThatFailAtEveryPictureLeaveNoPhotoOut() throws {
        isBroken = true
        for _ in 0..<3 { XCTAssertThrowsError(try index()) }
        isBroken = false
        try index()
        XCTAssertEqual(try people().lookedAt.count, 6)
    }

    func testAllCanBeForgottenAndFoundAgain() throws {
        try index()
        try change { try $0.name($1, try of("p0"), "Wilhelmina") }
        try change { try $0.forgetAll($1) }
        XCTAssertEqual(try people().people.count, 0)
        XCTAssertFalse(try holds("ilhelmina"))
        try index(encoder: "faces 2")
        XCTAssertEqual(try people().people.count, 3)
        XCTAssertThrowsError(try index(encoder: "faces 1"))
        XCTAssertEqual(Check.problems(path), [])
    }

    func testARunThatIsStoppedGoesOnAndAPhotoThatFailsTwiceIsLeftOut() throws {
        for n in 6...40 { shown["p\(n)"] = "A" }
        shown["p9"] = "!"
        let writer = try AlbumWriter(path)
        try writer.add(shown.keys.sorted().map { PeopleTests.encode(Phone(shown: shown).photo($0)!) })
        writer.close()
        try index { !self.searched.isEmpty }
        XCTAssertEqual(searched.count, 16)
        try index()
        XCTAssertEqual(Set(searched).count, 25 + (searched.contains("p9") ? 0 : 1))
        try index()
        try index()
        XCTAssertEqual(searched, [])
        XCTAssertEqual(try people().lookedAt.count, 40)
    }
}
