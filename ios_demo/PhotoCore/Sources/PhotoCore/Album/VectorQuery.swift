/// A query vector as two int8 layers: `floats` ≈ scale * (first + second / 254).
public struct VectorQuery: Sendable {
    static let depth = 254.0

    public let floats: [Float]
    public let scale: Double
    public let first: [Int8]
    public let second: [Int8]

    public init(_ floats: [Float]) {
        self.floats = floats
        scale = Double(max(floats.max() ?? 0, -(floats.min() ?? 0))) / 127
        let factor = Float(scale > 0 ? 1 / scale : 0)
        let steps = floats.map { $0 * factor }
        let first = steps.map { Int8(clamping: Int($0.rounded(.toNearestOrEven))) }
        second = steps.indices.map { Int8(clamping: Int((steps[$0] - Float(first[$0])) * Float(VectorQuery.depth))) }
        self.first = first
    }
}
