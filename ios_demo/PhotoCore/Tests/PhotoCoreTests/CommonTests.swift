import Foundation
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

    func testRoughScoresAreNear() {
        func vector(_ n: Int) -> [Float] {
            let numbers = (0..<16).map { i -> Float in Float(sin(Double(n * 16 + i * i + 1))) }
            return TextEncoder.unit(numbers)
        }
        let made = (0..<200).map { Quantized(vector($0)) }
        let set = VectorSet(dim: 16, codes: made.flatMap(\.codes), scales: made.map(\.scale), owners: Array(0..<200), fine: nil)
        let query = VectorQuery(vector(999)), rows = Array(0..<200)
        let exact = set.bestOf(query, rows), rough = set.bestOf(query, rows, isRough: true)
        for at in rows {
            XCTAssertEqual(exact[at], set.dot(query, at))
            XCTAssertEqual(exact[at], rough[at], accuracy: 0.01)
            let bounds: [Float] = [-0.2, 0.1, 0.3, exact[at]]
            for least in bounds where exact[at] >= least { XCTAssertTrue(set.mayReach(query, at, least)) }
        }
        XCTAssertTrue(rows.contains { !set.mayReach(query, $0, 0.3) })
    }

    func testTopmostAreTheFirstOfTheSorted() {
        for size in [0, 1, 7, 300] {
            let scores = (0..<size).map { n -> Float in
                let choices: [Float] = [0, -0.0, -.infinity, Float(n * 7919 % 11) - 5, Float(n * 31 % 97) / 97]
                return choices[n * 13 % 5]
            }
            for k in [0, 1, 5, 60, 1000] { XCTAssertEqual(topmost(scores, k), Array(descending(scores).prefix(k))) }
        }
    }

    func testRoundsFastAsItDoesExactly() {
        let halves = (-400...400).map { n -> Double in Double(n) / 800 }
        let others = (1...3000).map { n -> Double in sin(Double(n)) * pow(10, Double(n % 12) - 3) }
        for value in halves + others {
            for digits in [1, 3, 4] { XCTAssertEqual(rounded(value, digits), Double(String(format: "%.\(digits)f", value))) }
        }
    }

    func testNumbersAmongOthers() {
        XCTAssertEqual(ascending([3, 1, 3, 2, 1]), [1, 2, 3])
        let some = [2, 3, 5, 8]
        XCTAssertEqual((0..<10).filter { isAmong(some, $0) }, some)
        XCTAssertEqual(marked([true, false, true]), [0, 2])
    }

    func testDivisionRoundsDown() {
        XCTAssertEqual(floorDiv(-1, 86_400_000), -1)
        XCTAssertEqual(floorMod(-1, 7), 6)
        XCTAssertEqual(floorDiv(7, 7), 1)
        XCTAssertEqual(floorMod(-190.0, 360), 170)
    }
}
