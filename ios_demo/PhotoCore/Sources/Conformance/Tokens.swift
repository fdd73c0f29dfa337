import PhotoCore

/// Suites `wordpiece`, `bpe_bytelevel`, `bpe_clip`, `unigram`, `unigram_bytes`: text → token ids, and back where the tokenizer supports
/// it.
enum Tokens {
    static func ready(_ suite: Suite) throws -> Replayed {
        let tokenizer = try Tokenizer(suite.path(try suite.shared.text("tokenizer")))
        return { one in
            let ids = tokenizer.encode(try one.given.text("text"))
            if one.out?["text"] == nil { return .object(["ids": .ints(ids)]) }
            return .object(["ids": .ints(ids), "text": .string(tokenizer.decode(ids))])
        }
    }
}
