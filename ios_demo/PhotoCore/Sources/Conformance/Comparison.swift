import PhotoCore

/// Compares a result with that of the Python reference: floats within a tolerance, all other values exactly.
enum Comparison {
    /// A description of the first difference; nil if the two agree.
    static func difference(_ got: JSON, _ wanted: JSON, _ tolerance: Double, at place: String = "out") -> String? {
        switch (got, wanted) {
        case (.null, .null): return nil
        case (.bool(let a), .bool(let b)) where a == b: return nil
        case (.int(let a), .int(let b)) where a == b: return nil
        case (.string(let a), .string(let b)) where a.unicodeScalars.elementsEqual(b.unicodeScalars): return nil
        case (.array(let a), .array(let b)):
            if a.count != b.count { return "\(place): \(a.count) items where \(b.count) are wanted: \(clip(got)) / \(clip(wanted))" }
            for (n, pair) in zip(a, b).enumerated() { if let found = difference(pair.0, pair.1, tolerance, at: "\(place)[\(n)]") { return found } }
            return nil
        case (.object(let a), .object(let b)):
            let names = Set(a.map(\.name)).symmetricDifference(b.map(\.name))
            if !names.isEmpty { return "\(place): members \(names.sorted().joined(separator: ", ")) on one side only" }
            for member in b { if let found = difference(got[member.name]!, member.value, tolerance, at: "\(place).\(member.name)") { return found } }
            return nil
        case (.int, .int): return "\(place): \(clip(got)) where \(clip(wanted)) is wanted"
        default:
            if let a = got.double, let b = wanted.double, abs(a - b) <= tolerance || a == b || a.isNaN && b.isNaN { return nil }
            return "\(place): \(clip(got)) where \(clip(wanted)) is wanted"
        }
    }

    private static func clip(_ value: JSON) -> String { String(value.text.prefix(160)) }
}
