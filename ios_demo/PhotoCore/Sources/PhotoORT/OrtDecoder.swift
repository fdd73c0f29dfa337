import COnnxRuntime
import PhotoCore

/// Runs the ONNX decoder. The past and present caches of each layer are the same memory, so that no token
/// copies the cache (GroupQueryAttention).
final class OrtDecoder: Decoder {
    private(set) var past = 0
    private let session: OrtSession
    private let language: LanguageSpec
    private let vocabulary: Int
    /// key.0, value.0, key.1, …: [1, KV, max_seq, Dh] each.
    private let cache: [(name: String, value: Value)]
    private let sequence: Value
    private let total: Value
    private let last: Value
    private let logits: Value

    init(_ session: OrtSession, _ language: LanguageSpec) throws {
        (self.session, self.language) = (session, language)
        guard let size = session.artifact.outputs.first(where: { $0.name == "logits" })?.shape.last?.fixed else {
            throw Failure.runtime("\(session.artifact.role): no logits of a fixed size: export again")
        }
        guard session.artifact.inputs.allSatisfy({ $0.name != "past_key.0" || $0.dtype == "float32" }) else {
            throw Failure.runtime("\(session.artifact.role): its cache is not float32, which the app reads: export the bundle with --kv-cache fp32")
        }
        vocabulary = size
        let shape = [1, language.kvHeads, language.maxSeq, language.headDim]
        cache = try (0..<language.layers).flatMap { layer in
            try ["key.\(layer)", "value.\(layer)"].map { ($0, try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4, shape)) }
        }
        sequence = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4, [1])
        total = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 4, [1])
        last = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8, [1])
        logits = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4, [1, 1, size])
    }

    /// Empties the cache. The slots need not be cleared: the operator is told the length and reads none
    /// beyond `past`.
    func reset() { past = 0 }

    func restore(_ prefix: Prefix) throws {
        let (kv, dim, tokens) = (language.kvHeads, language.headDim, prefix.ids.count)
        guard prefix.shape == [language.layers, 2, kv, tokens, dim], tokens <= language.maxSeq else {
            throw Failure.runtime("a prefix cache of shape \(prefix.shape) does not fit the decoder: export the bundle again")
        }
        prefix.cache.withUnsafeBufferPointer { kept in
            for (n, layer) in cache.enumerated() {
                for head in 0..<kv {
                    let from = kept.baseAddress! + (n * kv + head) * tokens * dim
                    (layer.value.storage + head * language.maxSeq * dim).update(from: from, count: tokens * dim)
                }
            }
        }
        past = tokens
    }

    func forward(_ embeds: [Float], count: Int) throws -> (logits: [Float], hidden: [Float]) {
        guard past + count <= language.maxSeq else {
            throw Failure.runtime("\(past + count) tokens do not fit the decoder's \(language.maxSeq) cache slots: shorten the prompt")
        }
        sequence.set([Int32(past + count - 1)])
        total.set([Int32(past + count)])
        last.set([Int64(count - 1)])
        let input = try Value(.float(embeds, shape: [1, count, language.hidden]))
        let hidden = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4, [1, count, language.hidden])
        let own = [("embeds", input), ("seqlens_k", sequence), ("total_seq_len", total), ("last", last)]
        var found: [OpaquePointer?] = [logits.pointer, hidden.pointer] + cache.map { $0.value.pointer }
        try session.call(
            own.map(\.0) + cache.map { "past_\($0.name)" }, own.map { $0.1.pointer } + cache.map { $0.value.pointer },
            ["logits", "hidden"] + cache.map { "present_\($0.name)" }, &found)
        withExtendedLifetime(input) {}
        past += count
        return (logits.floats(vocabulary), hidden.floats(count * language.hidden))
    }
}
