/// Text → unit vectors, with the bundle's tokenizer and text tower (runtime/models/text.py). `prompts`: words
/// that the tower gets before a query, and before a memory or a name.
public final class TextEncoder {
    private let session: ModelSession
    private let tokenizer: Tokenizer
    private let prompts: TextPrompts
    public let maxTokens: Int

    public init(_ session: ModelSession, _ tokenizer: Tokenizer, _ prompts: TextPrompts) {
        (self.session, self.tokenizer, self.prompts) = (session, tokenizer, prompts)
        maxTokens = TextEncoder.fixed(session) ?? 128
    }

    /// The vector of a memory or a name, of length 1; the text is cut at `maxTokens`. One text per call: int8
    /// activations are scaled per call, so in a batch a text's vector would depend on the other texts.
    public func encode(_ text: String) throws -> [Float] { try vector(prompts.memory + text) }

    /// The vector of a query; with an `adapter` its v_Q, near to the photos that are meant.
    public func encodeQuery(_ query: String, _ adapter: QueryAdapter? = nil) throws -> [Float] { try vector(prompts.query + query, adapter) }

    /// The tokenizer's tokens with their ids: the commoner, the less.
    func vocabulary() -> [(token: Text, id: Int)] { tokenizer.tokens() }

    /// The whole words of the vocabulary in lower case, with their ids.
    private(set) lazy var words = TextEncoder.wholeWords(vocabulary())

    /// The whole words of a tokenizer's tokens in lower case, with their ids: the commoner, the less.
    static func wholeWords(_ vocabulary: [(token: Text, id: Int)]) -> [Text: Int] {
        var ids: [Text: Int] = [:]
        for (token, id) in vocabulary {
            let word = (token.has(suffix: "</w>") ? Array(token.dropLast(4)) : token).strippedStart { $0 == "\u{120}" || $0 == "\u{2581}" }.lowered()
            if !word.isEmpty, word.allSatisfy(\.isAlpha) { ids[word] = min(id, ids[word] ?? id) }
        }
        return ids
    }

    private func vector(_ text: String, _ adapter: QueryAdapter? = nil) throws -> [Float] {
        try TextEncoder.embed(session, Array(tokenizer.encode(text).prefix(maxTokens)), adapter)
    }

    /// Token ids → unit vector. For a tower of fixed shape they are padded, and cut at its length.
    static func embed(_ session: ModelSession, _ ids: [Int], _ adapter: QueryAdapter? = nil) throws -> [Float] {
        let width = fixed(session) ?? max(1, ids.count)
        var tokens = [Int64](repeating: 0, count: width), mask = tokens
        for (at, id) in ids.prefix(width).enumerated() { (tokens[at], mask[at]) = (Int64(id), 1) }
        var inputs: [String: Tensor] = ["input_ids": .int64(tokens, shape: [1, width]), "attention_mask": .int64(mask, shape: [1, width])]
        if let taken = QueryAdapter.shape(of: session.artifact) {
            // Zeros read a text as a memory.
            inputs[QueryAdapter.input] = adapter?.values ?? .float([Float](repeating: 0, count: taken.reduce(1, *)), shape: taken)
        }
        let out = try session.run(inputs)
        return TextEncoder.unit(out["embedding"]?.floats ?? [])
    }

    /// The number of tokens that a tower of fixed shape takes.
    private static func fixed(_ session: ModelSession) -> Int? { session.artifact.inputs[0].shape.dropFirst().first?.fixed }

    /// A vector of length 1 in the same direction.
    static func unit(_ vector: [Float]) -> [Float] {
        let length = vector.reduce(Float(0)) { $0 + $1 * $1 }.squareRoot(), safe = Float(max(Double(length), 1e-12))
        return vector.map { $0 / safe }
    }

    /// A long text as overlapping windows of words, each of which fits the tower; a short text unchanged.
    public static func chunks(_ text: Text, words: Int = 80, overlap: Int = 16) -> [Text] {
        let parts = text.words()
        if parts.count <= words { return [text] }
        return stride(from: 0, to: max(1, parts.count - overlap), by: words - overlap).map { Text.join(Array(parts[$0..<min($0 + words, parts.count)]), " ") }
    }
}
