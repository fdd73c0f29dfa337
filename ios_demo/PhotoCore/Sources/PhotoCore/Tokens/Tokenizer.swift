import Foundation

/// A tokenizer read from tokenizer.json: text → token ids and back. Byte-level BPE, CLIP's BPE, WordPiece and
/// SentencePiece's unigram models, as Hugging Face's tokenizers run them.
public struct Tokenizer: Sendable {
    private enum Model: Sendable {
        case wordPiece(WordPiece)
        case bytePairs(BytePairs)
        case unigram(Unigram)

        func ids(_ word: Text) -> [Int] {
            switch self {
            case .wordPiece(let model): return model.ids(word)
            case .bytePairs(let model): return model.ids(word)
            case .unigram(let model): return model.ids(word)
            }
        }
    }

    private let normalizer: Normalizer
    private let preTokenizer: PreTokenizer
    private let model: Model
    private let added: AddedTokens
    private let head: [Int]
    private let tail: [Int]
    private let maxLength: Int?
    private let texts: [Int: Text]
    private let special: Set<Int>
    private let isByteLevel: Bool

    /// Raises Failure.runtime for a file that is not a tokenizer, or has a part that is not supported.
    public init(_ path: String) throws {
        do { try self.init(raw: try JSON.read(path)) } catch { throw Failure.runtime("\(path): not a tokenizer (\(error)): export the bundle again") }
    }

    public init(raw: JSON) throws {
        guard let described = raw["model"] else { throw Failure.value("no model") }
        let vocab = Dictionary(
            (described["vocab"]?.members ?? []).compactMap { member in member.value.int.map { (member.name.scalars, $0) } }, uniquingKeysWith: { $1 })
        switch described["type"]?.string {
        case "WordPiece": model = .wordPiece(try WordPiece(described, vocab: vocab))
        case "BPE": model = .bytePairs(try BytePairs(described, vocab: vocab))
        case "Unigram": model = .unigram(try Unigram(described))
        default: throw Failure.value("a model of type \(described["type"]?.string ?? "none")")
        }
        normalizer = try Normalizer(raw["normalizer"])
        preTokenizer = try PreTokenizer(raw["pre_tokenizer"])
        added = AddedTokens(raw["added_tokens"]?.array ?? [], normalizer)
        (head, tail) = try Tokenizer.marks(raw["post_processor"])
        maxLength = raw["truncation"]?["max_length"]?.int
        special = Set(added.tokens.filter(\.isSpecial).map(\.id))
        isByteLevel = raw["decoder"]?["type"]?.string == "ByteLevel"
        let names = vocab.map { ($1, $0) } + added.tokens.map { ($0.id, $0.content) }
        texts = Dictionary(names, uniquingKeysWith: { $1 })
    }

    /// Token ids with the tokenizer's special tokens around them, cut at its length.
    public func encode(_ text: String) -> [Int] { encode(text.scalars) }

    public func encode(_ text: Text, marks: Bool = true) -> [Int] {
        var ids: [Int] = []
        for piece in added.pieces(text, normalizer) {
            switch piece {
            case .token(let id): ids.append(id)
            case .text(let part): for word in preTokenizer(part) { ids += model.ids(word) }
            }
        }
        let around = marks ? head.count + tail.count : 0
        if let maxLength, ids.count > max(0, maxLength - around) { ids = Array(ids[..<max(0, maxLength - around)]) }
        return marks ? head + ids + tail : ids
    }

    /// The text of the ids, without special tokens. Byte-level tokenizers only; incomplete UTF-8 sequences
    /// become the replacement character.
    public func decode(_ ids: [Int]) -> String {
        var bytes: [UInt8] = []
        for id in ids where !special.contains(id) {
            guard let text = texts[id] else { continue }
            bytes += isByteLevel ? ByteAlphabet.unspell(text) ?? text.utf8 : text.utf8
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Every token with its id, those that were added too.
    public func tokens() -> [(token: Text, id: Int)] {
        var own: [(token: Text, id: Int)] = []
        if case .unigram(let model) = model { own = model.pieces().enumerated().map { ($1, $0) } }
        return own + texts.map { ($1, $0) }
    }

    /// The ordinary tokens of a byte-level vocabulary as bytes. Raises Failure.runtime for a tokenizer of
    /// another kind.
    public func byteTokens() throws -> [Int: [UInt8]] {
        guard isByteLevel, case .bytePairs(let model) = model else {
            throw Failure.runtime("constrained output needs a byte-level BPE tokenizer: this model's is of another kind")
        }
        let named = Set(added.tokens.map(\.id))
        var out: [Int: [UInt8]] = [:]
        for (text, id) in model.vocab where !named.contains(id) { out[id] = ByteAlphabet.unspell(text) }
        return out
    }

    /// The special ids before and after those of a single text.
    private static func marks(_ raw: JSON?) throws -> ([Int], [Int]) {
        guard let raw, let type = raw["type"]?.string else { return ([], []) }
        switch type {
        case "ByteLevel": return ([], [])
        case "RobertaProcessing", "BertProcessing": return ([raw["cls"]?[1]?.int].compactMap { $0 }, [raw["sep"]?[1]?.int].compactMap { $0 })
        case "TemplateProcessing":
            var head: [Int] = [], tail: [Int] = [], behind = false
            for item in raw["single"]?.array ?? [] {
                if item["Sequence"] != nil { behind = true }
                guard let name = item["SpecialToken"]?["id"]?.string else { continue }
                let ids = raw["special_tokens"]?[name]?["ids"]?.array?.compactMap(\.int) ?? []
                if behind { tail += ids } else { head += ids }
            }
            return (head, tail)
        case "Sequence":
            let found = try (raw["processors"]?.array ?? []).map { try marks($0) }
            return found.last { !$0.0.isEmpty || !$0.1.isEmpty } ?? ([], [])
        default: throw Failure.value("a tokenizer with the post-processor \(type)")
        }
    }
}
