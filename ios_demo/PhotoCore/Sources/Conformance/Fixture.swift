import Foundation
import PhotoCore

/// One case of a suite: its input, and either the output of the Python reference or a part of the expected
/// error's message.
public struct Case: Sendable {
    public let id: String
    public let given: JSON
    public let out: JSON?
    public let error: String?
}

/// A conformance fixture (tests/golden/conformance/README.md).
public struct Suite: Sendable {
    public let name: String
    public let tolerance: Double
    public let shared: JSON
    public let cases: [Case]
    /// The folder of the file, to which its paths are relative.
    public let folder: String

    public init(_ path: String) throws {
        let raw = try JSON.read(path)
        guard raw["format"]?.int == 1, let name = raw["suite"]?.string, let cases = raw["cases"]?.array else {
            throw Failure.value("\(path): no conformance fixture of format 1")
        }
        (self.name, tolerance, shared) = (name, raw["tolerance"]?.double ?? 0, raw["shared"] ?? .null)
        folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        self.cases = cases.map { Case(id: $0["id"]?.string ?? "?", given: $0["in"] ?? .null, out: $0["out"], error: $0["error"]?.string) }
    }

    public func path(_ relative: String) -> String { relative.hasPrefix("/") ? relative : "\(folder)/\(relative)" }
}

extension JSON {
    /// A member of a fixture. Raises Failure.value if it is missing.
    func need(_ name: String) throws -> JSON {
        guard let found = self[name] else { throw Failure.value("the fixture has no \(name)") }
        return found
    }

    func text(_ name: String) throws -> String {
        guard let found = try need(name).string else { throw Failure.value("\(name) is no text") }
        return found
    }

    func whole(_ name: String) throws -> Int {
        guard let found = try need(name).int else { throw Failure.value("\(name) is no integer") }
        return found
    }

    func list(_ name: String) throws -> [JSON] {
        guard let found = try need(name).array else { throw Failure.value("\(name) is no list") }
        return found
    }

    func floats(_ name: String) throws -> [Float] { try list(name).map { Float($0.double ?? .nan) } }
    func numbers(_ name: String) throws -> [Double] { try list(name).map { $0.double ?? .nan } }
    func integers(_ name: String) throws -> [Int] { try list(name).map { $0.int ?? .min } }
    func strings(_ name: String) throws -> [String] { try list(name).map { $0.string ?? "" } }

    func base64(_ name: String) throws -> [UInt8] {
        guard let data = Data(base64Encoded: try text(name)) else { throw Failure.value("\(name) is not base64") }
        return [UInt8](data)
    }

    static func ints(_ values: [Int]) -> JSON { .array(values.map(JSON.int)) }
    /// Each value as the shortest decimal that rounds to it, as in the fixtures.
    static func floats(_ values: [Float]) -> JSON { .array(values.map { .number(Double("\($0)") ?? .nan) }) }
    static func strings(_ values: [String]) -> JSON { .array(values.map(JSON.string)) }
}
