import XCTest

@testable import PhotoCore

/// What a phone is in addition to a computer: albums from Android, photos in the cloud, killed processes,
/// impatient people.
final class PhoneTests: XCTestCase {
    private var folder = ""
    private var path: String { folder + "/a.gamer" }

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 4, delta: 0.5))
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    private func photo(_ n: Int) -> Encoded {
        var photo = Photo(id: "p\(n)")
        photo.memories = [Memory("chat", ["the red kite", "coffee, coffee and more coffee", "number-12 tram to Zürich"][n % 3] + " \(n)")]
        return Encoded(photo, vectors: [], mentions: [])
    }

    private func scores() throws -> [[Float]] {
        let album = try Album(path)
        defer { album.close() }
        return try ["coffee", "kites in Zurich", "number-12", "nothing", "7"].map { try album.words($0.scalars).bm25() }
    }

    func testAnAlbumWithoutFTS5IsSearchedAndGetsItBack() throws {
        var writer = try AlbumWriter(path)
        try writer.add((0..<20).map(photo))
        try writer.finish { $0.map { _ in [0, 0, 0, 1] } }
        let wanted = try scores()
        XCTAssertTrue(wanted[0].contains { $0 > 0 })
        for change in ["DROP TABLE memories_fts", "INSERT INTO meta VALUES('words', 'own'); INSERT INTO memories_fts(memories_fts) VALUES('delete-all')"] {
            let db = try Database(path, .readWrite)
            try db.run(change)
            db.close()
            XCTAssertEqual(try scores(), wanted, change)
            writer = try AlbumWriter(path)
            try writer.finish { $0.map { _ in [0, 0, 0, 1] } }
            let mended = try Database(path, .readWrite)
            XCTAssertTrue(try TextIndex.isFullText(mended))
            mended.close()
            XCTAssertEqual(try scores(), wanted, change)
        }
    }

    func testTheSameStatementWithinItselfReadsItsOwnRows() throws {
        let db = try Database(path, .readWrite), sql = "SELECT key FROM meta ORDER BY key"
        let all = try db.rows(sql).count
        for _ in 0..<3 {
            var seen = 0
            try db.each(sql) { _ in
                XCTAssertEqual(try db.rows(sql).count, all)
                try db.each(sql) { _ in XCTAssertEqual(try db.rows(sql).count, all) }
                seen += 1
            }
            XCTAssertEqual(seen, all)
        }
        db.close()
    }

    private struct Source: PhotoSource {
        var away: Set<Int> = []
        func keys() -> [String] { (0..<5).map { "k\($0)" } }
        func photo(_ key: String) -> Photo? { Photo(id: key) }
        func picture(_ key: String) -> Picture? {
            away.contains(Int(key.dropFirst()) ?? 0) ? nil : Picture(Pixels(bytes: [0, 0, 0], width: 1, height: 1), isSmall: key == "k4")
        }
    }

    private func index(_ source: Source, _ skips: SkipList? = nil) throws -> IndexReport? {
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        var last: IndexReport?
        let run = IndexRun(source, writer, skips ?? SkipList(folder + "/skips")) { photo, pixels in
            pixels.map { _ in Encoded(photo, vectors: [], mentions: []) }
        }
        _ = try run.run(isStopped: { false }, progress: { last = $0 }, names: { $0.map { _ in [0, 0, 0, 1] } })
        return last
    }

    func testAPhotoInTheCloudIsNotStored() throws {
        for _ in 0..<2 {
            let told = try XCTUnwrap(try index(Source(away: [1, 3])))
            XCTAssertEqual([told.done, told.total, told.unread], [3, 5, 2])
        }
        let told = try XCTUnwrap(try index(Source()))
        XCTAssertEqual([told.done, told.unread], [5, 0])
    }

    func testAThumbnailIsSaid() throws {
        XCTAssertEqual(try index(Source())?.line, "5 of 5 photos (1 by their small pictures, as the originals are in the cloud)")
    }

    func testAPhotoThatEndsTheProcessTwiceIsLeftOut() throws {
        for _ in 0..<SkipList.tries { SkipList(folder + "/skips").begin("k2") }
        let skips = SkipList(folder + "/skips")
        XCTAssertTrue(skips.isSkipped("k2") && !skips.isSkipped("k1"))
        let told = try XCTUnwrap(try index(Source(), skips))
        XCTAssertEqual([told.done, told.skipped], [4, 1])
    }

    func testAPhotosOwnOffsetMakesItsMoment() {
        let wall = 1_715_968_980_000, berlin = { (_: Int) in 120 }  // 2024-05-17 18:03 as if UTC
        XCTAssertEqual(
            Moment.of(exif: "2024:05:17 18:03:00", exifOffset: "+09:00", library: 5, phone: berlin), Moment(wall - 540 * 60_000, "offset", 540))
        XCTAssertEqual(
            Moment.of(exif: "2024:05:17 18:03:00", exifOffset: "-03:30", library: nil, phone: berlin), Moment(wall + 210 * 60_000, "offset", -210))
        for offset in [nil, "+99:00", "", "Z"] {
            XCTAssertEqual(Moment.of(exif: "2024:05:17 18:03:00", exifOffset: offset, library: 5, phone: berlin), Moment(wall, "local", nil))
        }
        for unset in [nil, "", "0000:00:00 00:00:00", "2024:13:40 00:00:00", "2023:02:29 00:00:00"] {
            XCTAssertEqual(Moment.of(exif: unset, exifOffset: "+09:00", library: 1_000, phone: berlin), Moment(7_201_000, "local", nil))
        }
        XCTAssertEqual(Moment.of(exif: "1970:01:01 00:00:01", exifOffset: nil, library: nil, phone: berlin).takenAt, 1000)
    }

    func testTheScreenTakesOneRunAndTheLastSearch() {
        var screen = ScreenState()
        XCTAssertEqual(screen.notice, .noBundle)
        screen.look(bundle: true, album: false, access: .none)
        XCTAssertEqual(screen.notice, .noAccess)
        screen.look(bundle: true, album: false, access: .chosen)
        XCTAssertEqual(screen.notice, .noPhotos)
        XCTAssertTrue(screen.beginIndexing())
        XCTAssertFalse(screen.beginIndexing(), "a second run")
        screen.indexing(IndexReport(done: 1, total: 2))
        XCTAssertEqual(screen.notice, .indexing(IndexReport(done: 1, total: 2)))
        screen.endIndexing(failure: "no space left")
        XCTAssertEqual(screen.notice, .failed("no space left"))
        screen.look(bundle: true, album: true, access: .all)
        let first = screen.beginSearch(), second = screen.beginSearch()
        XCTAssertEqual(screen.notice, .ready, "the failure is forgotten")
        XCTAssertTrue(screen.endSearch(second, failure: "damaged"))
        XCTAssertFalse(screen.endSearch(first), "an earlier search that came late")
        XCTAssertEqual(screen.notice, .failed("damaged"))
        XCTAssertFalse(screen.isSearching)
    }

    func testTheGateLetsOneThrough() {
        let gate = Gate()
        XCTAssertEqual(gate.pass { gate.pass { 1 } == nil }, true)
        XCTAssertEqual(gate.pass { 2 }, 2)
        XCTAssertThrowsError(try gate.pass { throw Failure.value("x") })
        XCTAssertEqual(gate.pass { 3 }, 3)
    }
}
