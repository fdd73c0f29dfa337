/// A query as a search uses it. `text`: for the text tower, in English unless the album's memories are in the query's
/// language. `forms`: its words for BM25, each with what else may stand for it. `lines`: what was read, for the trace.
public struct Glossed: Sendable {
    public let text: Text
    public let forms: [[Text]]
    public let lines: [String]
}

/// Which of a word's glosses a search takes: for BM25 all, for the text tower the first that a memory of the album
/// holds, unless the dictionary thinks little of it (runtime/glosses/choice.py). The query's own words stay beside their
/// glosses, and where memories hold most of them, these are in its language, and the text tower gets the query as it is.
public enum GlossChoice {
    private static let told = 0.3  // of a dictionary's weight: what it counts that a memory holds a gloss
    private static let mostForms = 10  // of a word for BM25
    private static let mostAsked = 64  // words that are looked up in the album
    private static let marks = Set("¿¡«»„".unicodeScalars)

    /// English words with forms that no stemmer finds: a dictionary gives "win", and a memory says "won".
    private static let irregular: [Text: [Text]] = {
        let listed = (
            "become became | begin began begun | bite bit bitten | blow blew blown | break broke broken | bring brought | "
                + "build built | buy bought | catch caught | choose chose chosen | come came | cost cost | cut cut | dig dug | "
                + "draw drew drawn | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen | feed fed | "
                + "feel felt | fight fought | find found | fly flew flown | forget forgot forgotten | freeze froze frozen | "
                + "get got | give gave given | go went gone | grow grew grown | hang hung | hear heard | hide hid hidden | "
                + "hold held | keep kept | know knew known | lead led | leave left | lend lent | lie lay lain | light lit | "
                + "lose lost | make made | mean meant | meet met | pay paid | ride rode ridden | ring rang | rise rose risen | "
                + "run ran | say said | see saw seen | sell sold | send sent | shake shook shaken | shine shone | shoot shot | "
                + "sing sang sung | sink sank sunk | sit sat | sleep slept | speak spoke spoken | spend spent | stand stood | "
                + "steal stole stolen | stick stuck | strike struck | swim swam swum | take took taken | teach taught | "
                + "tear tore torn | tell told | think thought | throw threw thrown | understand understood | wake woke | "
                + "wear wore worn | win won | write wrote written | child children | man men | woman women | foot feet | "
                + "tooth teeth | mouse mice | goose geese | knife knives | leaf leaves | wife wives | life lives | wolf wolves | "
                + "shelf shelves | loaf loaves | person people"
        ).split(separator: "|").map { String($0).scalars.words() }
        return Dictionary(listed.map { ($0[0], Array($0.dropFirst())) }, uniquingKeysWith: { $1 })
    }()

    /// The glosses of a reading that fit the album; nil if only words such as "the" have one. `holds`: whether a memory
    /// holds a word.
    public static func chosen(_ reading: GlossReading, _ holds: (Text) throws -> Bool) rethrows -> Glossed? {
        let content = reading.pieces.filter { !$0.options.isEmpty && !$0.saysNothing }
        if content.isEmpty { return nil }
        let own = content.map { $0.word.casefolded() }
        let held = Set(try Words.unique(own + content.flatMap { $0.options.map(\.text) }).prefix(mostAsked).filter(holds))
        let isAlbums = 2 * own.filter(held.contains).count > own.count
        var text = Text(), forms: [[Text]] = [], lines: [String] = [], kept = Text()
        for piece in reading.pieces {
            let gloss = piece.options.isEmpty ? piece.said : best(piece, held)
            text += gloss
            if piece.options.isEmpty || piece.saysNothing && isAlbums {
                kept += piece.said
            } else if !piece.saysNothing {
                let said = [gloss.casefolded()] + piece.options.map(\.text).filter { $0 != gloss }
                let isAlone = piece.isEnglish && !isAlbums  // "pain" is bread, and would find pains
                forms += plain(kept)
                forms.append(withForms(said, isAlone ? [] : piece.word.casefolded()))
                lines.append("\(piece.said.string) → \(said.map(\.string).joined(separator: ", "))")
                kept = []
            }
        }
        let sentence = (isAlbums ? reading.text : text).filter { !marks.contains($0) }
        return Glossed(text: sentence.tidied(), forms: Words.unique(forms + plain(kept)), lines: unique(lines))
    }

    /// The lines, each once: a String compares what is equal in Unicode, a Text its code points.
    private static func unique(_ lines: [String]) -> [String] { Words.unique(lines.map(\.scalars)).map(\.string) }

    /// The words of a part of the query that stays as it is.
    private static func plain(_ text: Text) -> [[Text]] { text.contains { $0.isAlpha || $0.isNumber } ? Words.spellings(text) : [] }

    /// What stands for a word in memories: its glosses, with their forms, and the word itself.
    private static func withForms(_ glosses: [Text], _ own: Text) -> [Text] {
        let more = glosses.flatMap { irregular[$0] ?? [] }
        return Array(Words.unique((own.isEmpty ? [] : [own]) + glosses + more).prefix(mostForms))
    }

    private static func best(_ piece: GlossPiece, _ held: Set<Text>) -> Text {
        if piece.saysNothing { return piece.options[0].text }
        var best = piece.options[0], most = -Double.infinity
        for option in piece.options {
            let worth = option.weight + (held.contains(option.text) ? told : 0)
            if worth > most { (best, most) = (option, worth) }
        }
        return best.text
    }
}
