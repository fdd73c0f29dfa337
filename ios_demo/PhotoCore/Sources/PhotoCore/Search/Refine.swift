/// Refines a query: Q → Q̂, the first half of layer 2 (runtime/search/stages/refine.py). "fast" removes the
/// understood cues and filler words; "llm" asks the bundle's language model. Its answer is checked, because a
/// small model cannot be trusted to ignore instructions in the names it is shown.
public enum Refine {
    public static let modes = ["off", "fast", "llm"]
    static let maxNew = 32
    private static let maxAdded = 8  // words that a refinement without context may add

    private static let request = Pattern(
        #"^\s*((please|hey|hi|ok|okay)[\s,]{1,3}){0,2}((can|could|would|will)\s+(you|i|we)\s+(please\s+)?)?"#
            + #"((show|find|get|give|bring|fetch)\s+(me|us)\s+|(find|see|show)\s+(?=(a|an|the|my|our|any|all|some|that|photos|pictures|pics|images)\s)|"#
            + #"(i'm|i\s+am)\s+(looking|searching)\s+for\s+|search\s+for\s+(?=(a|an|the|my|our|any|all|photos|pictures)\s)|"#
            + #"i\s+want\s+to\s+see\s+)"#, ignoringCase: true)
    private static let commaPlease = Pattern(#"\s{0,3},\s{0,3}(please|thanks|thank\s{1,3}you)[\s.!?]{0,5}$"#, ignoringCase: true)
    private static let please = Pattern(#"[\s,]{1,3}(please|thanks|thank\s{1,3}you)[\s.!?]{0,5}$"#, ignoringCase: true)
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

    /// The query without filler ("photos of", "that I took"); never empty. `rest`: the query without its cue
    /// words.
    public static func fast(_ rest: Text) -> Text {
        let wanted = request.replacing(rest, with: "")
        let asked = filler.replacing((wanted == rest ? commaPlease : please).replacing(wanted, with: ""), with: "")
        let text = space.replacing(tail.replacing(asked, with: " "), with: " ").stripped { " ,.;:?!".unicodeScalars.contains($0) }
        return text.isEmpty ? rest : text
    }

    /// Whether the text, a query without its cues, names no content, such as "photos" of "photos from 2019".
    public static func saysNothing(_ text: Text) -> Bool { bare.replacing(text, with: "").isEmpty }

    /// The text as one line, without control characters, <, >, { and }. Every turn marker and quotation of
    /// the prompts contains one of these.
    public static func clean(_ text: Text, _ limit: Int) -> Text {
        let letters = text.slice(0, 4 * limit).map { "<>{}".unicodeScalars.contains($0) || $0.isOtherOrSeparator ? " " : $0 }
        return space.replacing(letters, with: " ").stripped().slice(0, limit).stripped()
    }

    /// Lower-cased words of at least three letters, cut to a stem of five, without the commonest.
    public static func contentWords(_ text: Text) -> Set<Text> {
        Set(word.all(text.lowered()).map(\.whole).filter { !common.contains($0) }.map { Array($0.prefix(5)) })
    }

    /// What the language model is shown of the album: entity names, best match first.
    public struct Context: Sendable, Equatable {
        public var names: [Text] = []

        public init(names: [Text] = []) { self.names = names }

        /// The context for a query: the entity names that share a content word with it ("Tom" → "Tom
        /// Miller").
        public static func fitting(_ names: [Text], _ query: Text) -> Context {
            let words = contentWords(query)
            return Context(names: Array(names.filter { !contentWords($0).isDisjoint(with: words) }.prefix(8)))
        }

        /// The names that are quoted. Text with more words than a name has is taken for a sentence that was
        /// entered as a name.
        func known() -> [Text] {
            Array(names.map { clean($0, 41) }.filter { !$0.isEmpty && $0.count <= 40 && $0.words().count <= 4 }.prefix(8))
        }

        /// The notes for the prompt: one line; "" if there is nothing to quote.
        public func notes() -> String {
            let names = known().map(\.string).joined(separator: ", ")
            return names.isEmpty ? "" : "<notes>\(names)</notes>\n"
        }
    }

    /// Why `text` is not acceptable as a refinement of `query`; "" if it is.
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

    /// The model's answer as one line, with single spaces and without quotation marks.
    static func tidied(_ said: String) -> Text { space.replacing(said.scalars, with: " ").stripped { $0 == " " || $0 == "\"" } }
}
