/// Cues that the language model quotes from a query in which the rules read none (runtime/cues/quoted.py):
/// substrings of the query, "" where the model quotes nothing. The model cannot invent: a grammar over the
/// words of the query excludes every token that would leave the query.
public struct QuotedCues: Sendable {
    public let time: String
    public let place: String
    public let text: String

    private static let maxNew = 96
    private static let split = Pattern(#"["\\<>{}\x00-\x1f\x7f-\x9f\ufffd]|\s{2,}|[^\S ]"#)

    /// The parts of the query that may be quoted.
    static func pieces(_ query: Text) -> [Text] {
        let text = query.slice(0, 300)
        var out: [Text] = [], last = 0
        for found in split.all(text) {
            out.append(Array(text[last..<found.start]))
            last = found.end
        }
        out.append(Array(text[last...]))
        return out.map { $0.stripped() }.filter { !$0.isEmpty }
    }

    /// The quotes that the bundle's language model gives. nil if the query has no word, the prompt does not
    /// fit the decoder's cache, no grammar can hold the model, or the generation stopped before its end. Raises
    /// Failure.bundle for a bundle without this prompt.
    public static func ask(_ models: Models, _ query: Text) throws -> QuotedCues? {
        let spans = pieces(query)
        if spans.isEmpty { return nil }
        guard let vocabulary = try models.heldVocabulary() else { return nil }
        let (ids, prefix) = try models.prompt("cues", query: Text.join(spans, " ").string)
        if ids.count + maxNew > (try models.manifest.decoder().maxSeq) { return nil }
        var grammar = Grammar()
        for (n, name) in ["time", "place", "text"].enumerated() {
            grammar.literal((n == 0 ? "{" : "\",") + "\"\(name)\":\"")
            grammar.span(of: spans)
        }
        grammar.literal("\"}")
        grammar.done()
        let constraint = Constraint(grammar, vocabulary)
        let said = try models.languageModel().generate(ids, maxNew: maxNew, prefix: prefix, constraint: constraint)
        guard constraint.isComplete else { return nil }
        let found = try JSON.parse(said.ids.flatMap { vocabulary.bytesOf[$0] ?? [] })
        let (time, place, text) = (found["time"]?.string ?? "", found["place"]?.string ?? "", found["text"]?.string ?? "")
        return QuotedCues(time: overlap(time, text) ? "" : time, place: overlap(place, text) ? "" : place, text: text)
    }

    /// Whether a time or place contains the text or is part of it. A small model without an answer repeats
    /// the question.
    private static func overlap(_ value: String, _ text: String) -> Bool {
        !text.isEmpty && (text.scalars.find(value.scalars) != nil || value.scalars.find(text.scalars) != nil)
    }
}
