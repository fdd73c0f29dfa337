extension Refine {
    /// (Q̂, "llm"), or (`plain`, "llm (rejected: reason)") if the model's answer fails the checks.
    static func byModel(_ models: Models, _ query: Text, _ plain: Text, _ context: Context) throws -> (Text, String) {
        let (ids, prefix) = try models.prompt("refine", query: clean(query, 300).string, notes: context.notes())
        if ids.count + maxNew > (try models.manifest.decoder().maxSeq) { return (plain, "llm (rejected: the query is too long)") }
        let said = try models.languageModel().generate(ids, maxNew: maxNew, stop: ["\n"], prefix: prefix)
        let text = tidied(said.text), against = objection(text, query: query, plain: plain, context)
        return against.isEmpty ? (text, "llm") : (plain, "llm (rejected: \(against))")
    }
}
