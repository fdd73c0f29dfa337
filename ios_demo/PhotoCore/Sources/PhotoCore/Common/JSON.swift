import Foundation

/// A JSON value that preserves what Foundation's reader loses: the order of members, the difference between
/// integers and fractions, and names that differ in code points only (a tokenizer's vocabulary has such
/// names). It reads what Python's `json` reads, including NaN and Infinity.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case int(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    public struct Member: Sendable {
        public let name: String
        public let value: JSON

        public init(_ name: String, _ value: JSON) { (self.name, self.value) = (name, value) }
    }

    /// Raises Failure.value for text that is not JSON, or is nested deeper than 500 levels.
    public static func parse(_ text: [UInt8]) throws -> JSON {
        var reader = Reader(text: text)
        reader.space()
        let value = try reader.value(depth: 0)
        reader.space()
        guard reader.at == text.count else { throw Failure.value("Extra data at byte \(reader.at)") }
        return value
    }

    public static func read(_ path: String) throws -> JSON { try parse([UInt8](Data(contentsOf: URL(fileURLWithPath: path)))) }

    /// The member called `name` (the last one if there are several); nil if there is none or this is not an
    /// object.
    public subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    public subscript(_ index: Int) -> JSON? {
        guard case .array(let items) = self, items.indices.contains(index) else { return nil }
        return items[index]
    }

    public var isNull: Bool { if case .null = self { return true } else { return false } }
    public var string: String? { if case .string(let value) = self { return value } else { return nil } }
    public var bool: Bool? { if case .bool(let value) = self { return value } else { return nil } }
    public var int: Int? { if case .int(let value) = self { return value } else { return nil } }
    public var array: [JSON]? { if case .array(let value) = self { return value } else { return nil } }
    public var members: [Member]? { if case .object(let value) = self { return value } else { return nil } }

    public var double: Double? {
        switch self {
        case .int(let value): return Double(value)
        case .number(let value): return value
        default: return nil
        }
    }

    /// Python's name of the type, for messages.
    public var typeName: String {
        switch self {
        case .null: return "NoneType"
        case .bool: return "bool"
        case .int: return "int"
        case .number: return "float"
        case .string: return "str"
        case .array: return "list"
        case .object: return "dict"
        }
    }
}

private struct Reader {
    let text: [UInt8]
    var at = 0

    mutating func space() {
        while at < text.count, [0x20, 0x09, 0x0a, 0x0d].contains(text[at]) { at += 1 }
    }

    mutating func value(depth: Int) throws -> JSON {
        guard depth < 500 else { throw Failure.value("nested too deeply") }
        guard at < text.count else { throw wrong("Expecting value") }
        switch text[at] {
        case UInt8(ascii: "{"): return try object(depth)
        case UInt8(ascii: "["): return try array(depth)
        case UInt8(ascii: "\""): return .string(try string())
        default: break
        }
        for (word, value) in Reader.words where text[at...].starts(with: word) {
            at += word.count
            return value
        }
        return try number()
    }

    private static let words: [([UInt8], JSON)] = [
        (Array("null".utf8), .null), (Array("true".utf8), .bool(true)), (Array("false".utf8), .bool(false)),
        (Array("NaN".utf8), .number(.nan)), (Array("Infinity".utf8), .number(.infinity)), (Array("-Infinity".utf8), .number(-.infinity)),
    ]

    private mutating func object(_ depth: Int) throws -> JSON {
        var members: [JSON.Member] = []
        at += 1
        space()
        if take("}") { return .object(members) }
        while true {
            space()
            guard at < text.count, text[at] == UInt8(ascii: "\"") else { throw wrong("Expecting property name") }
            let name = try string()
            space()
            guard take(":") else { throw wrong("Expecting ':' delimiter") }
            space()
            members.append(JSON.Member(name, try value(depth: depth + 1)))
            space()
            if take("}") { return .object(members) }
            guard take(",") else { throw wrong("Expecting ',' delimiter") }
        }
    }

    private mutating func array(_ depth: Int) throws -> JSON {
        var items: [JSON] = []
        at += 1
        space()
        if take("]") { return .array(items) }
        while true {
            space()
            items.append(try value(depth: depth + 1))
            space()
            if take("]") { return .array(items) }
            guard take(",") else { throw wrong("Expecting ',' delimiter") }
        }
    }

    private mutating func take(_ letter: Unicode.Scalar) -> Bool {
        guard at < text.count, text[at] == UInt8(ascii: letter) else { return false }
        at += 1
        return true
    }

    private mutating func number() throws -> JSON {
        let begin = at
        var fraction = false
        while at < text.count {
            let c = text[at]
            if c == UInt8(ascii: ".") || c == UInt8(ascii: "e") || c == UInt8(ascii: "E") { fraction = true }
            guard (0x30...0x39).contains(c) || [0x2b, 0x2d, 0x2e, 0x45, 0x65].contains(c) else { break }
            at += 1
        }
        let word = String(decoding: text[begin..<at], as: UTF8.self)
        if !fraction, let value = Int(word) { return .int(value) }
        guard !word.isEmpty, let value = Double(word) else { throw wrong("Expecting value") }
        return .number(value)
    }

    private mutating func string() throws -> String {
        at += 1
        var out: [UInt8] = []
        while true {
            guard at < text.count else { throw wrong("Unterminated string") }
            let c = text[at]
            at += 1
            if c == UInt8(ascii: "\"") { break }
            guard c >= 0x20 else { throw wrong("Invalid control character") }
            if c == UInt8(ascii: "\\") { try escape(into: &out) } else { out.append(c) }
        }
        guard let value = String(validating: out, as: UTF8.self) else { throw wrong("invalid UTF-8") }
        return value
    }

    private mutating func escape(into out: inout [UInt8]) throws {
        guard at < text.count else { throw wrong("Unterminated string") }
        let c = text[at]
        at += 1
        let plain: [UInt8: UInt8] = [0x22: 0x22, 0x5c: 0x5c, 0x2f: 0x2f, 0x62: 8, 0x66: 12, 0x6e: 10, 0x72: 13, 0x74: 9]
        if let letter = plain[c] { return out.append(letter) }
        guard c == UInt8(ascii: "u") else { throw wrong("Invalid \\escape") }
        var code = try hex()
        if (0xd800..<0xdc00).contains(code), at + 1 < text.count, text[at] == 0x5c, text[at + 1] == 0x75 {
            let mark = at
            at += 2
            let low = try hex()
            if (0xdc00..<0xe000).contains(low) { code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00) } else { at = mark }
        }
        // Half a surrogate pair cannot be in a Swift string; it becomes the replacement character.
        out += Array(String(Unicode.Scalar(code) ?? "\u{fffd}").utf8)
    }

    private mutating func hex() throws -> UInt32 {
        guard at + 4 <= text.count, let code = UInt32(String(decoding: text[at..<(at + 4)], as: UTF8.self), radix: 16) else {
            throw wrong("Invalid \\uXXXX escape")
        }
        at += 4
        return code
    }

    private func wrong(_ what: String) -> Failure { .value("\(what) at byte \(at)") }
}
