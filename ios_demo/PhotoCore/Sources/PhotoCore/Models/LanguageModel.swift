import Foundation

/// The result of a generation: token ids without the end token, their text up to a stop string, and why it
/// ended: an end token, a stop string, the maximum of tokens, a full cache, or a complete grammar.
/// `computed`: the prompt positions that were computed rather than taken from a prefix.
public struct Generation: Sendable {
    public let ids: [Int]
    public let text: String
    public let ended: String
    public let promptTokens: Int
    public let computed: Int
}

/// Token table and decoder together: greedy decoding of a prompt (runtime/models/language/llm.py). There is one cache,
/// so only one generation may run at a time.
public final class LanguageModel {
    public let decoder: Decoder
    public let language: LanguageSpec
    private let table: ModelSession
    private let decode: ([Int]) -> String

    public init(embed: ModelSession, decoder: Decoder, language: LanguageSpec, decode: @escaping ([Int]) -> String) {
        (table, self.decoder, self.language, self.decode) = (embed, decoder, language, decode)
    }

    /// Ids → embeddings [S, H], row by row. The table may take one id per call (fixed-shape targets) or many.
    public func embed(_ ids: [Int]) throws -> [Float] {
        if table.artifact.inputs[0].shape[0].fixed == 1 && ids.count > 1 { return try ids.flatMap { try embed([$0]) } }
        return try table.run(["ids": .int64(ids.map(Int64.init), shape: [ids.count])])["embeds"]?.floats ?? []
    }

    /// Runs prefill and decoding to the end. `prefix`: used if the ids begin with its ids. `constraint`: the
    /// grammar of the text, or nil. `cancelled`: called before each token. Raises Failure.runtime if the
    /// prompt does not fit.
    public func generate(
        _ ids: [Int], maxNew: Int, stop: [String] = [], prefix: Prefix? = nil, constraint: Constraint? = nil, cancelled: () -> Bool = { false }
    ) throws -> Generation {
        if ids.isEmpty { throw Failure.runtime("nothing to go on from: the prompt is empty") }
        decoder.reset()
        var known = 0
        // At least one position of the prompt is always computed, because the answer begins from its logits.
        if let prefix, prefix.ids.count < ids.count, ids.starts(with: prefix.ids) {
            try decoder.restore(prefix)
            known = prefix.ids.count
        }
        var logits = try decoder.forward(try embed(Array(ids[known...])), count: ids.count - known).logits
        var said: [Int] = [], text = "", ended = "length"
        for step in 0..<maxNew {
            if cancelled() {
                ended = "cancelled"
                break
            }
            if step > 0 {
                if decoder.past >= language.maxSeq {
                    ended = "full"
                    break
                }
                logits = try decoder.forward(try embed([said[said.count - 1]]), count: 1).logits
            }
            guard let token = try choose(logits, constraint) else {
                ended = "grammar"
                break
            }
            if language.eosIds.contains(token) {
                ended = "end"
                break
            }
            said.append(token)
            text = decode(said)
            let cuts = stop.compactMap { text.scalars.find($0.scalars) }
            if let cut = cuts.min() {
                (text, ended) = (text.scalars.slice(0, cut).string, "stop")
                break
            }
        }
        return Generation(ids: said, text: text, ended: ended, promptTokens: ids.count, computed: ids.count - known)
    }

    /// The likeliest token allowed, or nil if the grammar is complete and allows no more.
    private func choose(_ logits: [Float], _ constraint: Constraint?) throws -> Int? {
        guard let constraint else { return LanguageModel.best(logits, logits.indices) }
        var allowed = constraint.allowed()
        if constraint.isComplete && !allowed.isEmpty { allowed += language.eosIds }
        guard let token = LanguageModel.best(logits, allowed) else { return nil }
        if !language.eosIds.contains(token) { try constraint.advance(token) }
        return token
    }

    /// The id with the greatest value; the first of equal ones.
    private static func best(_ logits: [Float], _ ids: some Sequence<Int>) -> Int? {
        var found: Int?
        for id in ids where found == nil || logits[id] > logits[found!] { found = id }
        return found
    }
}
