import Foundation

/// What a generation ended with: token ids without the end token, their text up to a stop string, and why it ended: an end token, a stop string, the
/// number of tokens asked for, no cache slot left, or a grammar with nothing to add. `computed`: prompt positions that no prefix gave.
public struct Generation: Sendable {
    public let ids: [Int]
    public let text: String
    public let ended: String
    public let promptTokens: Int
    public let computed: Int
}

/// Token table and decoder together: greedy decoding of a prompt (runtime/models/llm.py). It owns one cache, so one generation at a time.
public final class LanguageModel {
    public let decoder: Decoder
    public let language: LanguageSpec
    private let table: ModelSession
    private let decode: ([Int]) -> String

    public init(embed: ModelSession, decoder: Decoder, language: LanguageSpec, decode: @escaping ([Int]) -> String) {
        (table, self.decoder, self.language, self.decode) = (embed, decoder, language, decode)
    }

    /// ids → [S, H] in one row. The table may take one id a call (fixed-shape targets) or many.
    public func embed(_ ids: [Int]) throws -> [Float] {
        if table.artifact.inputs[0].shape[0].fixed == 1 && ids.count > 1 { return try ids.flatMap { try embed([$0]) } }
        return try table.run(["ids": .int64(ids.map(Int64.init), shape: [ids.count])])["embeds"]?.floats ?? []
    }

    /// Prefill, decode and stop. `prefix` is used when the ids begin with its ids. `constraint`: what may be said at all. `cancelled` is asked before each token.
    /// Raises Failure.runtime if the prompt does not fit.
    public func generate(
        _ ids: [Int], maxNew: Int, stop: [String] = [], prefix: Prefix? = nil, constraint: Constraint? = nil, cancelled: () -> Bool = { false }
    ) throws -> Generation {
        if ids.isEmpty { throw Failure.runtime("nothing to go on from: the prompt is empty") }
        decoder.reset()
        var known = 0
        // At least one position is always computed: its logits are where the answer begins.
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

    /// The likeliest token, or nil when the grammar is complete and leaves nothing to say.
    private func choose(_ logits: [Float], _ constraint: Constraint?) throws -> Int? {
        guard let constraint else { return LanguageModel.best(logits, logits.indices) }
        var allowed = constraint.allowed()
        if constraint.isComplete && !allowed.isEmpty { allowed += language.eosIds }
        guard let token = LanguageModel.best(logits, allowed) else { return nil }
        if !language.eosIds.contains(token) { try constraint.advance(token) }
        return token
    }

    /// The first of the greatest among `ids`.
    private static func best(_ logits: [Float], _ ids: some Sequence<Int>) -> Int? {
        var found: Int?
        for id in ids where found == nil || logits[id] > logits[found!] { found = id }
        return found
    }
}
