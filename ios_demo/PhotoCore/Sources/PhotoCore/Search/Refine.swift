/// Layer 2's first half: Q → Q̂ (runtime/search/refine.py). "fast" takes the understood cues and the filler out; "llm" asks the bundle's language model, whose
/// answer is checked here: a small model cannot be trusted to ignore what stands in a memory.
public enum Refine {
    public static let modes = ["off", "fast", "llm"]
    static let maxNew = 32
    private static let maxAdded = 8  // words that a refinement without context may add

    private static let filler = Pattern(
        #"^\s*(please\s+)?((show|find|get|give)\s+(me\s+)?)?((the|a|an|my|some|all)\s+)*"#
            + #"(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)\s+((of|with|from|where|when|that|which|showing)\s+)*"#, ignoringCase: true)
    private static let bare = Pattern(
        #"^\s*((the|a|an|my|our|some|all)\s+)*(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)(\s+(of|with|from|in|at|on))*\s*$"#,
        ignoringCase: true)
    private static let tail = Pattern(#"\b(that|which)?\s*(i|we)\s+(took|photographed|shot|snapped|captured|made)\b"#, ignoringCase: true)
    private static let space = Pattern(#"\s+"#)
    private static let word = Pattern(#"\w{3,}"#)
    private static let common = Set(
        ("the and for with from that this photo picture image photos pictures last time show find where when was were are our his her").scalars.words())

    /// The query without its cue words (already out of `rest`), its "photos of" and its "that I took"; never empty.
    public static func fast(_ rest: Text) -> Text {
        let text = space.replacing(tail.replacing(filler.replacing(rest, with: ""), with: " "), with: " ").stripped { " ,.;:?!".unicodeScalars.contains($0) }
        return text.isEmpty ? rest : text
    }

    /// Whether what the cues left of a query names no content ("photos", of "photos from 2019"): every photo is one.
    public static func saysNothing(_ text: Text) -> Bool { bare.replacing(text, with: "").isEmpty }

    /// One line without control characters, angle brackets and braces (every turn marker and quotation of the prompts has them).
    public static func clean(_ text: Text, _ limit: Int) -> Text {
        let letters = text.slice(0, 4 * limit).map { "<>{}".unicodeScalars.contains($0) || $0.isOtherOrSeparator ? " " : $0 }
        return space.replacing(letters, with: " ").stripped().slice(0, limit).stripped()
    }

    /// Lower-cased words of three letters or more, cut to a stem of five, without the commonest.
    public static func contentWords(_ text: Text) -> Set<Text> {
        Set(word.all(text.lowered()).map(\.whole).filter { !common.contains($0) }.map { Array($0.prefix(5)) })
    }

    /// What the album knows and the model may see: entity names, most fitting first.
    public struct Context: Sendable, Equatable {
        public var names: [Text] = []

        public init(names: [Text] = []) { self.names = names }

        /// The context that a query gets of an album's entity names: those that share a content word with it ("Tom" → "Tom Miller").
        public static func fitting(_ names: [Text], _ query: Text) -> Context {
            let words = contentWords(query)
            return Context(names: Array(names.filter { !contentWords($0).isDisjoint(with: words) }.prefix(8)))
        }

        /// The names that are quoted. What runs to more words than a name has is a sentence that somebody called a name.
        func known() -> [Text] {
            Array(names.map { clean($0, 41) }.filter { !$0.isEmpty && $0.count <= 40 && $0.words().count <= 4 }.prefix(8))
        }

        /// The quotation for the prompt: one line; "" when there is nothing to quote.
        public func notes() -> String {
            let names = known().map(\.string).joined(separator: ", ")
            return names.isEmpty ? "" : "<notes>\(names)</notes>\n"
        }
    }

    /// Why `text` is no refinement of `query`; "" when it is one.
    public static func objection(_ text: Text, query: Text, plain: Text, _ context: Context) -> String {
        if text.isEmpty || text.count > 200 || !text.isPrintable { return "no short line of text" }
        func listed(_ words: Set<Text>) -> String { words.sorted { $0.lexicographicallyPrecedes($1) }.map(\.string).joined(separator: ", ") }
        let said = contentWords(text), lost = contentWords(plain).subtracting(said)
        if !lost.isEmpty { return "\(text.quoted) drops \(listed(lost))" }
        let added = said.subtracting(contentWords(query))
        if context == Context() { return added.count > maxAdded ? "\(text.quoted) adds \(added.count) words" : "" }
        let strange = added.subtracting(contentWords(Text.join(context.known(), " ")))
        return strange.isEmpty ? "" : "\(text.quoted) adds \(listed(strange)), which neither the query nor a name says"
    }

    /// What the model said, tidied: spaces to one, quotes off.
    static func tidied(_ said: String) -> Text { space.replacing(said.scalars, with: " ").stripped { $0 == " " || $0 == "\"" } }
}
