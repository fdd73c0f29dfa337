import Foundation

/// The shipped prefix cache: the decoder's keys and values for a prompt's fixed beginning, so that a query
/// computes only its own tokens (runtime/models/language/prefix.py).
///
/// A cache made from other weights, another prompt or another tokenizer is refused, because it would not be
/// the cache of this prompt.
public struct Prefix: Sendable {
    /// Token ids of the fixed beginning.
    public let ids: [Int]
    /// Keys and values, [layers, 2, KV, ids, Dh], row by row.
    public let cache: [Float]
    public let shape: [Int]

    private static let place = Pattern(#"\{(query|notes)\}"#)

    /// A prompt template → its fixed beginning, and the rest from the first placeholder on. Raises
    /// Failure.bundle for one without {query}.
    public static func split(_ prompt: String) throws -> (fixed: Text, rest: Text) {
        let text = prompt.scalars
        guard let first = place.search(text), text.find("{query}".scalars) != nil else {
            throw Failure.bundle("the bundle's prompt \(text.slice(0, 40).quoted) has no {query}: export it again")
        }
        return (Array(text[..<first.start]), Array(text[first.start...]))
    }

    /// A prompt's token ids: those of its fixed beginning, and those of the rest with placeholders filled in.
    /// The two parts are always tokenized apart, so a cache changes no token. Placeholders are filled in one
    /// pass: the name of one inside a value is not replaced.
    public static func encode(_ tokenizer: Tokenizer, _ prompt: String, query: String, notes: String = "") throws -> (fixed: [Int], rest: [Int]) {
        let (fixed, rest) = try split(prompt)
        let filled = place.replacing(rest) { $0[1] == "query".scalars ? query.scalars : notes.scalars }
        return (tokenizer.encode(fixed), tokenizer.encode(filled))
    }

    /// SHA-256 over all inputs of a cache: the hashes of the decoder's and the token table's files, and the
    /// token ids.
    public static func madeFrom(decoder: String, embed: String, ids: [Int]) -> String {
        var sha = SHA256()
        for hash in [decoder, embed] { sha.update(unhex(hash)) }
        for id in ids { sha.update(littleEndian(Int64(id))) }
        return sha.hexDigest()
    }

    private static func unhex(_ text: String) -> [UInt8] {
        let digits = Array(text.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16) ?? 0 }
    }

    /// The prefix of the prompt called `prompt`, whose fixed ids are `ids`; nil if the bundle has none for
    /// this target. Raises Failure.bundle.
    public static func load(_ bundle: String, _ manifest: Manifest, target: String, prompt: String, ids: [Int]) throws -> Prefix? {
        guard let entry = manifest.prefixes.first(where: { $0.prompt == prompt && $0.target == target }) else { return nil }
        let made = madeFrom(
            decoder: try manifest.artifact("llm_decoder", target).file.sha256, embed: try manifest.artifact("llm_embed", target).file.sha256, ids: ids)
        guard entry.madeFrom == made else {
            throw Failure.bundle("\(bundle)/\(entry.file.path): made from other weights or another prompt than the bundle's: export the bundle again")
        }
        let path = try ManifestReader.checkOne(bundle, entry.file)
        let array: NumpyFile
        do { array = try NumpyFile([UInt8](Data(contentsOf: URL(fileURLWithPath: path)))) } catch {
            throw Failure.bundle("\(path): no array (\("\(error)".prefix(80))): export the bundle again")
        }
        let s = try manifest.decoder(), wanted = [s.layers, 2, s.kvHeads, ids.count, s.headDim]
        guard array.dtype == "<f4", array.shape == wanted else {
            let kind = ["<f4": "float32", "<f8": "float64"][array.dtype] ?? array.dtype
            throw Failure.bundle("\(path): \(kind) \(array.shape), the decoder wants float32 \(wanted): export the bundle again")
        }
        return Prefix(ids: ids, cache: array.values, shape: array.shape)
    }
}
