import XCTest

@testable import PhotoCore

/// A random generator that gives the same numbers on every machine.
struct Dice {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func below(_ limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(limit))
    }

    mutating func unit(_ count: Int) -> [Float] { TextEncoder.unit((0..<count).map { _ in Float(below(2001) - 1000) / 1000 }) }
}

final class AlbumTests: XCTestCase {
    func testAGraphFindsWhatAScanFindsHoweverFewOrEqualItsVectorsAre() throws {
        var dice = Dice(11)
        let codes = (0..<1200).map { _ in (0..<8).map { _ in Int8(dice.below(241) - 120) } }
        let some: [[[Int8]]] = [
            [], Array(codes[..<1]), Array(codes[..<2]), Array(codes[..<17]), Array(repeating: codes[0], count: 300),
            Array(repeating: [Int8](repeating: 0, count: 8), count: 40), codes,
        ]
        for chosen in some {
            let count = chosen.count
            let vectors = VectorSet(dim: 8, codes: chosen.flatMap { $0 }, scales: [Float](repeating: 1, count: count), owners: Array(0..<count), fine: nil)
            let blob = try XCTUnwrap(HNSW.build(vectors, photos: count))
            XCTAssertEqual(blob, HNSW.build(vectors, photos: count))
            let graph = try HNSW(bytes: blob, vectors: vectors, behind: [])
            var found = 0
            for _ in 0..<50 {
                let query = VectorQuery(dice.unit(8)), near = graph.candidates(query, 60)
                XCTAssertEqual(near.count, min(60, count))
                let cosines = chosen.map { own -> Double in
                    let norm = own.reduce(0) { $0 + Int($1) * Int($1) }
                    return norm == 0 ? 0 : Double(zip(own, query.first).reduce(0) { $0 + Int($1.0) * Int($1.1) }) / Double(norm).squareRoot()
                }
                if let first = near.first, cosines[first] >= cosines.max()! - 1e-6 { found += 1 }
            }
            XCTAssertTrue(count == 0 || found >= 49, "\(found) of 50 of \(count)")
        }
        let vectors = VectorSet(dim: 8, codes: codes.flatMap { $0 }, scales: [Float](repeating: 1, count: 1200), owners: Array(0..<1200), fine: nil)
        XCTAssertNil(HNSW.build(vectors, photos: 1200, isStopped: { true }))
    }

    func testTreeFindsWhatAScanFinds() throws {
        var dice = Dice(5)
        for size in [0, 1, 5, 33, 400] {
            let points = (0..<size).map { _ in (0..<3).map { _ in dice.below(8) == 0 ? Int.min : dice.below(40) } }
            let tree = try KDTree(bytes: KDTree(points: points, leaf: 4).bytes())
            for _ in 0..<50 {
                let low = (0..<3).map { _ in dice.below(4) == 0 ? Int.min : dice.below(40) }, high = low.map { $0 == .min ? dice.below(40) : $0 + dice.below(20) }
                let wanted = points.indices.filter { row in (0..<3).allSatisfy { points[row][$0] >= low[$0] && points[row][$0] <= high[$0] } }
                XCTAssertEqual(tree.range([KDTree.Box(low: low, high: high)]), Array(wanted))
            }
        }
    }

    func testQuantisedVectorsComeBackToAnEighthOfAStep() {
        var dice = Dice(9)
        for size in [1, 7, 384] {
            let vector = dice.unit(size), made = Quantized(vector)
            for at in vector.indices {
                let quarter = Float(made.fine[at / 4] >> UInt8(2 * (at % 4)) & 3)
                XCTAssertEqual(made.scale * (Float(made.codes[at]) + quarter / 4 - 0.375), vector[at], accuracy: made.scale * 0.126)
            }
        }
        XCTAssertEqual(Quantized([0, 0, 0]).scale, 0)
    }

    func testAnAlbumIsWrittenReadAndSearched() throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/a.gamer"
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 16, delta: 0.5))
        var dice = Dice(3)
        let vectors = (0..<60).map { _ in dice.unit(16) }
        let writer = try AlbumWriter(path)
        XCTAssertThrowsError(try AlbumWriter(path), "two writers")
        for n in 0..<60 {
            var photo = Photo(id: "p\(n)")
            (photo.takenAt, photo.lat, photo.lon) = (n % 5 == 0 ? nil : n * 1000, Double(n) / 10, 20)
            photo.memories = [Memory("chat", n == 7 ? "a red kite for 12 euros" : "message \(n)")]
            try writer.add([Encoded(photo, vectors: [("text", [vectors[n]])], mentions: Entities.extract(photo.memories[0].text.scalars))])
        }
        XCTAssertThrowsError(try writer.add([Encoded(Photo(id: "p3"), vectors: [], mentions: [])]), "an id twice")
        try writer.finish { $0.map { _ in vectors[0] } }

        let album = try Album(path)
        XCTAssertEqual(album.count, 60)
        XCTAssertEqual(album.generation, 60)
        XCTAssertEqual(try album.photo(7).memories.first?.text, "a red kite for 12 euros")
        XCTAssertEqual(try album.searchVectors("text", vectors[31], k: 1).rows, [31])
        XCTAssertEqual(try album.searchText("kites".scalars, k: 5), [7])
        let found = try album.inCubes([Cube(start: 1000, end: 4000)])
        XCTAssertEqual(found.inside, [1, 2, 3, 4])
        XCTAssertTrue(found.rows.contains(0), "an unknown time is kept")
        XCTAssertTrue(try album.entityNames(50).contains("red kite"))
        album.close()
        XCTAssertFalse(FileManager.default.fileExists(atPath: path + ".lock"))
    }

    func testAPhotoWithAFlippedByteIsNotShown() throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString, path = folder + "/a.gamer"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 4, delta: 0.5))
        let writer = try AlbumWriter(path)
        try writer.add([Encoded(Photo(id: "one"), vectors: [], mentions: [])])
        writer.close()
        try Database(path, .readWrite).run("UPDATE photos SET taken_at = 5")
        XCTAssertThrowsError(try Album(path).photo(0)) { XCTAssertTrue("\($0)".contains("is damaged"), "\($0)") }
    }

    func testAClipSaysWhereInItAQueryIsMet() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.gamer").path
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 2, delta: 0.5))
        let writer = try AlbumWriter(path)
        try writer.add([Encoded(Photo(id: "b.mp4"), vectors: [("image", [[1, 0], [0, 1]])], mentions: [])])
        writer.close()
        let plain = try Album(path)
        XCTAssertNil(try plain.clip("b.mp4"))
        plain.close()

        let values: [Value] = [.text("b.mp4"), .integer(2000), .integer(6000), .integer(9000), .text("3000 5000")]
        let db = try Database(path, .readWrite)
        try db.run("CREATE TABLE clips(photo TEXT PRIMARY KEY, starts INTEGER, ends INTEGER, length INTEGER, frames TEXT, crc INTEGER) WITHOUT ROWID")
        _ = try db.rows("INSERT INTO clips VALUES(?,?,?,?,?,?)", values + [.integer(Checksum.values(values))])
        let album = try Album(path), clip = try XCTUnwrap(try album.clip("b.mp4"))
        XCTAssertEqual(clip.frames, [3000, 5000])
        XCTAssertEqual(try album.second(0, clip, [1, 0]), 3)
        XCTAssertEqual(try album.second(0, clip, [0, 1]), 5)
        XCTAssertNil(try album.clip("a.jpg"))
        album.close()

        try db.run("UPDATE clips SET frames = '3001 5000'")
        db.close()
        let damaged = try Album(path)
        XCTAssertThrowsError(try damaged.clip("b.mp4")) { XCTAssertTrue("\($0)".contains("is damaged"), "\($0)") }
    }
}
