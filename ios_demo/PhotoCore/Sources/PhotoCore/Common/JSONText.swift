import Foundation

/// Writes JSON values as text, for traces and measurements.
extension JSON {
    /// The value as one line: members in their order, text unescaped where possible, numbers so that they
    /// read back equal.
    public var text: String {
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .number(let value): return value.isFinite ? "\(value)" : "null"
        case .string(let value): return JSON.quoted(value)
        case .array(let items): return "[" + items.map(\.text).joined(separator: ", ") + "]"
        case .object(let members): return "{" + members.map { JSON.quoted($0.name) + ": " + $0.value.text }.joined(separator: ", ") + "}"
        }
    }

    public static func object(_ pairs: KeyValuePairs<String, JSON>) -> JSON { .object(pairs.map { Member($0.key, $0.value) }) }

    public static func optional(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
    public static func optional(_ value: Int?) -> JSON { value.map(JSON.int) ?? .null }
    public static func optional(_ value: Double?) -> JSON { value.map(JSON.number) ?? .null }

    private static func quoted(_ value: String) -> String {
        var out = "\""
        for letter in value.unicodeScalars {
            switch letter {
            case "\"": out += "\\\""
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case _ where letter.value < 0x20: out += String(format: "\\u%04x", letter.value)
            default: out.unicodeScalars.append(letter)
            }
        }
        return out + "\""
    }
}
