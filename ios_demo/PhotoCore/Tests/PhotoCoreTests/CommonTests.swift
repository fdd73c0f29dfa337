import XCTest

@testable import PhotoCore

final class CommonTests: XCTestCase {
    func testHashesOfKnownTexts() {
        XCTAssertEqual(SHA256.hex(Array("abc".utf8)), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        XCTAssertEqual(SHA256.hex([]), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        XCTAssertEqual(CRC32.of(Array("123456789".utf8)), 0xcbf4_3926)
    }

    func testHashDoesNotDependOnThePieces() {
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * 7) }, whole = SHA256.hex(bytes)
        for size in [1, 3, 63, 64, 65, 119, 128, 999] {
            var sha = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) { sha.update(Array(bytes[start..<min(start + size, bytes.count)])) }
            XCTAssertEqual(sha.hexDigest(), whole, "pieces of \(size)")
        }
        for length in 50..<70 { XCTAssertEqual(CRC32.of(Array(bytes[10..<length]), continuing: CRC32.of(Array(bytes[..<10]))), CRC32.of(Array(bytes[..<length]))) }
    }

    func testJSONKeepsWhatFoundationLoses() throws {
        let raw = try JSON.parse(Array("{\"é\": 1, \"e\u{301}\": 2.0, \"x\": \"\\ud83d\\ude00\"}".utf8))
        XCTAssertEqual(raw.members?.count, 3)
        XCTAssertEqual(raw["é"]?.int, 1)
        XCTAssertNil(raw["e\u{301}"]?.int)
        XCTAssertEqual(raw["x"]?.string, "😀")
        for text in ["", "{", "[1,]", "{\"a\" 1}", "\"\\x\"", "nul", "1 2", String(repeating: "[", count: 600)] {
            XCTAssertThrowsError(try JSON.parse(Array(text.utf8)), text)
        }
    }

    func testJSONReadsBackWhatItWrites() throws {
        let value = JSON.object(["a": .array([.int(-3), .number(0.1), .null, .bool(true)]), "b": .string("\"\\\n\u{1}é")])
        XCTAssertEqual(try JSON.parse(Array(value.text.utf8)).text, value.text)
    }

    func testHeapGivesTheLeastFirst() {
        var heap = Heap<Int>(), out: [Int] = []
        let numbers = (0..<500).map { ($0 * 7919) % 1009 }
        numbers.forEach { heap.push($0) }
        while let least = heap.pop() { out.append(least) }
        XCTAssertEqual(out, numbers.sorted())
    }

    func testDivisionRoundsDown() {
        XCTAssertEqual(floorDiv(-1, 86_400_000), -1)
        XCTAssertEqual(floorMod(-1, 7), 6)
        XCTAssertEqual(floorDiv(7, 7), 1)
        XCTAssertEqual(floorMod(-190.0, 360), 170)
    }
}
