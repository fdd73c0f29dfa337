/// An input or output of a model: numbers, row by row, with a shape.
public enum Tensor: Sendable {
    case float([Float], shape: [Int])
    case int64([Int64], shape: [Int])
    case bytes([UInt8], shape: [Int])

    public var shape: [Int] {
        switch self {
        case .float(_, let shape), .int64(_, let shape), .bytes(_, let shape): return shape
        }
    }

    /// The values of a float tensor; empty for another type.
    public var floats: [Float] { if case .float(let values, _) = self { return values } else { return [] } }
}
