import COnnxRuntime
import Foundation
import PhotoCore

/// The positions that `OrtDecoder.isAlike` computes at once and apart.
private let probed = 3

/// Runs the ONNX decoder. The past and present caches of each layer are the same memory, so that no token
/// copies the cache (GroupQueryAttention).
final class OrtDecoder: Decoder {
    private(set) var held: [Int] = []
    private var alike: Bool?
    private var together = 0
    private let session: OrtSession
    private let language: LanguageSpec
    private let vocabulary: Int
    /// key.0, value.0, key.1, …: [1, KV, max_seq, Dh] each.
    private let cache: [(name: String, value: Value)]
    private let sequence: Value
    private let total: Value

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
    }

    var sure: Int { alike == true ? past : together }

    /// The slots need not be cleared: the operator is told the length and reads none beyond `past`.
    func cut(_ tokens: Int) {
        held.removeSubrange(tokens...)
        together = min(together, tokens)
    }

    func restore(_ prefix: Prefix, tokens: Int) throws {
        let (kv, dim, stored) = (language.kvHeads, language.headDim, prefix.ids.count)
        guard prefix.shape == [language.layers, 2, kv, stored, dim], stored <= language.maxSeq else {
            throw Failure.runtime("a prefix cache of shape \(prefix.shape) does not fit the decoder: export the bundle again")
        }
        prefix.cache.withUnsafeBufferPointer { kept in
            for (n, layer) in cache.enumerated() {
                for head in 0..<kv {
                    let from = kept.baseAddress! + (n * kv + head) * stored * dim
                    (layer.value.storage + head * language.maxSeq * dim).update(from: from, count: tokens * dim)
                }
            }
        }
        (held, together) = (Array(prefix.ids[..<tokens]), tokens)
    }

    func forward(_ embeds: [Float], ids: [Int], last: Int) throws -> (logits: [[Float]], hidden: [Float]) {
        let count = ids.count
        guard past + count <= language.maxSeq else {
            throw Failure.runtime("\(past + count) tokens do not fit the decoder's \(language.maxSeq) cache slots: shorten the prompt")
        }
        sequence.set([Int32(past + count - 1)])
        total.set([Int32(past + count)])
        let places = try Value(.int64((count - last..<count).map(Int64.init), shape: [last]))
        let input = try Value(.float(embeds, shape: [1, count, language.hidden]))
        let logits = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4, [1, last, vocabulary])
        let hidden = try Value(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4, [1, count, language.hidden])
        let own = [("embeds", input), ("seqlens_k", sequence), ("total_seq_len", total), ("last", places)]
        var found: [OpaquePointer?] = [logits.pointer, hidden.pointer] + cache.map { $0.value.pointer }
        try session.call(
            own.map(\.0) + cache.map { "past_\($0.name)" }, own.map { $0.1.pointer } + cache.map { $0.value.pointer },
            ["logits", "hidden"] + cache.map { "present_\($0.name)" }, &found)
        withExtendedLifetime((input, places)) {}
        if together == past && count > 1 { together += count }
        held += ids
        let values = logits.floats(last * vocabulary)
        return ((0..<last).map { Array(values[($0 * vocabulary)..<(($0 + 1) * vocabulary)]) }, hidden.floats(count * language.hidden))
    }

    /// Measured once, on `probed` positions behind those of the cache; false while there is no room for them. A
    /// product of one row is often another kernel's than that of several, and adds up in another order.
    func isAlike() throws -> Bool {
        if alike == nil && past + probed < language.maxSeq {
            let (begin, before, width) = (past, together, language.hidden)
            let rows = (0..<(probed * width)).map { sin(Float($0) * Float($0)) }
            let run = { (part: Range<Int>) in
                try self.forward(Array(rows[(part.lowerBound * width)..<(part.upperBound * width)]), ids: part.map { _ in noToken }, last: part.count)
            }
            let whole = try run(0..<probed)
            cut(begin)
            let first = try run(0..<1), rest = try run(1..<probed)
            cut(begin)
            together = before
            alike = whole.logits == first.logits + rest.logits && whole.hidden == first.hidden + rest.hidden
        }
        return alike == true
    }
}
