/// The vectors of the channels of trained experts (paper section 3.3).
extension Models {
    private static let queryHead = "dpe_query"

    /// The channels of the bundle whose queries this program can make: a decoder's state at [EOS] it cannot.
    public var askedChannels: [Channel] { manifest.channels.filter { $0.query == "text" } }

    /// v_I, of length 1: the mean of a photo's soft prompts over its patches. The paper does not say how it
    /// pools. Raises Failure.bundle for an image tower without patches.
    public func photoVector(_ code: ImageCode) throws -> [Float] {
        guard !code.patches.isEmpty else { throw Failure.bundle("\(bundle): its image tower gives no patches, which its experts need: export it again") }
        let made = try project(code)
        return TextEncoder.unit(Models.mean(made.prompts, rowsOf: made.shape.last ?? 1))
    }

    /// v_Q, of length 1, for a channel whose queries are the text tower's. `vector`: the refined query's by
    /// that tower.
    public func queryVector(_ vector: [Float]) throws -> [Float] {
        guard manifest.components.contains(where: { $0.role == Models.queryHead }) else { return TextEncoder.unit(vector) }
        let out = try session(Models.queryHead).run(["state": .float(vector, shape: [1, vector.count])])
        return TextEncoder.unit(out["vector"]?.floats ?? [])
    }

    private static func mean(_ values: [Float], rowsOf side: Int) -> [Float] {
        var sum = [Float](repeating: 0, count: side)
        for (at, value) in values.enumerated() { sum[at % side] += value }
        let rows = Float(max(values.count / side, 1))
        return sum.map { $0 / rows }
    }
}
