import Foundation

/// The result of a generation: token ids without the end token, their text up to a stop string, and why it
/// ended: an end token, a stop string, the maximum of tokens, a full cache, or a complete grammar.
/// `computed`: the prompt positions that were not known from an earlier request or a prefix. `drafted`: tokens that
/// were guessed and read ahead; `right`: those of them that were then chosen.
public struct Generation: Sendable {
    public let ids: [Int]
    public let text: String
    public let ended: String
    public let computed: Int
    public let drafted: Int
    public let right: Int
}

/// Token table and decoder together: greedy decoding of a prompt (runtime/models/language/llm.py). There is one cache,
/// so only one generation may run at a time. What the last request computed of a prompt is not computed again, and
/// several tokens may come of one step: neither changes a token.
public final class LanguageModel {
    /// The tokens of a prompt that are always computed: a product of one row may add up in another order than one of
    /// several.
    private static let leastComputed = 2

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

    /// Runs prefill and decoding to the end. `prefix`: used as far as the ids begin with its ids. `constraint`: the
    /// grammar of the text, or nil. `plain`: computes every position of the prompt, and one token a step: the
    /// reference for what is faster. Raises Failure.runtime if the prompt does not fit.
    public func generate(
        _ ids: [Int], maxNew: Int, stop: [String] = [], prefix: Prefix? = nil, constraint: Constraint? = nil, plain: Bool = false
    ) throws -> Generation {
        if ids.isEmpty { throw Failure.runtime("nothing to go on from: the prompt is empty") }
        let known = try known(ids, prefix, most: plain ? 0 : max(0, ids.count - LanguageModel.leastComputed)), rest = Array(ids[known...])
        let begun = try decoder.forward(try embed(rest), ids: rest, last: 1).logits[0]
        var ahead = Ahead(decoder, slots: language.maxSeq, begun: begun, drafts: plain ? nil : Drafts(ids)) { try self.embed($0) }
        var said: [Int] = [], text = "", ended = "length"
        while said.count < maxNew {
            guard ahead.hasRoom(said.count) else {
                ended = "full"
                break
            }
            guard let token = try choose(&ahead, said, constraint, plain) else {
                ended = "grammar"
                break
            }
            if language.eosIds.contains(token) {
                ended = "end"
                break
            }
            try constraint?.advance(token)
            said.append(token)
            text = decode(said)
            let cuts = stop.compactMap { text.scalars.find($0.scalars) }
            if let cut = cuts.min() {
                (text, ended) = (text.scalars.slice(0, cut).string, "stop")
                break
            }
        }
        ahead.end(said)
        return Generation(ids: said, text: text, ended: ended, computed: rest.count, drafted: ahead.drafted, right: ahead.right)
    }

    /// Makes the decoder hold the longest known beginning of the prompt, its own cache's or the prefix's, of at most
    /// `most` tokens, and nothing else; returns its length. Only slots with the very numbers that the request would
    /// compute itself are taken.
    private func known(_ ids: [Int], _ prefix: Prefix?, most: Int) throws -> Int {
        var own = min(common(ids, decoder.held), most)
        if try own > decoder.sure && !decoder.isAlike() { own = decoder.sure }
        if let prefix, case let stored = min(common(ids, prefix.ids), most), stored > own {
            try decoder.restore(prefix, tokens: stored)
            return stored
        }
        decoder.cut(own)
        return own
    }

    /// The likeliest token allowed, or nil if the grammar is complete and allows no more.
    private func choose(_ ahead: inout Ahead, _ said: [Int], _ constraint: Constraint?, _ plain: Bool) throws -> Int? {
        guard let constraint else {
            let logits = try ahead.logits(said)
            return LanguageModel.best(logits, logits.indices)
        }
        var allowed = constraint.allowed()
        if constraint.isComplete && !allowed.isEmpty { allowed += language.eosIds }
        if allowed.isEmpty { return nil }
        // Where the grammar leaves one, its logits do not matter: it is read with the tokens after it.
        if try allowed.count == 1 && !plain && decoder.isAlike() { return allowed[0] }
        return LanguageModel.best(try ahead.logits(said), allowed)
    }

    /// The id with the greatest value; the first of equal ones.
    private static func best(_ logits: [Float], _ ids: some Sequence<Int>) -> Int? {
        var found: Int?
        for id in ids where found == nil || logits[id] > logits[found!] { found = id }
        return found
    }
}
