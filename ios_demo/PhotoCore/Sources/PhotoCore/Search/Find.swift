/// A search as a person means it: around one search, what resemblance cannot say (runtime/search/wishes_met.py).
struct Find {
    private static let mostHits = 1_000
    private static let searches = 20  // in which a "without" gathers a set

    private let engine: Engine
    private let request: SearchRequest
    private let query: Text
    private let language: String
    private let favourites: [Bool]
    private let excluded: [Text]
    private var remarks: [Remark] = []

    init(_ engine: Engine, _ request: SearchRequest) throws {
        (self.engine, self.request, query) = (engine, request, request.query.scalars)
        language = request.gloss ? try engine.language(of: query) : ""
        favourites = Find.mask(try engine.album.memories(of: "social").filter { $0.text == "favourite" }.map(\.row), engine.album.count)
        let cues = try engine.cues(query, request.now)
        excluded = (cues.negatedTimes.map(\.text) + cues.negatedPlaces.map(\.text)).map { $0.scalars.casefolded() }
    }

    mutating func answer() throws -> Answer {
        let question = try question(), k = request.k ?? engine.models.manifest.thresholds.k
        var asked = request
        asked.within = try within(question)
        asked.language = Refine.saysNothing(question.query) ? "" : language
        // Python's search puts copies together, which make room for the photos behind them.
        let found = try searched(question.query, min(2 * k + 5, Find.mostHits), asked)
        var trace = found.trace
        (trace.query, trace.cues) = (request.query, trace.cues + remarks.map(\.line))
        if remarks.contains(where: \.isLacking) { return Answer(hits: [], trace: trace, presence: 0, remarks: remarks) }
        // They are there, and nothing else was asked but times and places.
        let isCertain = isLiteral(question) && !found.hits.isEmpty && Refine.saysNothing(Refine.fast(found.trace.refined.scalars))
        let isWhole = isCertain && found.trace.cues.isEmpty && found.trace.cubeLines.isEmpty
        var hits = found.hits
        for (at, likely) in found.likely.enumerated() { hits[at].probability = isWhole ? 1 : likely }
        return Answer(hits: Array(hits.prefix(k)), trace: trace, presence: isCertain ? 1 : found.presence, remarks: remarks)
    }

    /// Where no photo is marked, "my favourite photos" are the marked ones all the same, unless a memory tells of a favourite.
    private func question() throws -> Question {
        let asked = engine.questions.read(query, language: language, isCue: isExcluded)
        if !asked.favourites || favourites.contains(true) { return asked }
        if asked.isBare, try engine.album.words("favourite".scalars).bm25().allSatisfy({ $0 == 0 }) { return asked }
        return engine.questions.read(query, language: language, hasFavourites: false, isCue: isExcluded)
    }

    /// Whether the query's rules of cues exclude what the phrase names: a time or a place.
    private func isExcluded(_ phrase: Text) -> Bool {
        let said = phrase.casefolded()
        return excluded.contains { said.find($0) != nil || $0.find(said) != nil }
    }

    private func searched(_ text: Text, _ k: Int, _ request: SearchRequest) throws -> Answer {
        var asked = request
        (asked.query, asked.k) = (text.string, k)
        return try engine.search(asked)
    }

    /// The photos that may be shown; nil: all.
    private mutating func within(_ question: Question) throws -> [Bool]? {
        var allowed = [Bool](repeating: true, count: engine.album.count)
        if question.pictures {
            let pictured = try engine.album.pictured()
            if pictured.contains(true) { allowed = pictured }
        }
        if question.favourites {
            allowed = zip(allowed, favourites).map { $0 && $1 }
            remarks.append(Remark(code: .favourites, n: allowed.filter { $0 }.count))
        }
        for phrase in question.without {
            let unwanted = try known(phrase) ?? unwanted(phrase)
            remarks.append(Remark(code: .without, text: phrase, n: unwanted.filter { $0 }.count))
            allowed = zip(allowed, unwanted).map { $0 && !$1 }
        }
        return allowed.contains(false) ? allowed : nil
    }

    /// Whether the query asks for what the album knows for certain: favourites, no date.
    private func isLiteral(_ question: Question) -> Bool { question.favourites || question.without.contains { !engine.questions.fact(of: $0).isEmpty } }

    /// The photos with a fact that "without `phrase`" leaves out; nil where it is a thing, or the album knows it of none.
    private func known(_ phrase: Text) throws -> [Bool]? {
        var rows: [Int] = []
        switch engine.questions.fact(of: phrase) {
        case "date": return engine.dated
        case "place": return engine.placed
        case "text": rows = try engine.album.memories(of: "ocr").map(\.row)
        case "flash": rows = try engine.album.rows(of: "flash", in: "lightings")
        default: break
        }
        return rows.isEmpty ? nil : Find.mask(rows, engine.album.count)
    }

    private static func mask(_ rows: [Int], _ count: Int) -> [Bool] {
        var out = [Bool](repeating: false, count: count)
        for row in rows { out[row] = true }
        return out
    }

    /// The photos that show what the query wants left out; none if the album likely has none. A photo whose own memory says the
    /// same ("a man without a hat") shows no hat.
    private mutating func unwanted(_ phrase: Text) throws -> [Bool] {
        var asked = request
        (asked.isAdapted, asked.language, asked.refinedBy, asked.mode) = (false, language, "fast", "fused")
        let answer = try searched(phrase, Find.mostHits, asked), album = engine.album
        if Membership.presence(answer, engine.weights) < Membership.present { return Find.mask([], album.count) }
        (asked.refinedBy, asked.mode) = (request.refinedBy, request.mode)
        let rows = try members(phrase, answer, asked), said = phrase.lowered()
        let negated = ["without ", "without a ", "no ", "not "].map { $0.scalars + said }
        let shown = zip(rows, try album.photos(rows)).filter { _, photo in
            !photo.memories.contains { memory in negated.contains { memory.text.scalars.lowered().find($0) != nil } }
        }
        return Find.mask(shown.map(\.0), album.count)
    }

    /// The rows of all photos that belong to what the text means. While all hits of a search do, the others are searched again.
    private mutating func members(_ text: Text, _ first: Answer, _ request: SearchRequest) throws -> [Int] {
        var rows: [Int] = [], answer = first, searches = 1, asked = request
        for _ in 1...Find.searches {
            let members = try Membership.members(engine.album, answer, engine.weights)
            rows += members
            let left = Find.mask(rows, engine.album.count).map { !$0 }
            if members.count < Find.mostHits || !left.contains(true) { break }
            asked.within = left
            answer = try searched(text, Find.mostHits, asked)
            searches += 1
        }
        if searches > 1 { remarks.append(Remark(code: .searched, text: text.slice(0, 80), n: searches)) }
        return rows
    }
}
