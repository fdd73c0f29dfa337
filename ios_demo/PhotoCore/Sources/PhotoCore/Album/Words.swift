/// English word lists and word rules that entity extraction and text search share (index/entities/words.py).
/// Words of other languages pass unchanged.
public enum Words {
    static let word = Pattern(#"[^\W_]+(?:['’\-][^\W_]+)*"#)

    static func list(_ text: String) -> Set<Text> { Set(text.scalars.words()) }

    static let stop = list(
        """
        a about above after again against all also am an and any are aren't as at be because been before being below between both but by can can't
        cannot could couldn't did didn't do does doesn't doing don't down during each few for from further had hadn't has hasn't have haven't
        having he her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let let's me more most
        much my myself no nor not now of off on once only or other our ours ourselves out over own same she should shouldn't so some such than
        that that's the their theirs them themselves then there there's these they they're they've this those through to too under until up upon
        us very was wasn't we we'd we'll we're we've were weren't what what's when where which while who who's whom why will with won't would
        wouldn't yes you you'd you'll you're you've your yours yourself yourselves
        """)

    /// Frequent words that name no entity: common verbs, adverbs, adjectives of praise, words about pictures.
    static let notEntities = stop.union(verbs).union(list(
        """
        able absolutely across actually add added almost along already although always amazing another anyone anything anyway appear appears
        around ask asked away awesome back bad beautiful became become began behind best better big bit bright bring brought call called came
        captured capturing capture casual catch caught certainly check clear clearly close come comes coming cool couple currently cute day days
        definitely despite different directly done either else enjoy enjoyed enjoying enough especially even ever every everyone everything
        exactly excited exciting expression face faces far feel feeling feels felt fine find first focus found front full fun funny gave general
        get gets getting give given giving glad go goes going gone gonna good got great guess guy guys haha happened happening happy hard hear
        heard hello help hey hi hope hoping huge image interesting keep kind kinda knew know known large last later least left less lets like
        liked likely little lol long look looked looking looks lot lots love loved lovely made make makes making many may maybe mean might mine
        moment moments must near need needs never new next nice nicely none nothing often oh ok okay old one ones onto others part people perfect
        perfectly perhaps photo photos picture pictures place pretty probably put quick quite rather ready real really remember right said saw say
        says scene see seeing seem seemed seems seen sense set several shall shot shots show showed showing shows side simple simply since
        slightly small smile snapped someone something sometimes soon sorry sort sounds standing start started still stuff suggest suggesting
        suggests super sure take taken takes taking talk tell thank thanks thing things think thinking thought three time times today together
        told tomorrow tonight took top totally toward towards tried truly try trying turn turned two uh um use used using usually vibe view
        visible wait want wanted wanting wants warm was way ways well went whatever whether whole without wonderful wonder work worked working wow
        yeah year years yesterday yet young doing captures creating create feature featuring filled lively overlooking appear partially various
        within background foreground left-hand right-hand center middle also there here night morning afternoon evening week weekend month
        """))

    /// Verbs of memories that are no nouns too: they relate entities and name none.
    static let verbs = list(
        """
        ate bought brings bring broke built buy buys carried carries climbed cooked cost costs drank drove eat eats fed flew found gave gets gives
        grew held holds leads led lies lit lives loves made makes meets met ordered owns paid pays played plays ran rode sang sat sells sent serves
        shared showed sits sleeps slept sold spoke stands stood swam teaches taught threw visited wears went woke won wore writes wrote
        """)

    /// Nouns that look like verb forms; other words in -ing and -ed cannot be the last word of a phrase.
    private static let nounsInIng = list(
        """
        building wedding painting ceiling clothing drawing parking string spring swing railing awning clearing crossing gathering greeting icing
        landing lighting meeting opening pudding sibling skiing sailing fishing hiking climbing surfing swimming camping shopping training
        dumpling duckling viking
        """)

    /// The singular of a lower-case English word by simple suffix rules; other words are unchanged.
    static func singular(_ word: Text) -> Text {
        if word.count <= 3 || ["ss", "us", "is", "'s"].contains(where: { word.has(suffix: $0) }) || !word.has(suffix: "s") { return word }
        if word.has(suffix: "ies") && word.count > 4 { return word.dropLast(3) + ["y"] }
        if ["ches", "shes", "sses", "xes", "zes"].contains(where: { word.has(suffix: $0) }) { return Array(word.dropLast(2)) }
        return Array(word.dropLast())
    }

    /// A query's distinct words, case-folded, in order, without stop words unless nothing else is left.
    public static func queryTerms(_ text: Text) -> [Text] {
        let words = unique(word.all(text).map { $0.whole.casefolded() })
        let kept = words.filter { !stop.contains($0) }
        return kept.isEmpty ? words : kept
    }

    /// Whether a lower-case word is more likely a verb form than a noun.
    static func looksVerbal(_ word: Text) -> Bool {
        word.count > 5 && (word.has(suffix: "ing") || word.has(suffix: "ed")) && !nounsInIng.contains(word)
    }

    private static let possessive = Pattern("['’]s$", ignoringCase: true)

    /// The query's terms, each with its alternative spellings, the plain one first. User names and tags join
    /// words: NewYork is also searched as new and york, and Wolfgang in "Wolfgang Schulz" also as
    /// wolfgangschulz.
    public static func spellings(_ text: Text) -> [[Text]] {
        let words = word.all(text).map { possessive.replacing($0.whole, with: "") }
        let names = words.map { $0.first?.isUpper == true && !stop.contains($0.casefolded()) ? $0 : [] }
        var seen = Set<Text>(), out: [[Text]] = []
        for (at, word) in words.enumerated() {
            var forms = [word] + humps(word)
            if !names[at].isEmpty {
                if at > 0 && !names[at - 1].isEmpty { forms.append(names[at - 1] + names[at]) }
                if at + 1 < names.count && !names[at + 1].isEmpty { forms.append(names[at] + names[at + 1]) }
            }
            let folded = forms.map { $0.casefolded() }
            if seen.insert(folded[0]).inserted { out.append(unique(folded)) }
        }
        let kept = out.filter { !stop.contains($0[0]) }
        return kept.isEmpty ? out : kept
    }

    /// The parts of a word in CamelCase; empty for other words.
    private static func humps(_ word: Text) -> [Text] {
        let inner = word.indices.dropFirst().filter { word[$0 - 1].isLower && word[$0].isUpper }
        let starts = [0] + inner + [word.count]
        let parts = zip(starts, starts.dropFirst()).map { Array(word[$0..<$1]) }
        return parts.count > 1 ? parts.filter { $0.count > 2 } : []
    }

    static func unique<T: Hashable>(_ items: [T]) -> [T] {
        var seen = Set<T>()
        return items.filter { seen.insert($0).inserted }
    }
}
