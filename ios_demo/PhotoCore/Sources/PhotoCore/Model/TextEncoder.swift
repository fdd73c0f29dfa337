/// Text → unit vectors, through the bundle's tokenizer and text tower (runtime/text.py).
public final class TextEncoder {
    private let session: ModelSession
    private let tokenizer: Tokenizer
    private let fixed: Int?
    public let maxTokens: Int

    public init(_ session: ModelSession, _ tokenizer: Tokenizer) {
        (self.session, self.tokenizer) = (session, tokenizer)
        fixed = session.artifact.inputs[0].shape.dropFirst().first?.fixed
        maxTokens = fixed ?? 128
    }

    /// One vector, each text cut at `maxTokens`. One text a call: int8 activations are scaled per call, so that in a batch a text's vector would depend
    /// on its neighbours.
    public func encode(_ text: String) throws -> [Float] {
        let ids = Array(tokenizer.encode(text).prefix(maxTokens)), width = fixed ?? max(1, ids.count)
        var tokens = [Int64](repeating: 0, count: width), mask = tokens
        for (at, id) in ids.prefix(width).enumerated() { (tokens[at], mask[at]) = (Int64(id), 1) }
        let out = try session.run(["input_ids": .int64(tokens, shape: [1, width]), "attention_mask": .int64(mask, shape: [1, width])])
        return TextEncoder.unit(out["embedding"]?.floats ?? [])
    }

    /// A vector of length 1 in the same direction.
    static func unit(_ vector: [Float]) -> [Float] {
        let length = vector.reduce(Float(0)) { $0 + $1 * $1 }.squareRoot(), safe = Float(max(Double(length), 1e-12))
        return vector.map { $0 / safe }
    }

    /// A long text as overlapping windows of words (each fits the tower); a short one as it is.
    public static func chunks(_ text: Text, words: Int = 80, overlap: Int = 16) -> [Text] {
        let parts = text.words()
        if parts.count <= words { return [text] }
        return stride(from: 0, to: max(1, parts.count - overlap), by: words - overlap).map { Text.join(Array(parts[$0..<min($0 + words, parts.count)]), " ") }
    }
}
