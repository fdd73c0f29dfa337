/// One vector as the album stores it: int8 codes with one scale, and 2-bit residues for re-ranking
/// (FORMAT.md, Vectors).
public struct Quantized: Sendable, Equatable {
    /// Component i is about `scale * codes[i]`.
    public let codes: [Int8]
    public let scale: Float
    /// The rounding errors (residues) in quarters of a step, four to a byte: ceil(d / 4) bytes.
    public let fine: [UInt8]

    /// A zero vector has scale 0.
    public init(_ vector: [Float]) {
        let most = vector.reduce(Float(0)) { max($0, abs($1)) }
        let scale = most / 127, safe = scale > 0 ? scale : 1
        let steps = vector.map { $0 / safe }
        let codes = steps.map { Int8(max(-127, min(127, $0.rounded(.toNearestOrEven)))) }
        var fine = [UInt8](repeating: 0, count: (vector.count + 3) / 4)
        for at in vector.indices {
            let quarter = max(0, min(3, ((steps[at] - Float(codes[at])) * 4 + 2).rounded(.down)))
            fine[at / 4] |= UInt8(quarter) << UInt8(2 * (at % 4))
        }
        (self.codes, self.scale, self.fine) = (codes, scale, fine)
    }
}
