import XCTest

@testable import PhotoCore

/// Query adapters as files: what was written is read, and nothing else is taken for one.
final class QueryAdapterTests: XCTestCase {
    private let path = NSTemporaryDirectory() + "\(UUID().uuidString).adapter"

    override func tearDown() { try? FileManager.default.removeItem(atPath: path) }

    func testValuesAreReadInTheirShape() throws {
        let values = (0..<16).map { Float($0) / 4 }
        try write(#"{"format": 1, "tower": "a tower", "shape": [1, 2, 2, 4]}"#, values)
        let adapter = try QueryAdapter(path)
        XCTAssertEqual(adapter.tower, "a tower")
        XCTAssertEqual(adapter.values.shape, [1, 2, 2, 4])
        XCTAssertEqual(adapter.values.floats, values)
        XCTAssertEqual(QueryAdapter.beside("mine.gamer"), "mine.gamer.adapter")
    }

    func testOtherFilesAreRefused() throws {
        let whole = [Float](repeating: 0, count: 16)
        for (header, values) in [
            (#"{"format": 2, "tower": "a", "shape": [1, 2, 2, 4]}"#, whole), (#"{"format": 1, "tower": "a", "shape": [1, 3, 2, 4]}"#, whole),
            (#"{"format": 1, "tower": "a", "shape": [60000, 2, 60000, 60000]}"#, whole), (#"{"format": 1, "shape": [1, 2, 2, 4]}"#, whole),
            (#"{"format": 1, "tower": "a", "shape": [1, 2, 2, 4]}"#, [Float](whole.dropLast())),
            (#"{"format": 1, "tower": "a", "shape": [1, 2, 2, 4]}"#, [Float](repeating: .nan, count: 16)), (String(repeating: "[", count: 5000), whole),
        ] {
            try write(header, values)
            XCTAssertThrowsError(try QueryAdapter(path)) { XCTAssertTrue("\($0)".contains("not a query adapter"), "\(header.prefix(60)): \($0)") }
        }
    }

    private func write(_ header: String, _ values: [Float]) throws {
        var data = Data((header + "\n").utf8)
        for value in values { withUnsafeBytes(of: value.bitPattern.littleEndian) { data.append(contentsOf: $0) } }
        try data.write(to: URL(fileURLWithPath: path))
    }
}
