/// Numbers with a shape, row by row: what goes into a model and comes out.
public enum Tensor: Sendable {
    case float([Float], shape: [Int])
    case int64([Int64], shape: [Int])
    case bytes([UInt8], shape: [Int])

    public var shape: [Int] {
        switch self {
        case .float(_, let shape), .int64(_, let shape), .bytes(_, let shape): return shape
        }
    }

    /// The values of a float tensor; none of another.
    public var floats: [Float] { if case .float(let values, _) = self { return values } else { return [] } }
}
