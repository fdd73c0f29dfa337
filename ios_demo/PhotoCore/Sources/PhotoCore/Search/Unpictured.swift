/// Words of a query that the bundle's image encoder does not know, if it only knows named classes (runtime/search/unpictured.py).
/// Such a word is searched in pictures by the classes that are like it; one like none of them finds pictures by chance alone.
enum Unpictured {
    private static let known: Float = 0.6  // cosine with a class's name
    private static let mostSaid = 24  // letters of a word
    private static let ends: [(end: String, one: String)] = [("", ""), ("s", ""), ("es", ""), ("ies", "y")]

    /// The words of an English query without its cues, if pictures can be searched for none of them; else none.
    static func words(_ text: Text, _ models: Models) throws -> [Text] {
        let terms = Words.queryTerms(text), labels = try models.labels.get()
        if labels.isEmpty || terms.isEmpty { return [] }
        let forms = forms(terms), encoder = try models.text()
        if labels.contains(where: { Words.queryTerms($0.scalars).contains(where: forms.contains) }) { return [] }
        let words = Set(terms).union(forms.filter { encoder.words[$0] != nil })
        for word in words {
            let vector = try encoder.encode(word.string)
            for name in try models.labelVectors() where zip(name, vector).reduce(Float(0), { $0 + $1.0 * $1.1 }) >= known { return [] }
        }
        return terms
    }

    /// What to say of such words; of several that may be no English ones, that other languages need tables.
    static func remark(_ words: [Text], _ models: Models) throws -> Remark {
        let known = try models.text().words, unknown = words.filter { known[$0] == nil }.count  // so is "giraffe"
        let isForeign = 2 * unknown >= max(4, words.count) && !GlossReader.isThere(models)
        return Remark(code: isForeign ? .unpicturedForeign : .unpictured, text: Text.join(words.prefix(4).map { $0.slice(0, mostSaid) }, " "))
    }

    /// The terms, and what they may be the plurals of.
    private static func forms(_ terms: [Text]) -> Set<Text> {
        var out = Set<Text>()
        for term in terms {
            for (end, one) in ends where term.has(suffix: end) && term.string != end && !(end == "s" && term.has(suffix: "ss")) {
                out.insert(term.slice(0, term.count - end.count) + one.scalars)
            }
        }
        return out
    }
}
