import Foundation
import XCTest

@testable import PhotoCore

/// A model as one file: what comes out is what the manifest promises, or nothing.
final class PackedBundleTests: XCTestCase {
    private var home = ""
    private var folder: String { home + "/bundle" }

    override func setUpWithError() throws {
        home = NSTemporaryDirectory() + "packed-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("old".utf8).write(to: URL(fileURLWithPath: folder + "/old.txt"))
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: home) }

    private typealias Entries = [(name: String, data: [UInt8])]

    /// The entries of a packed bundle: the golden manifest's, with contents made up.
    private func whole() throws -> Entries {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<5 { root.deleteLastPathComponent() }
        let golden = try Data(contentsOf: root.appendingPathComponent("tests/golden/manifest_v3.json"))
        var manifest = try XCTUnwrap(JSONSerialization.jsonObject(with: golden) as? [String: Any])
        var out: Entries = []
        manifest["artifacts"] = Array(try XCTUnwrap(manifest["artifacts"] as? [[String: Any]]).prefix(1))
        for kind in ["files", "artifacts"] {
            manifest[kind] = try XCTUnwrap(manifest[kind] as? [[String: Any]]).map { entry -> [String: Any] in
                let path = entry["path"] as? String ?? "", data = Array(String(repeating: path, count: 3).utf8)
                out.append((path, data))
                return entry.merging(["bytes": data.count, "sha256": SHA256.hex(data)] as [String: Any], uniquingKeysWith: { $1 })
            }
        }
        let text = try JSONSerialization.data(withJSONObject: manifest)
        return [("manifest.json", [UInt8](text))] + out
    }

    private func zip(_ entries: Entries) -> [UInt8] {
        var out: [UInt8] = [], directory: [UInt8] = []
        for (name, data) in entries {
            var head: [UInt8] = [10, 0, 0, 0, 0, 0, 0, 0, 33, 0]
            for number in [CRC32.of(data), UInt32(data.count), UInt32(data.count)] { head += littleEndian(number) }
            for number in [UInt16(name.utf8.count), 0] { head += littleEndian(number) }
            directory += littleEndian(UInt32(0x0201_4b50))
            directory += [10, 0]
            directory += head
            directory += [UInt8](repeating: 0, count: 10)
            directory += littleEndian(UInt32(out.count))
            directory += Array(name.utf8)
            out += littleEndian(UInt32(0x0403_4b50))
            out += head
            out += Array(name.utf8)
            out += data
        }
        var end = littleEndian(UInt32(0x0605_4b50)) + [0, 0, 0, 0]
        for _ in 0..<2 { end += littleEndian(UInt16(entries.count)) }
        for number in [directory.count, out.count] { end += littleEndian(UInt32(number)) }
        return out + directory + end + [0, 0]
    }

    private func unpack(_ bytes: [UInt8]) throws {
        let file = home + "/a.zip"
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        try PackedBundle.unpack(file, to: folder)
    }

    private func listed(_ folder: String) -> Set<String> {
        Set((FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []).filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isFolder) && !isFolder.boolValue
        })
    }

    func testWhatIsPackedComesOutInThePlaceOfWhatWasThere() throws {
        let whole = try whole()
        try unpack(zip(whole))
        try ManifestReader.check(folder, try ManifestReader.read(folder))
        XCTAssertEqual(listed(folder), Set(whole.map(\.name)))
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: home), ["bundle"])
    }

    func testAFileThatWasTamperedWithLeavesTheOldBundleAsItIs() throws {
        let whole = try whole(), first = whole[1], second = whole[2]
        var changed = whole, grown = whole
        changed[1].data = [UInt8](repeating: 0, count: first.data.count)
        grown[1].data.append(1)
        let cases: [(Entries, String)] = [
            (whole + [("../evil", [1])], "does not name '../evil'"), (whole + [("extra.txt", [1])], "does not name 'extra.txt'"),
            (whole + [("./" + second.name, second.data)], "does not name"), (changed, "not what its manifest promises"),
            (grown, "is larger than the manifest promises"), (Array(whole.dropLast()), "in it is missing"),
            (Array(whole.dropFirst()), "not a packed bundle"), ([], "not a packed bundle"),
        ]
        for (entries, said) in cases {
            XCTAssertThrowsError(try unpack(zip(entries)), said) {
                XCTAssertTrue("\($0)".contains(said) && !"\($0)".contains("\n"), "\($0)")
            }
            XCTAssertEqual(listed(folder), ["old.txt"])
            XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: home), ["bundle"])
        }
    }

    func testFlippedAndMissingBytesAreRefusedInOneLine() throws {
        let data = zip(try whole())
        var dice = Dice(3)
        for round in 0..<300 {
            var bad = round % 3 == 0 ? Array(data.prefix(dice.below(data.count))) : data
            for _ in 0..<(bad.isEmpty ? 0 : round % 3) { bad[dice.below(bad.count)] = UInt8(dice.below(256)) }
            do {
                try unpack(bad)
                try ManifestReader.check(folder, try ManifestReader.read(folder))  // what was changed is nothing that is read
            } catch let error as Failure { XCTAssertFalse("\(error)".contains("\n"), "\(error)") }
        }
    }
}
