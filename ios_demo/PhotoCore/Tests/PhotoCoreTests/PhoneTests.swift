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
        var shots = Array(0..<5)
        var inCloud: Set<Int> = [4]
        var hearts: Set<Int>?
        func favourites() -> Set<String>? { hearts.map { Set($0.map { "k\($0)" }) } }
        func keys() -> [String] { shots.map { "k\($0)" } }
        func owns(_ id: String) -> Bool { id.hasPrefix("k") }
        func name(_ key: String) -> String { "IMG_\(key).jpg" }
        func photo(_ key: String) -> Photo? { Photo(id: key) }
        func picture(_ key: String) -> Look? {
            let number = Int(key.dropFirst()) ?? 0
            return away.contains(number) ? nil : Look(Pixels(bytes: [0, 0, 0], width: 1, height: 1), isSmall: inCloud.contains(number))
        }
    }

    /// `fails`: whether the encoder refuses a photo's key and the side of its picture.
    private func index(
        _ source: Source, _ skips: SkipList? = nil, mentions: [Mention] = [], fails: (String, Int) -> Bool = { _, _ in false },
        names: ([String]) throws -> [[Float]] = { $0.map { _ in [0, 0, 0, 1] } }
    ) throws -> IndexReport? {
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        var last: IndexReport?
        try withoutActuallyEscaping(fails) { fails in
            let run = IndexRun(source, writer, skips ?? SkipList(folder + "/skips"), SmallList(folder + "/small"), MarkList(folder + "/marks")) { photo, look in
                if fails(photo.id, look?.frames.first?.width ?? 0) { throw Failure.runtime("refused") }
                return look.map { _ in Encoded(photo, vectors: [("image", [[Float](repeating: 0.5, count: 4)])], mentions: mentions) }
            }
            _ = try run.run(isStopped: { false }, progress: { last = $0 }, names: names)
        }
        return last
    }

    func testTheVectorsOfClassNamesAreKeptAndADamagedFileIsWrittenAnew() throws {
        let path = folder + "/names.f32"
        var calls = 0
        func vectors() throws -> [[Float]] {
            try ClassNames.vectors(["cat", "goose"], 3, path) { name in
                calls += 1
                return (0..<3).map { Float(name.count) + Float($0) / 4 }
            }
        }
        let first = try vectors()
        XCTAssertEqual(first, [[3, 3.25, 3.5], [5, 5.25, 5.5]])
        XCTAssertEqual(try vectors(), first)
        XCTAssertEqual(calls, 2)
        let whole = try XCTUnwrap(FileManager.default.contents(atPath: path))
        var infinite = whole
        (infinite[2], infinite[3]) = (0x80, 0x7F)
        for damaged in [whole.prefix(20), whole + [1], infinite, Data()] {
            try damaged.write(to: URL(fileURLWithPath: path))
            XCTAssertEqual(try vectors(), first)
        }
        XCTAssertEqual(calls, 10)
    }

    func testAPhotoThatFailsTwiceIsLeftOutByName() throws {
        for _ in 0..<SkipList.tries {
            let told = try XCTUnwrap(try index(Source(), fails: { key, side in key == "k2" && side == 1 }))
            XCTAssertEqual([told.done, told.unread, told.skipped.count], [4, 1, 0])
        }
        let told = try XCTUnwrap(try index(Source(), fails: { key, side in key == "k2" && side == 1 }))
        XCTAssertEqual([told.done, told.unread], [4, 0])
        XCTAssertEqual(told.skipped, ["IMG_k2.jpg"])
    }

    func testAPhotoWhoseOriginalComesFromTheCloudIsEncodedAgainOnce() throws {
        var encoded: [String] = []
        func run(_ cloud: Set<Int>) throws -> [String] {
            encoded = []
            _ = try index(Source(inCloud: cloud)) { key, _ in
                encoded.append(key)
                return false
            }
            return encoded
        }
        XCTAssertEqual(try run([1, 4]), ["k0", "k1", "k2", "k3", "k4"])
        XCTAssertEqual(try run([4]), ["k1", "k4"])
        XCTAssertEqual(try run([4]), ["k4"])
        XCTAssertEqual(try run([]), ["k4"])
        XCTAssertEqual(try run([]), [])
    }

    func testModelsThatFailAtEveryPhotoEndTheRunAndLeaveNoneOut() throws {
        for _ in 0..<SkipList.tries + 1 { XCTAssertThrowsError(try index(Source(), fails: { _, _ in true })) }
        XCTAssertEqual(try index(Source())?.done, 5)
    }

    func testTheLibrarysFavouritesAreTheAlbumsAndMarksOfElsewhereStay() throws {
        _ = try index(Source())
        let writer = try AlbumWriter(path)
        var told = Photo(id: "a chat")
        told.memories = [.favourite]
        try writer.add([Encoded(told, vectors: [], mentions: [])])
        try writer.mark(["k0"], isFavourite: true)  // on a computer
        writer.close()
        func marked() throws -> Set<String> {
            let album = try Album(path), scores = try album.words("favourite".scalars).bm25()
            let named = try scores.indices.filter { scores[$0] > 0 }.map { try album.photo($0).id }
            let out = Set(try album.memories(of: "social").filter { $0.text == "favourite" }.map { try album.photo($0.row).id })
            XCTAssertEqual(Set(named), out)
            return out
        }
        for (hearts, shots, wanted) in [
            ([1, 3, 9], Array(0..<5), ["k0", "k1", "k3"]), ([3, 4], [0, 3, 4], ["k0", "k3", "k4"]), (nil, Array(0..<5), ["k0", "k3", "k4"]),
            ([], Array(0..<5), ["k0"]), ([0], Array(0..<5), ["k0"]), ([], Array(0..<5), []),
        ] as [(Set<Int>?, [Int], [String])] {
            _ = try index(Source(shots: shots, hearts: hearts))
            XCTAssertEqual(try marked(), Set(wanted + ["a chat"]))
        }
        XCTAssertEqual(Check.problems(path), [])
    }

    func testWhatLeftThePhoneLeavesTheAlbumAndNothingElseDoes() throws {
        _ = try index(Source())
        try changed { try $0.add([Encoded(Photo(id: "a chat"), vectors: [], mentions: [])]) }
        let before = try ids().filter { !$0.hasPrefix("k") }
        let told = try XCTUnwrap(try index(Source(shots: [1, 3, 7])))
        XCTAssertEqual([told.done, told.total, told.removed], [3, 3, 3])
        XCTAssertEqual(try ids(), (before + ["k1", "k3", "k7"]).sorted())
        XCTAssertEqual(try index(Source(shots: []))?.removed, 0)  // a library that cannot be read now
        try changed { try $0.remove(["k7"]) }
        let db = try Database(path, .readWrite)
        try db.rows("INSERT INTO meta VALUES('removed', '[\"k7\"]')")
        db.close()
        XCTAssertEqual(try index(Source(shots: [1, 3, 7]))?.total, 2)  // removed for good on another device
        XCTAssertThrowsError(try changed { try $0.remove(["k1", "none"]) }) {
            XCTAssertTrue("\($0)".contains("no photo with id 'none'"), "\($0)")
        }
        XCTAssertEqual(try ids(), (before + ["k1", "k3"]).sorted())
    }

    private func ids() throws -> [String] {
        var out: [String] = []
        try changed { out = try $0.ids().sorted() }
        return out
    }

    private func changed(_ change: (AlbumWriter) throws -> Void) throws {
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        try change(writer)
    }

    func testAnAssetsKeyNamesItAndWhenItWasEdited() {
        let key = AssetKey("9F98/L0/001", modified: 1_700_000_000)
        XCTAssertEqual(AssetKey(key.id), key)
        XCTAssertNotEqual(AssetKey("9F98/L0/001", modified: 1_700_000_001).id, key.id)
        for other in ["", "photos:", "photos:1", "9F98/L0/001", "photos:9F98:x", "media:1:2"] { XCTAssertNil(AssetKey(other), other) }
    }

    func testWhatAKilledRunLeftIsFinishedByTheNext() throws {
        let cup = [Mention("cup", "thing")]
        XCTAssertThrowsError(try index(Source(), mentions: cup, names: { _ in throw Failure.runtime("killed") }))
        _ = try index(Source())  // there is no photo to add
        let album = try Album(path)
        defer { album.close() }
        XCTAssertEqual(try album.matchEntities([0, 0, 0, 1], [0, 1, 2, 3, 4], delta: 0.5).map(\.name), ["cup"])
    }

    func testACreationThatIsKilledLeavesNothingUnderTheFinalName() throws {
        let fresh = folder + "/b.gamer"
        for suffix in [".partial", ".partial-wal"] { try Data(count: 4096).write(to: URL(fileURLWithPath: fresh + suffix)) }
        let meta = AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 4, delta: 0.5)
        let held = try WriterLock(fresh)
        XCTAssertThrowsError(try AlbumWriter.create(fresh, meta)) { XCTAssertTrue("\($0)".contains("another program"), "\($0)") }
        held.release()
        try AlbumWriter.create(fresh, meta)
        XCTAssertEqual(try Album(fresh).count, 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("b.") && !$0.hasSuffix("-shm") && !$0.hasSuffix("-wal") }
        XCTAssertEqual(left, ["b.gamer"])
        XCTAssertThrowsError(try AlbumWriter.create(folder + "/none/c.gamer", meta))
    }

    func testALongPictureIsReducedByItsPixels() {
        XCTAssertEqual(Sampling.scale(width: 4000, height: 3000, least: 512), 512.0 / 3000)
        XCTAssertEqual(Sampling.scale(width: 400, height: 300, least: 512), 1)
        let scale = Sampling.scale(width: 500, height: 65_000, least: 512)
        XCTAssertLessThanOrEqual(500 * scale * 65_000 * scale, 4_000_001)
    }

    func testTheScansOfAJPEGAreCountedUpToALimitWithoutThoseOfItsThumbnailAndOfWhatFollowsIt() {
        let scan: [UInt8] = [0xFF, 0xDA, 0, 4, 1, 2, 7, 0xFF, 0, 0xFF, 0xD3, 9]
        let thumbnail: [UInt8] = [0xFF, 0xE1, 0, 6, 0xFF, 0xDA, 0xFF, 0xDA]
        func jpeg(_ scans: Int) -> Data {
            var made = Data([0xFF, 0xD8])
            made.append(contentsOf: thumbnail)
            for _ in 0..<scans { made.append(contentsOf: scan) }
            made.append(contentsOf: [0xFF, 0xD9])
            made.append(contentsOf: scan)
            return made
        }
        XCTAssertEqual([0, 1, 7, 10, 11].map { Scans.count(jpeg($0), atMost: 10) }, [0, 1, 7, 10, nil])
        XCTAssertEqual(Scans.count(Data("no picture".utf8), atMost: 10), 0)
        for cut in 0..<jpeg(3).count { XCTAssertLessThanOrEqual(Scans.count(jpeg(3).prefix(cut), atMost: 10) ?? 99, 3) }
        XCTAssertTrue(Scans.mayBeDecoded(jpeg(300), width: 4000, height: 3000))
        XCTAssertFalse(Scans.mayBeDecoded(jpeg(3000), width: 4000, height: 3000))
        XCTAssertFalse(Scans.mayBeDecoded(jpeg(3000), width: .max, height: 2))
    }

    func testAPositionThatIsNoneIsRefused() throws {
        for (lat, lon) in [(Double.nan, 5), (5, .nan), (.infinity, 5), (0, 0), (90.1, 0), (0, -180.1)] { XCTAssertNil(Position(plausible: lat, lon)) }
        XCTAssertEqual(Position(plausible: -90, 180)?.lon, 180)
        XCTAssertEqual(Space.e7(.nan), .min)
        var photo = Photo(id: "nowhere")
        (photo.lat, photo.lon) = (.nan, 5)
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        XCTAssertThrowsError(try writer.add([Encoded(photo, vectors: [], mentions: [])]))
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
        let told = try XCTUnwrap(try index(Source()))
        XCTAssertEqual([told.done, told.total, told.small], [5, 5, 1])
    }

    func testAPhotoThatEndsTheProcessTwiceIsLeftOut() throws {
        for _ in 0..<SkipList.tries { SkipList(folder + "/skips").begin("k2") }
        let skips = SkipList(folder + "/skips")
        XCTAssertTrue(skips.isSkipped("k2") && !skips.isSkipped("k1"))
        let told = try XCTUnwrap(try index(Source(), skips))
        XCTAssertEqual(told.done, 4)
        XCTAssertEqual(told.skipped, ["IMG_k2.jpg"])
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

    func testAMomentIsReadAsPythonReadsIt() {  // index/ingest/metadata/exif.py gives these; Kotlin's test has the same
        let read: [(String, String, Moment)] = [
            ("2024:05:17 18:03:00.5", "+05:75", Moment(1_715_968_980_000, "local", nil)),
            (" 2024-5-7T8:03:00", "+0900", Moment(1_715_036_580_000, "offset", 540)),
            ("2024/05.17 18:03:00 pm", "-03:30x", Moment(1_715_981_580_000, "offset", -210)),
            ("2024:05:17 18:03:00", "+15:00", Moment(1_715_968_980_000, "local", nil)),
            ("\0 2024:05:17 18:03:00\0", "+14:00", Moment(1_715_918_580_000, "offset", 840)),
            ("2024:05:17 18:03:00", "\t+01:00", Moment(1_715_965_380_000, "offset", 60)),
        ]
        for (exif, offset, wanted) in read { XCTAssertEqual(Moment.of(exif: exif, exifOffset: offset, library: nil, phone: { _ in 0 }), wanted, exif) }
        for unread in ["1825:05:17 18:03:00", "2024:05:17  18:03:00", "2024:05:17 18:03:60", "2024:05:17 18:03", "٢٠٢٤:05:17 18:03:00"] {
            XCTAssertNil(Moment.of(exif: unread, exifOffset: "Z", library: nil, phone: { _ in 0 }).takenAt, unread)
        }
    }

    func testAnAlbumStaysOpenUntilSomethingIsCommittedOrAnotherFileHasItsName() throws {
        let watch = AlbumWatch(path)
        var kept = Kept<Album, [Int]>(), opens = 0
        func count() throws -> Int {
            try kept.get(watch.version()) {
                opens += 1
                return try Album(path)
            }.count
        }
        for _ in 0..<3 { XCTAssertEqual(try count(), 0) }
        XCTAssertEqual(opens, 1)
        var writer = try AlbumWriter(path)
        try writer.add([photo(0)])
        writer.close()
        for _ in 0..<3 { XCTAssertEqual(try count(), 1) }
        XCTAssertEqual(opens, 2)
        writer = try AlbumWriter(path)
        try writer.finish { $0.map { _ in [0, 0, 0, 1] } }  // no photo more, but a tree
        for _ in 0..<2 { XCTAssertEqual(try count(), 1) }
        XCTAssertEqual(opens, 3)
        kept = Kept()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 4, delta: 0.5))
        XCTAssertEqual(try count(), 0)
    }

    func testTheScreenTakesOneRunAndTheLastSearch() {
        var screen = ScreenState()
        XCTAssertEqual(screen.notice, .noBundle(nil))
        XCTAssertTrue(screen.beginUnpacking())
        XCTAssertFalse(screen.beginIndexing(), "with a model that is being replaced")
        XCTAssertEqual(screen.notice, .unpacking)
        screen.endUnpacking(failure: "damaged")
        XCTAssertEqual(screen.notice, .noBundle("damaged"))
        XCTAssertTrue(screen.beginUnpacking())
        screen.endUnpacking(failure: nil)
        screen.look(bundle: true, album: false, access: .none)
        XCTAssertEqual(screen.notice, .noAccess)
        screen.look(bundle: true, album: false, access: .chosen)
        XCTAssertEqual(screen.notice, .noPhotos)
        XCTAssertTrue(screen.beginIndexing())
        XCTAssertFalse(screen.wantsIndexing)
        XCTAssertFalse(screen.beginIndexing(), "a second run")
        screen.indexing(IndexReport(done: 1, total: 2), now: 5)
        XCTAssertEqual(screen.notice, .indexing(IndexReport(done: 1, total: 2), left: nil))
        XCTAssertFalse(screen.wantsIndexing, "while the first is in progress")
        screen.endIndexing(nil, failure: "no space left")
        XCTAssertTrue(screen.wantsIndexing, "photos may have come since it listed them")
        XCTAssertEqual(screen.notice, .failed("no space left"))
        screen.look(bundle: true, album: true, access: .all)
        let first = screen.beginSearch(), second = screen.beginSearch()
        XCTAssertEqual(screen.notice, .failed("no space left"), "a search does not hide it")
        XCTAssertTrue(screen.beginIndexing())
        XCTAssertFalse(screen.wantsIndexing)
        XCTAssertEqual(screen.search, .running, "is shown while photos are indexed")
        XCTAssertTrue(screen.endSearch(second, failure: "damaged"))
        XCTAssertFalse(screen.endSearch(first), "an earlier search that came late")
        XCTAssertEqual(screen.search, .failed("damaged"), "is shown while photos are indexed")
        screen.endIndexing(.finished)
        XCTAssertEqual(screen.notice, .ready)
    }

    func testTheScreenSaysThatABackgroundRunIsInProgress() {
        var screen = ScreenState()
        screen.look(bundle: true, album: true, access: .all)
        XCTAssertTrue(screen.beginIndexing())
        screen.endIndexing(.busy)
        XCTAssertEqual(screen.notice, .busy)
        XCTAssertTrue(screen.beginIndexing())
        screen.endIndexing(.finished)
        XCTAssertEqual(screen.notice, .ready)
        for (access, notice) in [(ScreenState.Access.none, ScreenState.Notice.noAccess), (.refused, .refused)] {
            screen.look(bundle: true, album: true, access: access)
            XCTAssertEqual(screen.notice, notice, "though an album was copied here")
        }
    }

    func testTheTimeLeftFollowsAPhoneThatBecomesSlower() {
        var pace = Pace()
        XCTAssertNil(pace.left(0, done: 100, total: 1000))
        XCTAssertNil(pace.left(5, done: 110, total: 1000), "too few to tell")
        XCTAssertEqual(pace.left(10, done: 120, total: 1000), 440)  // two photos a second
        XCTAssertEqual(pace.left(12, done: 120, total: 1000), 440)  // nothing new
        var left = 0
        for second in 11...900 { left = pace.left(Double(second), done: 120 + (second - 10) / 5, total: 1000) ?? left }  // one in five seconds
        XCTAssertLessThan(abs(left - 5 * (1000 - 298)), 30)
        XCTAssertNil(pace.left(901, done: 0, total: 1000), "another run")
        XCTAssertEqual(pace.left(911, done: 20, total: 1000), 490)
        XCTAssertNil(pace.left(4000, done: 36, total: 1000), "it paused for an hour")
    }

    func testThePauseIsShownAndTheTimeLeft() {
        XCTAssertNil(Pause.of(saves: false, isHot: false))
        XCTAssertEqual(Pause.of(saves: true, isHot: false), .battery)
        XCTAssertEqual(Pause.of(saves: true, isHot: true), .heat)
        var screen = ScreenState()
        screen.look(bundle: true, album: true, access: .all)
        XCTAssertTrue(screen.beginIndexing())
        screen.indexing(IndexReport(done: 0, total: 100), now: 0)
        let report = IndexReport(done: 20, total: 100)
        screen.indexing(report, now: 10)
        XCTAssertEqual(screen.notice, .indexing(report, left: 40))
        screen.endIndexing(.paused(.heat))
        XCTAssertEqual(screen.notice, .paused(.heat, report))
        XCTAssertTrue(screen.beginIndexing())
        XCTAssertEqual(screen.notice, .indexing(IndexReport(done: 0, total: 0), left: nil))
    }

    func testTheGateLetsOneThrough() {
        let gate = Gate()
        XCTAssertEqual(gate.pass { gate.pass { 1 } == nil }, true)
        XCTAssertEqual(gate.pass { 2 }, 2)
        XCTAssertThrowsError(try gate.pass { throw Failure.value("x") })
        XCTAssertEqual(gate.pass { 3 }, 3)
    }
}
