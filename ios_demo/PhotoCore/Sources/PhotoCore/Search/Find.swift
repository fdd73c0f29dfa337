/// A search as a person means it: around one search, what resemblance cannot say (runtime/search/wishes_met.py).
struct Find {
    private static let mostHits = 1_000
    private static let searches = 20  // in which a count or a "without" gathers a set

    private static let groups = 24, place = 80  // groups in a line; characters of a place's name
    private static let moreThanDays: Set<String> = ["holiday", "anchor", "last time"]

    private let engine: Engine
    private let request: SearchRequest
    let query: Text
    let language: String
    private let favourites: [Bool]
    private let excluded: [Text]
    private let facets: FacetRows
    var remarks: [Remark] = []
    private var album: Album { engine.album }

    init(_ engine: Engine, _ request: SearchRequest) throws {
        (self.engine, self.request, query) = (engine, request, request.query.scalars)
        language = request.gloss ? try engine.language(of: query) : ""
        favourites = Find.mask(try engine.album.memories(of: Memory.favourite.source).filter { $0.text == Memory.favourite.text }.map(\.row), engine.album.count)
        let cues = try engine.cues(query, request.now)
        excluded = (cues.negatedTimes.map(\.text) + cues.negatedPlaces.map(\.text)).map { $0.scalars.casefolded() }
        facets = FacetRows(engine)
    }

    /// A search for a part of the query, as a set is searched for.
    func part(_ text: Text, _ k: Int, _ within: [Bool]?) throws -> Answer {
        var asked = request
        (asked.within, asked.isAdapted, asked.refinedBy) = (within, false, "fast")
        return try searched(text, k, asked)
    }

    /// The photos of a time, or of a place that the album has, by row; none for what says more.
    func rows(of target: Text) throws -> [Int] {
        let facts = try facts(of: target)
        return facts.isEmpty ? [] : try album.inCubes(try cues(facts).cubes).inside
    }

    /// The first k of the photos in `rows`, in their order, with the remarks on what is wanted. `isSure`: whether each of them is meant.
    func shown(_ wanted: Wanted, _ rows: [Int], isSure: Bool, _ note: Remark?) throws -> Answer {
        var asked = request
        let k = request.k ?? engine.models.manifest.thresholds.k, most = rows.prefix(2 * k + 5)  // copies make room for those behind them
        let place = Dictionary(uniqueKeysWithValues: most.enumerated().map { ($1, $0) })
        (asked.within, asked.isAdapted, asked.language, asked.refinedBy) = (Find.mask(Array(most), album.count), false, language, "fast")
        var out = try searched(wanted.target.isEmpty ? "photos".scalars : wanted.target, min(place.count, Find.mostHits), asked)
        for (at, probability) in out.likely.enumerated() { out.hits[at].probability = isSure ? 1 : probability }
        out.hits.sort { place[$0.row]! < place[$1.row]! }
        out.hits = Array(try Copies.together(album, out.hits).prefix(k))
        (out.presence, out.remarks, out.note, out.trace.query, out.trace.cues) = (1, remarks, note, request.query, remarks.map(\.line))
        if wanted.asks == "count" { out.number = Words.unique(try Copies.firsts(album, rows)).count }
        return out
    }

    mutating func answer() throws -> Answer {
        let question = try question()
        return try answer(question, try within(question))
    }

    mutating func answer(_ question: Question, _ within: [Bool]?) throws -> Answer {
        let k = request.k ?? engine.models.manifest.thresholds.k
        var asked = request
        asked.within = within
        let isCounted = question.counts || question.grouped != nil
        let ordered = try question.ordered.flatMap { try ordersPhotos() ? $0 : nil }
        let target = ordered != nil || question.grouped != nil ? question.wanted.target : nil
        let text = try target.map(self.text(ofTarget:)) ?? self.text(of: question)
        (asked.isAdapted, asked.language) = (!isCounted && ordered == nil, Refine.saysNothing(text) ? "" : language)
        let number = min(2 * k + 5, Find.mostHits)  // copies make room for the photos behind them
        let first = try mended(text, try searched(text, number, asked), number, asked)
        let counted = isCounted ? Words.unique(try Copies.firsts(album, try meant(first, asked))) : []
        var count = isCounted ? counted.count : nil
        var likely = first
        for (at, probability) in first.likely.enumerated() { likely.hits[at].probability = probability }
        var answer = try byFacts(text, likely, question, asked)
        if answer.isDoubtful || count == 0, answer.note == nil, let note = try unpictured(answer.trace.refined.scalars) {
            answer.note = note
            if count == 0 { count = nil }  // no photo is known not to show it
        }
        if let none = remarks.first(where: \.isLacking) { (answer.hits, answer.presence, answer.note) = ([], 0, none) }
        if isLiteral(question), !answer.hits.isEmpty, answer.note == nil, Refine.saysNothing(Refine.fast(answer.trace.refined.scalars)) {
            // They are there, and nothing else was asked but times and places, which have been judged.
            if answer.trace.cues.isEmpty && answer.trace.cubeLines.isEmpty { for at in answer.hits.indices { answer.hits[at].probability = 1 } }
            answer.presence = 1
        }
        if let by = question.grouped, let (groups, number) = try grouped(text, answer, by, counted, asked, k) { (answer, count) = (groups, number) }
        var shown = 0..<k
        if let ordered, let inOrder = try inOrder(text, answer, ordered, try meant(first, asked), asked, k) {
            answer = inOrder
            shown = (abs(ordered.order) - 1)..<(abs(ordered.order) - 1 + (ordered.number > 0 ? ordered.number : k))
        }
        (answer.trace.query, answer.trace.cues) = (request.query, answer.trace.cues + remarks.map(\.line))
        answer.hits = Array(try Copies.together(album, answer.hits).prefix(shown.upperBound).dropFirst(shown.lowerBound))
        (answer.remarks, answer.number) = (remarks, count)
        if album.count == 0 { answer.note = Remark(code: .empty) }
        return answer
    }

    /// The answer with the photos in `rows` by time, from the first or the last; nil if none of them has a time.
    private func inOrder(_ text: Text, _ answer: Answer, _ ordered: Wanted, _ rows: [Int], _ asked: SearchRequest, _ k: Int) throws -> Answer? {
        let times = try album.times(), dated = rows.filter { times[$0] != .min }.sorted { (times[$0], $0) < (times[$1], $1) }
        if dated.isEmpty { return nil }
        let most = (ordered.order < 0 ? dated.reversed() : dated).prefix(2 * max(ordered.number, abs(ordered.order), k) + 5)
        var within = asked
        within.within = Find.mask(Array(most), album.count)
        let place = Dictionary(uniqueKeysWithValues: most.enumerated().map { ($1, $0) })
        let found = try searched(text, min(place.count, Find.mostHits), within), isSure = Refine.saysNothing(found.trace.refined.scalars)
        var out = answer
        out.hits = found.hits.sorted { place[$0.row]! < place[$1.row]! }
        if isSure {
            for at in out.hits.indices { out.hits[at].probability = 1 }
            out.presence = 1
        }
        return out
    }

    /// Of words that the image encoder does not know; nil for others.
    private func unpictured(_ refined: Text) throws -> Remark? {
        if Refine.saysNothing(refined) { return nil }
        if try engine.isGlossed(query, "") { return nil }
        let words = try Unpictured.words(refined, engine.models)
        return words.isEmpty ? nil : try Unpictured.remark(words, engine.models)
    }

    /// The photos of all groups, or of those with the most photos, with the numbers, and how many photos these are; nil where the album
    /// does not say by what they are counted.
    private func grouped(_ text: Text, _ answer: Answer, _ by: Grouped, _ rows: [Int], _ asked: SearchRequest, _ k: Int) throws -> (Answer, Int)? {
        let names = try groupNames(by.by, rows), all = Dictionary(grouping: names.compactMap { $0 }, by: { $0 }).mapValues(\.count)
        let most = all.values.max() ?? 0, counts = by.isMost ? all.filter { $0.value == most } : all
        let chosen = zip(rows, names).filter { $0.1.map { counts[$0] != nil } ?? false }.map(\.0)
        if chosen.isEmpty { return nil }
        var within = asked
        within.within = Find.mask(chosen, album.count)
        let found = try searched(text, min(2 * k + 5, Find.mostHits), within)
        var out = answer
        (out.hits, out.trace, out.presence) = (found.hits, found.trace, 1)
        for at in out.hits.indices { out.hits[at].probability = 1 }
        let told = counts.sorted { $0.key.scalars.lexicographicallyPrecedes($1.key.scalars) }.prefix(Find.groups).map { "\($0.key): \($0.value)" }
        let more = counts.count > Find.groups ? ["… (+\(counts.count - Find.groups))"] : []
        out.note = Remark(code: .line, text: (told + more).joined(separator: ", ").scalars)
        return (out, chosen.count)
    }

    /// For each row its day, month, year, place or country; nil where the album does not say (runtime/search/album_facts.py).
    func groupNames(_ by: String, _ rows: [Int]) throws -> [String?] {
        if let length = ["day": 10, "month": 7, "year": 4][by] {
            let times = try album.times()
            return rows.map { times[$0] == .min ? nil : Explain.day(times[$0]) }.map { day in day.flatMap { $0.utf8.count == 10 ? String($0.prefix(length)) : nil } }
        }
        let told = try album.memories(of: "place").reversed().map { ($0.row, $0.text.scalars.tidied().slice(0, Find.place).string) }
        let places = Dictionary(told) { $1 }
        if by == "place" { return rows.map { places[$0] } }
        let countries = try engine.models.gazetteer.get().countries()
        return rows.map { row in
            places[row].map { name in
                let code = name.components(separatedBy: ", ").last ?? name
                return countries[code] ?? code
            }
        }
    }

    func cues(_ text: Text) throws -> Cues { try engine.cues(text, request.now) }

    /// The query, or that for all photos of what "how many from Rome" names, for the place of a stay, or its form with a
    /// span of time after an event that the album knows.
    private func text(of question: Question) throws -> Text {
        if question.counts {
            let all = "photos ".scalars + question.query, named = try cues(all)
            if named.times.count + named.places.count > 0, saysNothingElse(named) { return all }
        }
        let stay = try facts(of: engine.questions.phrases.gone(to: question.query))
        if !stay.isEmpty, try cues(stay).times.isEmpty { return stay }  // "our weekend in May" is more than its month
        if question.soon.isEmpty { return question.query }
        let said = try cues(question.query)
        if !said.times.isEmpty || !said.negatedTimes.isEmpty { return question.query }  // "after the summer of 2011"
        return try engine.cuesWithEvents(question.soon, request.now, language).times.contains { $0.kind == "anchor" } ? question.soon : question.query
    }

    /// The query for photos that are put in order, or counted by something.
    private func text(ofTarget target: Text) throws -> Text { try [facts(of: target), target].first { !$0.isEmpty } ?? "photos".scalars }

    /// The query for the photos of a time, or of a place that the album has; empty for what says more.
    private func facts(of target: Text) throws -> Text {
        if target.isEmpty { return [] }
        let dated = "photos in ".scalars + target, named = try cues(dated)
        let isKnown = !named.times.isEmpty || named.places.contains { ($0.photos ?? 0) > 0 }
        return isKnown && saysNothingElse(named) ? dated : []
    }

    /// Whether a text names nothing but times and places that the album has, or is a time of day: "sunset", not "the sunset".
    private func isTime(_ text: Text) throws -> Bool {
        let cues = try cues(text), places = cues.places.filter { $0.photos != 0 }
        if cues.hasNegated { return false }
        if !cues.recurring.isEmpty { return cues.recurring.map { $0.text.scalars.casefolded() } == [cues.query.stripped().casefolded()] }
        return !(cues.times.isEmpty && places.isEmpty) && saysNothingElse(cues, places)
    }

    /// Whether the query has a word of order that is not a time's: "last Monday photos" are Monday's.
    private func ordersPhotos() throws -> Bool {
        let cues = try cues(query)
        return engine.questions.words(cues.query, language).contains { word in
            word.has("order") && !cues.times.contains { $0.span.contains(word.span.lowerBound) }
        }
    }

    /// Whether the query of `cues` is about nothing but its times and places.
    private func saysNothingElse(_ cues: Cues, _ places: [PlaceCue]? = nil) -> Bool {
        var letters = cues.query
        for span in cues.times.map(\.span) + (places ?? cues.places).map(\.span) { for at in span { letters[at] = " " } }
        return engine.questions.phrases.content(letters).isEmpty
    }

    /// The answer, or that to the query with its spelling mended, if only that one is found.
    private mutating func mended(_ text: Text, _ answer: Answer, _ k: Int, _ asked: SearchRequest) throws -> Answer {
        if !answer.isDoubtful { return answer }
        let isGlossed = try request.gloss && engine.isGlossed(text, asked.language)
        let mended = try Spelling.mended(text, album, engine.models, isEnglish: !isGlossed && engine.languageByWords(text) == nil)
        if mended == text { return answer }
        let again = try searched(mended, k, asked)
        if again.isDoubtful { return answer }
        remarks.append(Remark(code: .spelt, text: mended))
        return again
    }

    /// The rows of what is meant: the photos in the cube, or those of the set that it ends; copies too.
    private mutating func meant(_ answer: Answer, _ asked: SearchRequest) throws -> [Int] {
        let cubes = answer.trace.cubes, text = answer.trace.query.scalars
        if Refine.saysNothing(answer.trace.refined.scalars) {
            return (cubes.isEmpty ? Array(0..<album.count) : try album.inCubes(cubes).inside).filter { asked.within?[$0] != false }
        }
        if Membership.presence(answer, engine.weights, photos: album.count) < Membership.present { return [] }
        return try members(text, try searched(text, Find.mostHits, asked), asked)
    }

    /// The answer, certain where a time or place alone is asked for, doubtful where no photo fits it (runtime/search/query_facts.py).
    private mutating func byFacts(_ text: Text, _ answer: Answer, _ question: Question, _ asked: SearchRequest) throws -> Answer {
        let cues = try cues(text), named = cues.times.map { ($0.span, $0.text) } + cues.places.map { ($0.span, $0.text) }
        if named.isEmpty { return answer }
        func among(_ rows: [Int]) -> [Bool] { Find.mask(rows.filter { asked.within?[$0] != false }, album.count) }
        func inside(_ cubes: [Cube]) throws -> [Bool] { among(cubes.isEmpty ? [] : try album.inCubes(cubes).inside) }
        let isDated = try inside(cues.times.map { Cube(start: $0.start, end: $0.end) }).contains(true)
        let known = cues.places.contains { $0.photos == 0 } ? Find.mask([], album.count) : try inside(cues.cubes)
        let possible = among(try album.inCubes(cues.cubes).rows), isKnown = known.contains(true)
        let said = named.sorted { ($0.0.lowerBound, $0.0.upperBound) < ($1.0.lowerBound, $1.0.upperBound) }.map(\.1).joined(separator: " ")
        let note = isKnown ? nil : Remark(code: .none, text: said.scalars)
        // A holiday is more than its days: a memory may tell of Christmas on the tenth of December.
        let isOfDays = !cues.times.contains { Find.moreThanDays.contains($0.kind) }
        let isPlain = isOfDays && !cues.hasNegated && cues.recurring.isEmpty && cues.anchors.isEmpty && saysNothingElse(cues)
        var out = answer
        if isPlain, try note == nil || !mayBeTold(answer, cues, question) {
            for (at, hit) in answer.hits.enumerated() where known[hit.row] || !isKnown || !possible[hit.row] { out.hits[at].probability = known[hit.row] ? 1 : 0 }
            (out.presence, out.note) = (isKnown ? 1 : 0, note)
            return out
        }
        out = try elsewhere(text, answer, cues.places.filter { $0.photos == 0 })
        if !isDated, out.hits.first?.photo.takenAt != nil, let trust = cues.times.map(\.confidence).max() { out = Find.lowered(out, trust) }
        out.note = out.isDoubtful ? note : nil
        return out
    }

    /// Whether a hit's memory names the place, or the album has no date or position that would say it.
    private func mayBeTold(_ answer: Answer, _ cues: Cues, _ question: Question) throws -> Bool {
        if !cues.times.isEmpty && !engine.dated.contains(true) || !cues.places.isEmpty && !engine.placed.contains(true) { return true }
        return Find.told(answer.hits, cues.places.filter { $0.photos == 0 || !question.facets.isEmpty }).contains(true)
    }

    /// For each place whether a memory of the hits names it.
    private static func told(_ hits: [Hit], _ places: [PlaceCue]) -> [Bool] {
        let told = Text.join(hits.flatMap { $0.photo.memories.map { $0.text.scalars.casefolded() } }, " ")
        return places.map { told.find($0.name.scalars.casefolded()) != nil }
    }

    /// The answer, less likely if the query names places where the album has no photo. The best photo then lies elsewhere, unless a
    /// memory of it names the place. A photo whose place is not known is only right if the query says more than the place.
    private mutating func elsewhere(_ text: Text, _ answer: Answer, _ places: [PlaceCue]) throws -> Answer {
        guard !places.isEmpty, let first = answer.hits.first else { return answer }
        var rest = text
        for place in places { while let at = rest.find(place.text.scalars), !place.text.isEmpty { rest.removeSubrange(at..<(at + place.text.scalars.count)) } }
        if first.photo.lat == nil && !Refine.saysNothing(Refine.fast(rest)) { return answer }
        let wrong = zip(places, Find.told([first], places)).filter { !$1 }.map(\.0)
        guard let name = wrong.first?.name, let trust = wrong.map(\.confidence).max() else { return answer }
        remarks.append(Remark(code: .elsewhere, name: name))
        return Find.lowered(answer, trust)
    }

    /// The answer, less likely by the confidence of a cue that it does not fit.
    private static func lowered(_ answer: Answer, _ confidence: Double) -> Answer {
        var out = answer
        for at in out.hits.indices { out.hits[at].probability = rounded(out.hits[at].probability * (1 - confidence), 4) }
        out.presence = rounded(answer.presence * (1 - confidence), 4)
        return out
    }

    /// Where no photo is marked, "my favourite photos" are the marked ones all the same, unless a memory tells of a favourite.
    func question() throws -> Question {
        let asked = try read(hasFavourites: true)
        if !asked.favourites || favourites.contains(true) { return asked }
        if asked.isBare, try engine.album.words("favourite".scalars).bm25().allSatisfy({ $0 == 0 }) { return asked }
        return try read(hasFavourites: false)
    }

    private func read(hasFavourites: Bool) throws -> Question {
        try engine.questions.read(
            query, language: language, hasFavourites: hasFavourites, has: facets.isNamed, isCue: isExcluded, isTime: isTime,
            isPlace: { try isTime($0) && cues($0).times.isEmpty })
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
    mutating func within(_ question: Question) throws -> [Bool]? {
        var allowed = [Bool](repeating: true, count: engine.album.count)
        if question.pictures {
            let pictured = try engine.album.pictured()
            if pictured.contains(true) { allowed = pictured }
        }
        for facet in question.facets {
            let having = try facets.of(facet), code = Remark.Code(rawValue: "facet.\(facet.kind)")
            allowed = zip(allowed, having).map { $0 && $1 }
            if let code { remarks.append(Remark(code: code, n: having.filter { $0 }.count, name: facet.value.isEmpty ? Remark.anybody[facet.kind] ?? "" : facet.value.string)) }
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

    /// Whether the query asks for what the album knows for certain: favourites, a facet, no date.
    private func isLiteral(_ question: Question) -> Bool { question.favourites || !question.facets.isEmpty || question.without.contains { !engine.questions.fact(of: $0).isEmpty } }

    /// The photos with a fact that "without `phrase`" leaves out; nil where it is a thing, or the album knows it of none.
    private func known(_ phrase: Text) throws -> [Bool]? {
        let fact = engine.questions.fact(of: phrase), rows = fact.isEmpty ? [] : try facets.knowing(fact)
        return fact == "date" || fact == "place" || rows.contains(true) ? rows : nil
    }

    static func mask(_ rows: [Int], _ count: Int) -> [Bool] {
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
        if Membership.presence(answer, engine.weights, photos: album.count) < Membership.present { return Find.mask([], album.count) }
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
            let left = Find.mask(rows, album.count).enumerated().map { !$1 && request.within?[$0] != false }
            if members.count < Find.mostHits || !left.contains(true) { break }
            asked.within = left
            answer = try searched(text, Find.mostHits, asked)
            searches += 1
        }
        if searches > 1 { remarks.append(Remark(code: .searched, text: text.slice(0, 80), n: searches)) }
        return rows
    }
}
