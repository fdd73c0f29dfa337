import XCTest

@testable import PhotoCore

/// An album of one model becomes that of another, whatever ends the run.
final class RenewalTests: XCTestCase {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())").path
    private var path: String { folder + "/a.gamer" }
    private let new = AlbumMeta(textEncoder: "t2", imageEncoder: "i2", dim: 6, delta: 0.4)
    private var encodings = 0
    private var here = stride(from: 0, to: 50, by: 2).map { "k\($0)" }
    private var unreadable = -1

    override func setUpWithError() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private func axis(_ n: Int, _ dim: Int) -> [Float] { (0..<dim).map { $0 == n % dim ? 1 : 0 } }

    private static func photo(_ n: Int) -> Photo {
        var made = Photo(id: "k\(n)")
        (made.path, made.takenAt, made.memories) = ("/p/\(n).jpg", 1_600_000_000_000 + n, [Memory("note", "cake number \(n)")])
        return made
    }

    private func make(_ count: Int) throws {
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 4, delta: 0.5))
        let writer = try AlbumWriter(path)
        try writer.add(
            (0..<count).map {
                Encoded(RenewalTests.photo($0), vectors: [("text", [axis($0, 4)]), ("image", [axis($0, 4)])], mentions: [Mention("cake \($0)", "thing")])
            })
        try writer.finish { $0.map { self.axis($0.count, 4) } }
    }

    /// The phone has photos with even numbers.
    private struct Phone: PhotoSource {
        let here: [String]
        func keys() -> [String] { here }
        func name(_ key: String) -> String { key }
        func photo(_ key: String) -> Photo? { Photo(id: key) }
        func picture(_ key: String) -> Look? { Look(Pixels(bytes: [0, 0, 0], width: 1, height: 1)) }
        func owns(_ id: String) -> Bool { true }
    }

    private func renew(_ isStopped: @escaping () -> Bool = { false }) throws -> Bool {
        let renewal = Renewal(Phone(here: here), path, SkipList(folder + "/skips")) { photo, look in
            self.encodings += 1
            let n = Int(photo.id.dropFirst()) ?? 0
            if n == self.unreadable { return Encoded(photo, vectors: [], mentions: []) }
            var vectors = [(channel: "text", chunks: [self.axis(n + 1, 6)])]
            if look != nil { vectors.append(("image", [self.axis(n, 6)])) }
            return Encoded(photo, vectors: vectors, mentions: [])
        }
        return try renewal.run(new, isStopped: isStopped, progress: { _ in }, names: { $0.map { self.axis($0.count, 6) } })
    }

    func testALookThatFailsIsTriedOnceMore() throws {
        try make(3)
        var failures = 1
        func look() throws -> Int {
            try AlbumFile.openReader(path) { path in
                failures -= 1
                // SQLITE_IOERR_DELETE_NOENT: another connection deleted the journal.
                if failures >= 0 { throw SQLiteError(code: 5898, words: "disk I/O error") }
                return try Database(path, .readWrite)
            }.integer("SELECT count(*) FROM photos")
        }
        XCTAssertEqual(try look(), 3)
        failures = 2
        XCTAssertThrowsError(try look()) { XCTAssert("\($0)".contains("damaged or unreadable (disk I/O error)"), "\($0)") }
    }

    func testAPhotoThatGotNoVectorIsEncodedByTheIndexing() throws {
        try make(10)
        unreadable = 4
        XCTAssertTrue(try renew())
        func bare() throws -> [String] {
            let writer = try AlbumWriter(path)
            defer { writer.close() }
            return try writer.withoutVectors()
        }
        XCTAssertEqual(try bare(), ["k4"])
        unreadable = -1
        here = (0..<10).map { "k\($0)" }
        let writer = try AlbumWriter(path)
        let run = IndexRun(Phone(here: here), writer, SkipList(folder + "/skips"), SmallList(folder + "/small"), MarkList(folder + "/marks")) { photo, _ in
            Encoded(photo, vectors: [("image", [self.axis(1, 6)])], mentions: [])
        }
        XCTAssertTrue(try run.run(isStopped: { false }, progress: { _ in }, names: { $0.map { self.axis($0.count, 6) } }))
        writer.close()
        XCTAssertEqual(try bare(), [])
        XCTAssertEqual(try Album(path).ids(), (0..<10).map { "k\($0)" })
        XCTAssertEqual(Check.problems(path), [])
    }

    func testNothingIsEncodedAgainWhileNoPhotoCanBeSeen() throws {
        try make(10)
        here = []
        XCTAssertThrowsError(try renew()) { XCTAssertTrue("\($0)".contains("allow the photos"), "\($0)") }
        XCTAssertEqual(try Album(path).meta.textEncoder, "t")
    }

    func testTheModelBeforeSearchesUntilTheAlbumIsEncodedAgain() throws {
        try make(2)
        let (bundle, before) = (folder + "/bundle", folder + "/bundle.before")
        XCTAssertEqual(Renewal.searched(path, bundle: bundle, before: before), bundle)
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../..")
        let golden = try Data(contentsOf: root.appendingPathComponent("tests/golden/manifest_v3.json"))
        for (name, text, image) in [(bundle, "t2", "i2"), (before, "t", "i")] {
            try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: true)
            var made = try XCTUnwrap(JSONSerialization.jsonObject(with: golden) as? [String: Any])
            (made["text_encoder"], made["image_encoder"]) = (text, image)
            try JSONSerialization.data(withJSONObject: made).write(to: URL(fileURLWithPath: name + "/manifest.json"))
        }
        XCTAssertEqual(Renewal.searched(path, bundle: bundle, before: before), before)
        XCTAssertTrue(try renew())
        XCTAssertEqual(Renewal.searched(path, bundle: bundle, before: before), bundle)
    }

    func testVectorsAreAnotherModelsAndAllElseStays() throws {
        try make(50)
        let reader = try Album(path), before = try (0..<50).map { try reader.photo($0).memories }
        XCTAssertTrue(try renew())
        XCTAssertEqual(reader.meta.textEncoder, "t", "a reader keeps what it opened")
        XCTAssertEqual(try reader.scores("text", axis(3, 4), [3])[0], 1, accuracy: 1e-3)
        reader.close()
        XCTAssertEqual(Check.problems(path), [])
        let album = try Album(path)
        XCTAssertEqual(album.meta, new)
        XCTAssertEqual(try (0..<50).map { try album.photo($0).memories }, before)
        XCTAssertEqual(try album.scores("text", axis(4, 6), [3])[0], 1, accuracy: 1e-3)
        XCTAssertEqual(try album.scores("image", axis(2, 6), [2, 3]).map(\.isFinite), [true, false])
        XCTAssertEqual(try album.matchEntities(axis(7, 6), [12], delta: 0.9).map(\.name), ["cake 12"])
        XCTAssertFalse(try FileManager.default.contentsOfDirectory(atPath: folder).contains { $0.contains("renewing") })
    }

    func testARunThatIsStoppedGoesOn() throws {
        try make(50)
        XCTAssertFalse(try renew { self.encodings == 32 })
        XCTAssertEqual(encodings, 32)
        XCTAssertEqual(try Album(path).meta.textEncoder, "t")
        XCTAssertTrue(try renew())
        XCTAssertEqual(encodings, 50)
        XCTAssertEqual(Check.problems(path), [])
    }

    func testItBeginsAnewWhenTheAlbumHasChanged() throws {
        try make(50)
        var batches = 0
        XCTAssertFalse(
            try renew {
                batches += 1
                return batches > 2
            })
        let writer = try AlbumWriter(path)
        try writer.remove(["k49"])
        writer.close()
        encodings = 0
        XCTAssertTrue(try renew())
        XCTAssertEqual(encodings, 49)
        XCTAssertEqual(try Album(path).count, 49)
    }

    func testAReaderOfAnOlderStateIsWaitedFor() throws {
        try make(20)
        let reader = try Album(path), writer = try AlbumWriter(path)
        try writer.remove(["k3"])
        writer.close()
        XCTAssertThrowsError(try renew()) { XCTAssertTrue("\($0)".contains("reads an older state"), "\($0)") }
        reader.close()
        XCTAssertTrue(try renew())
        XCTAssertEqual(Check.problems(path), [])
    }
}
