import XCTest

@testable import PhotoCore

/// Videos on the phone: what is looked at, where they are cut, and what the album has of them.
final class VideoTests: XCTestCase {
    private var folder = ""
    private var path: String { folder + "/album.gamer" }
    private let meta = AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 16, delta: 0.5)
    private let decoded = Counter()
    private var videos: [String: Scenes] = [:]
    private var hearts: Set<String> = []

    private final class Counter: @unchecked Sendable { var count = 0 }

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "videos-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        videos = ["v1": scenes((10, 2_500)), "v2": scenes((50, 20_000), (120, 3_000), (200, 40_000))]
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(atPath: folder) }

    /// A video whose picture is of one colour for each of its scenes, of so many ms; -1 cannot be decoded.
    private struct Scenes: Footage {
        let scenes: [(colour: Int, lasts: Int)]
        var rough: [(colour: Int, lasts: Int)]?
        let decoded: Counter
        var length: Int { scenes.reduce(0) { $0 + $1.lasts } }

        func frame(_ at: Int, side: Int, isRough: Bool) -> Frame? {
            decoded.count += 1
            var left = at
            for scene in isRough ? rough ?? scenes : scenes {
                if left < scene.lasts {
                    let pixels = Pixels(bytes: [UInt8](repeating: UInt8(max(0, scene.colour)), count: 3), width: 1, height: 1)
                    return scene.colour < 0 ? nil : Frame(isRough ? at - at % 1_000 : at, pixels)
                }
                left -= scene.lasts
            }
            return nil
        }
    }

    private func scenes(_ scenes: (colour: Int, lasts: Int)...) -> Scenes { Scenes(scenes: scenes, decoded: decoded) }

    private struct Phone: PhotoSource {
        let videos: [String: Scenes]
        let hearts: Set<String>
        func keys() -> [String] { ["p0"] + videos.keys.sorted() }
        func asset(_ key: String) -> String { String(key.prefix { $0 != "@" }) }
        func name(_ key: String) -> String { key }
        func owns(_ id: String) -> Bool { true }
        func favourites() -> Set<String>? { hearts }
        func footage(_ key: String) -> Footage? { videos[key] }
        func picture(_ key: String) -> Look? { videos[key] == nil ? Look(Pixels(bytes: [99, 99, 99], width: 1, height: 1)) : nil }
        func photo(_ key: String) -> Photo? {
            var out = Photo(id: key)
            (out.path, out.takenAt) = ("photos:\(key)", 1_000_000)
            return out
        }
    }

    private static func axis(_ n: Int) -> [Float] { (0..<16).map { $0 == n % 16 ? 1 : 0 } }

    private func encode(_ photo: Photo, _ look: Look?) throws -> Encoded? {
        guard let look else { return photo.memories.isEmpty ? nil : Encoded(photo, vectors: [], mentions: []) }
        return Encoded(photo, vectors: [("image", look.frames.map { VideoTests.axis(Int($0.bytes[0])) })], mentions: [], clip: look.clip)
    }

    private func index(isStopped: @escaping () -> Bool = { false }) throws -> (isWhole: Bool, report: IndexReport) {
        if !FileManager.default.fileExists(atPath: path) { try AlbumWriter.create(path, meta) }
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        var last = IndexReport(done: 0, total: 0)
        let (skips, small, marks) = (SkipList(folder + "/skips"), SmallList(folder + "/small"), MarkList(folder + "/marks"))
        let run = IndexRun(Phone(videos: videos, hearts: hearts), writer, skips, small, marks, encode: encode)
        let isWhole = try run.run(isStopped: isStopped, progress: { last = $0 }, names: { $0.map { _ in VideoTests.axis(0) } })
        return (isWhole, last)
    }

    private func album<T>(_ read: (Album) throws -> T) throws -> T {
        let album = try Album(path)
        defer { album.close() }
        return try read(album)
    }

    private func ids() throws -> [String] { try album { try $0.ids() } }
    private func clip(_ id: String) throws -> Clip? { try album { try $0.clip(id) } }
    private func isSound() throws -> Bool { try Check.problems(path).isEmpty }

    func testAShortVideoIsOneItemALongOneIsCutWhereThePictureChanges() throws {
        let told = try index()
        XCTAssertEqual([told.report.done, told.report.total], [3, 3])
        XCTAssertEqual(try ids(), ["p0", "v1", "v2#t=0,20", "v2#t=20,63"])
        XCTAssertEqual(try clip("v1"), Clip(start: 0, end: 2_500, length: 2_500, frames: [416, 1_250, 2_083]))
        let second = try XCTUnwrap(try clip("v2#t=20,63"))
        XCTAssertEqual([second.start, second.end, second.length, second.frames.count], [20_000, 63_000, 63_000, 15])
        XCTAssertNil(try clip("p0"))
        XCTAssertEqual(try album { try $0.second(3, second, VideoTests.axis(120)) }, 21.433)
        XCTAssertEqual(try album { album in try [2, 3].map { try album.photo($0).takenAt } }, [1_000_000, 1_020_000])
        XCTAssertTrue(try isSound())
        decoded.count = 0
        XCTAssertTrue(try index().isWhole)
        XCTAssertEqual(decoded.count, 0)
    }

    func testAVideoThatWentOrWasEditedGoesWithAllItsParts() throws {
        _ = try index()
        videos["v1"] = nil
        videos["v2@2"] = videos.removeValue(forKey: "v2")
        XCTAssertEqual(try index().report.removed, 2)
        XCTAssertEqual(Set(try ids()), ["p0", "v2@2#t=0,20", "v2@2#t=20,63"])
        XCTAssertTrue(try isSound())
    }

    func testAllPartsOfAFavouriteAreMarked() throws {
        func marked() throws -> Set<String> {
            let writer = try AlbumWriter(path)
            defer { writer.close() }
            return try writer.favourites()
        }
        _ = try index()
        hearts = ["v2"]
        _ = try index()
        XCTAssertEqual(try marked(), ["v2#t=0,20", "v2#t=20,63"])
        hearts = []
        _ = try index()
        XCTAssertEqual(try marked(), [])
        XCTAssertTrue(try isSound())
    }

    func testOneThatIsStoppedWithinAVideoHasNothingOfIt() throws {
        for most in [1, 4, 30, 70, 85] {
            decoded.count = 0
            XCTAssertFalse(try index(isStopped: { self.decoded.count >= most }).isWhole)
            XCTAssertFalse(try ids().contains { $0.hasPrefix("v2") }, "after \(most) frames")
        }
        XCTAssertTrue(try index().isWhole)
        XCTAssertEqual(try ids().count, 4)
        XCTAssertTrue(try isSound())
    }

    func testWhatCannotBeDecodedIsLeftOutAndTriedAgain() throws {
        videos = ["v1": scenes((-1, 9_000)), "v2": scenes((50, 20_000), (-1, 3_000), (200, 40_000))]
        let told = try index().report
        XCTAssertEqual([told.done, told.total, told.unread], [2, 3, 1])
        XCTAssertEqual(try ids(), ["p0", "v2#t=0,23", "v2#t=23,63"])
        videos["v1"] = scenes((7, 9_000))
        XCTAssertEqual(try index().report.done, 3)
        XCTAssertEqual(try clip("v1")?.frames.count, 9)
        XCTAssertTrue(try isSound())
    }

    func testAPartThatCannotBeReadNowIsWaitedForOnceAndThenLeftOut() throws {
        videos = ["v2": Scenes(scenes: [(50, 20_000), (-1, 20_000)], rough: [(50, 20_000), (200, 20_000)], decoded: decoded)]
        XCTAssertEqual(try index().report.unread, 1)
        XCTAssertEqual(try ids(), ["p0"])
        XCTAssertEqual(try index().report.done, 2)
        XCTAssertEqual(try ids(), ["p0", "v2#t=0,20"])
        XCTAssertTrue(try isSound())
    }

    func testHeatThatComesAndGoesLeavesNoHalfOfAVideo() throws {
        for at in [5, 40, 70, 80] {
            decoded.count = 0
            _ = try index(isStopped: { self.decoded.count == at })
            XCTAssertFalse(try ids().contains { $0.hasPrefix("v2") }, "after \(at) frames")
        }
        XCTAssertEqual(try index().report.done, 3)
        XCTAssertEqual(try ids().count, 4)
    }

    func testAnotherModelEncodesThePartsThatThereAre() throws {
        _ = try index()
        videos["v2"] = scenes((50, 63_000))  // would not be cut now
        let new = AlbumMeta(textEncoder: "t2", imageEncoder: "i2", dim: 16, delta: 0.5)
        let renewal = Renewal(Phone(videos: videos, hearts: []), path, SkipList(folder + "/skips"), encode: encode)
        XCTAssertTrue(try renewal.run(new, isStopped: { false }, progress: { _ in }, names: { $0.map { _ in VideoTests.axis(0) } }))
        XCTAssertEqual(try ids(), ["p0", "v1", "v2#t=0,20", "v2#t=20,63"])
        XCTAssertEqual(try clip("v2#t=20,63")?.frames.count, 15)
        XCTAssertTrue(try index().isWhole)
        XCTAssertTrue(try isSound())
    }

    func testARenewalThatCouldNotReadAVideoLeavesItsPartsToTheNextRun() throws {
        _ = try index()
        let kept = videos.updateValue(scenes((-1, 63_000)), forKey: "v2")
        let new = AlbumMeta(textEncoder: "t2", imageEncoder: "i2", dim: 16, delta: 0.5)
        let renewal = Renewal(Phone(videos: videos, hearts: []), path, SkipList(folder + "/skips")) { try self.encode($0, $1) ?? Encoded($0, vectors: [], mentions: []) }
        _ = try renewal.run(new, isStopped: { false }, progress: { _ in }, names: { $0.map { _ in VideoTests.axis(0) } })
        videos["v2"] = kept
        XCTAssertTrue(try index().isWhole)
        XCTAssertEqual(try ids(), ["p0", "v1", "v2#t=0,20", "v2#t=20,63"])
        XCTAssertEqual(try clip("v2#t=0,20")?.frames.count, 15)
        XCTAssertTrue(try isSound())
    }

    func testFramesKeepTheirShapeAndPartsHaveAMiddle() throws {
        XCTAssertTrue(Sampling.framed(width: 1_920, height: 1_080, side: 320) == (569, 320))
        XCTAssertTrue(Sampling.framed(width: 200, height: 100, side: 320) == (200, 100))
        XCTAssertTrue(Sampling.framed(width: 10_000, height: 100, side: 320) == (1_280, 13))
        XCTAssertEqual(ClipFrames.middle(scenes((1, 30_000)), ClipPart(4_000, 10_000)), 7_000)
        XCTAssertEqual(AssetKey("photos:A/L0/001:17#t=0,3")?.identifier, "A/L0/001")
    }
}
