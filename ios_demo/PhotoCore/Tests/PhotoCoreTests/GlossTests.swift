import Foundation
import XCTest

@testable import PhotoCore

final class GlossTests: XCTestCase {
    private let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../..").standardizedFileURL

    func testEveryKindOfTokenizerTellsItsTokens() throws {
        let folder = root.appendingPathComponent("tests/golden/conformance/tokenizers")
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let path = folder.appendingPathComponent(name).path, raw = try JSON.read(path)
            let vocab = raw["model"]?["vocab"], listed = vocab?.members?.count ?? vocab?.array?.count ?? 0
            let tokens = try Tokenizer(path).tokens()
            XCTAssertGreaterThanOrEqual(tokens.count, listed, name)
            XCTAssertGreaterThan(listed, 200, name)
            for member in (vocab?.members ?? []).prefix(20) {
                XCTAssertTrue(tokens.contains { $0.token.string == member.name && $0.id == member.value.int }, "\(name) \(member.name)")
            }
        }
    }

    func testTheCommonestEnglishWordsComeFirstEachOnceByWhateverToken() {
        let tokens = ["[PAD]": 0, "cat</w>": 9, "Ġthe": 1, "The": 2, "##ing": 3, "x": 4, "▁a": 5, "été": 6].map { (token: $0.key.scalars, id: $0.value) }
        XCTAssertEqual(GlossGuess.ranks(tokens), ["the".scalars: 0, "a".scalars: 1, "cat".scalars: 2])
    }

    func testAFolderAMissingFileAndALargeOneAreNoTablesInOneLine() throws {
        let folder = NSTemporaryDirectory() + "glosses-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var large = Data(count: 17_000_000)
        large.replaceSubrange(0..<4, with: Data("GmGl".utf8))
        try large.write(to: URL(fileURLWithPath: folder + "/large.bin"))
        for path in [folder, folder + "/none.bin", folder + "/large.bin"] {
            XCTAssertThrowsError(try GlossTable(path)) { error in
                XCTAssertTrue("\(error)".hasPrefix("\(path): not a table of glosses ("), "\(error)")
                XCTAssertFalse("\(error)".contains("\n"), "\(error)")
            }
        }
    }

    /// The English is that of Python's reader (runtime/indexing/encode.py).
    func testAMemoryInAnotherLanguageIsEncodedInEnglishWordsToo() throws {
        let shared = try JSON.read(root.appendingPathComponent("tests/golden/conformance/glosses.json").path)["shared"]
        let table = try XCTUnwrap(shared?["tables"]?["de"]?.string.flatMap { Data(base64Encoded: $0) })
        let path = NSTemporaryDirectory() + "glosses-de-\(UUID().uuidString).bin"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try table.write(to: URL(fileURLWithPath: path))
        let words = try XCTUnwrap(shared?["vocabulary"]?.string).components(separatedBy: " ")
        let vocabulary = words.enumerated().map { (token: $0.element.scalars, id: $0.offset) }
        let reader = GlossReader([try GlossTable(path)], vocabulary: vocabulary, told: { _ in nil })
        let said = "meine Katze mit der Tasse auf der Strasse"
        func texts(_ source: String, _ text: String) throws -> [String] {
            try PhotoEncoder.texts([Memory(source, text)]) { reader }.map(\.string)
        }
        XCTAssertEqual(try texts("note", said), [said, "my cat with the cup on the street"])
        XCTAssertEqual(try texts("note", "the cat"), ["the cat"])
        XCTAssertEqual(try texts("people", said), [said])
        let long = Array(repeating: "Fotografie" + String(repeating: "x", count: 30), count: 24).joined(separator: " ") + " " + said
        XCTAssertEqual(try texts("note", long), [long])
        XCTAssertEqual(try PhotoEncoder.texts([Memory("note", said)]) { nil }.map(\.string), [said])
        XCTAssertEqual(try PhotoEncoder.texts([Memory("note", "the cat"), Memory("note", said)]) { reader }.count, 3)
    }

    /// The values are those of Python's `SequenceMatcher(None, a, b).ratio()`.
    func testLikenessAsDifflibs() {
        func ratio(_ a: String, _ b: String) -> Double { GlossLetters.ratio(Array(a.utf8), Array(b.utf8)) }
        XCTAssertEqual(ratio("karolain", "karoline"), 0.875)
        XCTAssertEqual(ratio("abxcdab", "cdabab"), 8.0 / 13)
        XCTAssertEqual(ratio("qabxcd", "abycdf"), 8.0 / 12)
        XCTAssertEqual(ratio("", "a"), 0)
        XCTAssertEqual(ratio("", ""), 1)
    }
}
