import Foundation

/// The options of one search. `k`: nil for the bundle's K. `now`: the user's wall-clock time, from which
/// "last spring" is counted. `gloss`: whether words of other languages are read as English ones, by the bundle's tables.
public struct SearchRequest: Sendable {
    public var query: String
    public var k: Int?
    public var refinedBy = "fast"
    public var mode = "fused"
    public var now: WallClock
    public var gloss = true
    /// By row, whether a photo may be found; nil for all.
    var within: [Bool]?
    /// Whether the query adapter reads the query, if there is one.
    var isAdapted = true
    /// Of a query that is a part of a longer one, the code of that one's language.
    var language = ""

    public init(_ query: String, now: WallClock) { (self.query, self.now) = (query, now) }

    /// Raises Failure.runtime for an empty or overlong query, k out of bounds, or an unknown mode.
    public func check(k: Int) throws {
        let text = query.scalars
        if text.allSatisfy(\.isSpace) { throw Failure.runtime("the query is empty: say what is in the photo") }
        if text.count > 100_000 { throw Failure.runtime("the query has \(text.count) characters: give at most 100000") }
        if !(1...1000).contains(k) { throw Failure.runtime("k = \(k): choose 1 to 1000") }
        for (what, value, choices) in [("refinement", refinedBy, Refine.modes), ("mode", mode, ["fused", "paper"])] where !choices.contains(value) {
            throw Failure.runtime("unknown \(what) \(value.scalars.quoted); choose one of: \(choices.joined(separator: ", "))")
        }
    }
}

/// Searches an album with the models of a bundle (runtime/search/engine.py, paper section 3.2).
///
/// Mode "fused" ranks by the features of all layers: a cue only counts as evidence, and the only photos
/// removed are those that the query excludes ("not in Paris"). Mode "paper" goes by the cube, then
/// entity nodes over δ, then the greatest cosine of a channel. Searches run one at a time.
public final class Engine {
    public let models: Models
    public let album: Album
    let questions: QuestionReader
    let weights: RankingWeights
    private let reader: CueReader
    private let times: [Int]
    private let positions: [(lat: Double, lon: Double)?]
    let dated: [Bool], placed: [Bool]
    private let every: [Int]
    private let extent: (low: Int, high: Int)?
    private let southern: Bool
    private let talk: Conversations
    private let adapter: QueryAdapter?
    private var isWarm = false
    private lazy var glosses = Result { [reader, models] in try GlossReader.bundled(models, told: reader.language(of:)) }
    private lazy var nameWords = Result { [album] in NameWords(try album.listedEntities()) }
    private lazy var home = Home.learn(positions, times)
    /// The nanoseconds from which a trace's milliseconds come: of the wall, unless a measurement sets another clock.
    public var clock: () -> UInt64 = { DispatchTime.now().uptimeNanoseconds }

    // Up to this many photos, scanning all costs less than choosing candidates.
    private static let exactRows = 20_000
    private static let candidates = 100
    // The cosines of so many, the best by rough ones, are computed exactly (of all, if there are no more).
    private static let sure = 256
    // Photos that stand for a larger album where the evidence of missing memories is estimated.
    private static let typical = 1000
    // The user's preferences may reorder this many of the best, or k if that is more.
    private static let preferred = 50
    private static let hint = Pattern(
        #"\b(?:when|while|during|ago|since|until|before|after|back then|that (?:day|night|week|summer|winter|year))\b|\b(?:in|at|near|from) [A-Z]"#)

    /// Opens the engine. `rules`: the path of cue_rules.json. Raises Failure when other encoders made the
    /// album's vectors.
    public init(_ models: Models, _ album: Album, rules: String) throws {
        (self.models, self.album) = (models, album)
        for (ours, theirs) in [(models.manifest.textEncoder, album.meta.textEncoder), (models.manifest.imageEncoder, album.meta.imageEncoder)] where ours != theirs {
            throw Failure.runtime(
                "\(album.path): its vectors are \(theirs)'s, the bundle has \(ours): run `gamer index update \(album.path) -b \(models.bundle)`, or index anew on the phone")
        }
        reader = try CueReader(rules: rules)
        questions = QuestionReader(reader.tables)
        weights = models.manifest.ranking ?? RankingWeights()
        (times, positions) = (try album.times(), try album.positions())
        let known = times.filter { $0 != .min }
        extent = known.min().flatMap { low in known.max().map { (low, $0) } }
        (every, dated, placed) = (Array(0..<album.count), times.map { $0 != .min }, positions.map { $0 != nil })
        southern = positions.filter { ($0?.lat ?? 0) < 0 }.count * 2 > placed.filter { $0 }.count
        talk = Conversations(times: times, said: try album.conversations())
        adapter = try models.queryAdapter(own: QueryAdapter.beside(album.path))
    }

    public func search(_ request: SearchRequest) throws -> Answer {
        let k = request.k ?? models.manifest.thresholds.k
        try request.check(k: k)
        let query = request.query.scalars
        var clock = Clock(now: self.clock)
        try clock("load") { try warm(request.refinedBy) }
        let cues = try clock("cube") { try read(query, request) }
        let (rows, all, widened) = try clock("kdtree") { () throws -> ([Int], [Int], Bool) in
            let cube = try album.inCubes(cues.cubes)
            // A cue that fits no photo is misread or wrong: ranking all photos is better than showing only
            // the few that have no date.
            let widened = !cues.cubes.isEmpty && cube.inside.isEmpty, gone = try negated(cues), rows = widened ? every : cube.rows
            if gone.isEmpty && request.within == nil { return (rows, every, widened) }
            func isLeft(_ row: Int) -> Bool { request.within?[row] != false && !isAmong(gone, row) }
            return (rows.filter(isLeft), every.filter(isLeft), widened)
        }
        var left = [("album", album.count), ("cube", rows.count)]
        let (refined, how, glossed, vectors) = try clock("refine") { () throws -> (Text, String, Glossed?, QueryVectors) in
            let (text, how) = try refine(query, cues, request.refinedBy), glossed = request.gloss ? try self.glossed(text, request.language) : nil
            let refined = glossed.map { how == "off" ? $0.text : Refine.fast($0.text) } ?? text
            return (refined, how, glossed, try encode(refined, isAdapted: request.isAdapted))
        }
        let delta = (request.mode == "paper" ? models.manifest.thresholds.paperDelta : nil) ?? album.meta.delta
        var ranked = rows
        let (matches, nodes, reached) = try clock("graph") { () throws -> ([EntityMatch], Nodes, Int) in
            let matches = try album.matchEntities(vectors.plain, rows, delta: delta), nodes = Nodes(matches, album.count, delta)
            let reached = rows.filter { nodes.linked[$0] > 0 || nodes.related[$0] > 0 }
            if request.mode == "paper" && !reached.isEmpty { ranked = reached }
            return (matches, nodes, reached.count)
        }
        left.append(("graph", ranked.count))
        var plan = "", features: Ranking.Parts = [], parts: Ranking.Parts = []
        let order = try clock("vectors") { () throws -> [Int] in
            if request.mode == "paper" {
                plan = "exact scan of \(ranked.count) photos"
                features = try Channels.cosines(album, vectors.by(vectors.plain), ranked)
                let best = ranked.indices.map { at in features.reduce(Float(0)) { max($0, $1.values[at]) } }
                parts = [("cosine", best)]
            } else {
                let words = try album.words(refined, forms: glossed?.forms), asked = vectors.ranking()
                (ranked, plan) = try candidates(words, asked, rows, all, nodes)
                let clues = try clues(cues)
                var found = try self.features(words, asked, ranked, nodes, clues)
                let isAllTold = !found.weighted.told.contains(false)
                let some = isAllTold || all.count <= Engine.exactRows ? nil : try self.features(words, asked, typical(all), nodes, clues).weighted
                func summands() -> Ranking.Parts {
                    let known = found.weighted
                    let parts = known.parts + (isAllTold ? [] : [("unknown", Unknown.expected(known, among: some ?? known))])
                    return !clues.isEmpty && Refine.saysNothing(refined) ? Ranking.byCues(parts) : parts
                }
                parts = summands()
                if ranked.count > Engine.sure {
                    try sharpen(&found, topmost(Ranking.total(parts), max(Engine.sure, 2 * k)), ranked, asked)
                    parts = summands()
                }
                features = found.values
            }
            return try self.order(parts, ranked, k)
        }
        left.append(("vectors", order.count))
        let here = presence(features, order)
        let hits = try self.hits(ranked, order, parts, matches, here, request.mode == "paper" ? vectors.plain : vectors.aligned)
        let trace = Trace(
            query: request.query, cues: Explain.cueLines(cues) + (glossed?.lines ?? []), cubeLines: Explain.cubeLines(cues), cubes: cues.cubes,
            refined: refined.string, refinedBy: how, delta: delta, entities: Array(matches.prefix(8)), left: left.map { (layer: $0.0, photos: $0.1) }, linked: reached, widened: widened,
            loadMs: clock.spent["load"] ?? 0, milliseconds: Trace.layers.map { ($0, clock.spent[$0] ?? 0) }, plan: plan, mode: request.mode,
            models: models.described())
        return Answer(hits: hits, trace: trace, presence: rounded(here, 4))
    }

    /// As `search`, with the query read as a person means it: what is left out ("without people"), favourites and facets, a number
    /// that is asked for; its spelling is mended, and copies are put together. Each hit's probability is judged by itself.
    public func find(_ request: SearchRequest) throws -> Answer {
        try request.check(k: request.k ?? models.manifest.thresholds.k)
        var find = try Find(self, request)
        return try find.answer()
    }

    /// As `find`; a question with an anchor ("the photo before the wedding", "what I saw two days after the concert") in several steps,
    /// and one for a time, a place or a person ("when did I last see Rex") with what the photos tell as its note.
    public func ask(_ request: SearchRequest) throws -> Answer {
        try request.check(k: request.k ?? models.manifest.thresholds.k)
        var ask = try Ask(self, request)
        return try ask.answer()
    }

    /// Opens what a search needs, once, so that no layer's time includes opening a file.
    private func warm(_ refinedBy: String) throws {
        if refinedBy == "llm" { _ = try models.languageModel() }
        if isWarm { return }
        _ = try models.gazetteer.get().lookup([])
        _ = try models.text().encode("")
        _ = try album.inCubes([Cube(start: 0)])
        let zero = [Float](repeating: 0, count: album.meta.dim)
        _ = try album.matchEntities(zero, [], delta: 2)
        _ = try album.words("photo".scalars)
        _ = try glossed("photo".scalars)
        let queries = QueryVectors(plain: zero, aligned: zero, projected: try projected(zero)).by(zero)
        for (channel, query) in try Channels.searched(album, queries) { _ = try album.scores(channel, query) }
        isWarm = true
    }

    // Layer 1

    private func read(_ query: Text, _ request: SearchRequest) throws -> Cues {
        let gazetteer = try models.gazetteer.get()
        var cues = try self.cues(query, request.now)
        let unread = cues.times.isEmpty && cues.places.isEmpty && !cues.hasNegated && cues.anchors.isEmpty
        if request.refinedBy == "llm", unread, Engine.hint.search(query) != nil, models.manifest.prompts["cues"] != nil,
            let said = try QuotedCues.ask(models, query)
        {
            cues = try reader.withQuotes(
                cues, time: said.time.scalars, place: said.place.scalars, now: request.now, gazetteer: gazetteer, extent: extent, near: near,
                southern: southern)
        }
        return try resolved(cues, request.gloss ? request.language : "")
    }

    private func resolved(_ cues: Cues, _ language: String) throws -> Cues {
        let events = AlbumEvents(album: album) { [models] in try models.text().encodeQuery($0) }
        return try reader.resolve(cues) { try events.find($0, language.isEmpty ? nil : glossed($0.scalars, language)) }
    }

    /// As `cues`, with the album's events looked up. `language`: see SearchRequest.
    func cuesWithEvents(_ text: Text, _ now: WallClock, _ language: String) throws -> Cues { try resolved(try cues(text, now), language) }

    /// Whether the query is in another language than English, and read by glosses.
    func isGlossed(_ text: Text, _ language: String) throws -> Bool { try glossed(text, language) != nil }

    /// The code of the language that a query has most words of; nil for an English one.
    func languageByWords(_ text: Text) -> String? { reader.language(of: text) }

    /// The times and places that a text names, by rules alone.
    func cues(_ text: Text, _ now: WallClock) throws -> Cues {
        try reader.parse(
            text, now: now, gazetteer: try models.gazetteer.get(), extent: extent, near: near, home: { [self] in home }, southern: southern)
    }

    /// The code of the language by whose table of glosses a query is read; "" for an English one.
    func language(of text: Text) throws -> String {
        guard let tables = try glosses.get() else { return "" }
        let wished = questions.languageOfWishes(text.slice(0, QuestionReader.mostRead), tables.tables.map(\.language))
        guard let reading = try tables.read(text, try nameWords.get(), language: wished) else { return text.stripped().contains(" ") ? "" : wished }
        return wished.isEmpty ? reading.language : wished
    }

    /// The number of the album's photos in a place.
    private func near(_ place: Place) -> Int {
        var count = 0
        for case let position? in positions where place.contains(position.lat, position.lon) { count += 1 }
        return count
    }

    /// The photos whose known time or place the query excludes ("not in Paris").
    private func negated(_ cues: Cues) throws -> [Int] {
        let boxes = cues.negatedTimes.map { Cube(start: $0.start, end: $0.end) } + cues.negatedPlaces.flatMap(\.boxes)
        return boxes.isEmpty ? [] : try album.inCubes(boxes).inside
    }

    // Layer 2

    private func refine(_ query: Text, _ cues: Cues, _ refinedBy: String) throws -> (Text, String) {
        if refinedBy == "off" { return (query, "off") }
        let plain = Refine.fast(cues.rest.scalars)
        if refinedBy == "fast" { return (plain, "fast") }
        let context = Refine.Context.fitting(try album.entityNames(500).map(\.scalars), query)
        return try Refine.byModel(models, query, plain, context)
    }

    /// A query in another language than English in English words; nil for an English one.
    private func glossed(_ text: Text, _ language: String = "") throws -> Glossed? {
        guard let reader = try glosses.get(), let reading = try reader.read(text, try nameWords.get(), language: language) else { return nil }
        return try GlossChoice.chosen(reading, album.holds)
    }

    /// The query's vectors: as the query adapter reads it, else with a sentence that contains the query. Memories
    /// are sentences, so a sentence embeds nearer to them than a bare title does.
    private func encode(_ text: Text, isAdapted: Bool) throws -> QueryVectors {
        let encoder = try models.text(), plain = try encoder.encodeQuery(text.string)
        if isAdapted, let adapter { return QueryVectors(plain: plain, aligned: try encoder.encodeQuery(text.string, adapter), projected: try projected(plain)) }
        let sentence = try encoder.encodeQuery("This photo shows \(text.strippedEnd { " .?!".unicodeScalars.contains($0) }.string).")
        let share = Float(1.0 / 3.0), rest = Float(1 - 1.0 / 3.0)
        return QueryVectors(plain: plain, aligned: zip(plain, sentence).map { rest * $0 + share * $1 }, projected: try projected(plain))
    }

    /// v_Q for those channels of the bundle's trained experts that the album has.
    private func projected(_ vector: [Float]) throws -> [Channels.Vector] {
        let have = try album.channels()
        return try models.askedChannels.filter { have.contains($0.name) }.map { ($0.name, try models.queryVector(vector)) }
    }

    // Layer 3

    /// The query's times and places as separate clues. Looked up one by one, so that an unknown or mistaken
    /// cue does not affect the weight of the others.
    private func clues(_ cues: Cues) throws -> [Clue] {
        var out: [Clue] = []
        if !cues.times.isEmpty {
            let boxes = TimeCue.merged(cues.times).map { Cube(start: $0.start, end: $0.end) }
            out.append(Clue(known: dated, inside: try mask(boxes), trust: cues.times.map(\.confidence).max()!))
        }
        let places = cues.places.filter { $0.photos != 0 }
        if !places.isEmpty {
            out.append(Clue(known: placed, inside: try mask(places.flatMap(\.boxes)), trust: places.map(\.confidence).max()!))
        }
        out += cues.recurring.map { cue in Clue(known: dated, inside: times.map { $0 != .min && cue.holds($0) }, trust: cue.confidence) }
        // A cue that fits no photo is misread or wrong: it would only favour the photos without a date.
        return out.filter { $0.inside.contains(true) }
    }

    private func mask(_ boxes: [Cube]) throws -> [Bool] {
        var out = [Bool](repeating: false, count: album.count)
        for row in try album.inCubes(boxes).inside { out[row] = true }
        return out
    }

    /// The rows to score, and how they were chosen, in one line. In a small album all rows; in a large one
    /// the best that each layer proposes, inside the cube and in all of the rows.
    private func candidates(_ words: WordScores, _ vectors: [Channels.Vector], _ cube: [Int], _ rows: [Int], _ nodes: Nodes) throws -> ([Int], String) {
        let searched = try Channels.searched(album, vectors), channels = searched.map(\.channel)
        if rows.count <= Engine.exactRows {
            return (rows, "exact scan of \(rows.count) photos, channels \(channels.isEmpty ? "none" : channels.joined(separator: " + "))")
        }
        var named: [Int] = [], plans: [String] = []
        for (channel, query) in searched {
            let found = try album.searchVectors(channel, query, k: Engine.candidates, rows: rows.count == album.count ? nil : rows)
            plans.append("\(channel) by \(found.plan.rawValue)")
            named += found.rows
            if cube.count < rows.count { named += try album.searchVectors(channel, query, k: Engine.candidates, rows: cube).rows }
        }
        for scores in [words.bm25(), nodes.linked, nodes.related] {
            for among in cube.count < rows.count ? [rows, cube] : [rows] { named += Engine.greatest(scores, among) }
        }
        var chosen = [Bool](repeating: false, count: album.count)
        for row in named { chosen[row] = true }
        if talk.isAny { for row in marked(chosen) { for step in Conversations.near { if let other = talk.neighbour(row, step) { chosen[other] = true } } } }
        let kept = rows.filter { chosen[$0] }
        return (kept, "\(kept.count) candidates of \(rows.count) photos (\(plans.joined(separator: ", "))), re-ranked exactly")
    }

    private static func greatest(_ scores: [Float], _ among: [Int]) -> [Int] {
        let positive = among.filter { scores[$0] > 0 }
        return topmost(positive.map { scores[$0] }, candidates).map { positive[$0] }
    }

    /// Photos at even distances, which stand for all `rows`.
    private func typical(_ rows: [Int]) -> [Int] {
        let step = (rows.count + Engine.typical - 1) / Engine.typical
        return stride(from: 0, to: rows.count, by: step).map { rows[$0] }
    }

    /// The features of each of `rows`, by the names of the weights, and which rows have a text and an image
    /// vector.
    private func features(_ words: WordScores, _ vectors: [Channels.Vector], _ rows: [Int], _ nodes: Nodes, _ clues: [Clue]) throws -> Features {
        let around = talk.context(words, rows), bm25 = words.bm25(), coverage = words.coverage()
        let scores = try Channels.scores(album, vectors, rows, isRough: rows.count > Engine.sure)
        func has(_ channel: String) -> [Bool] {
            scores.first { $0.name == channel }?.values.map(\.isFinite) ?? [Bool](repeating: false, count: rows.count)
        }
        let features: Ranking.Parts = Channels.finite(scores) + [
            ("words", rows.map { bm25[$0] }), ("coverage", rows.map { coverage[$0] }), ("context_words", around.words),
            ("context_coverage", around.coverage), ("entity", rows.map { nodes.linked[$0] }), ("related", rows.map { nodes.related[$0] }),
            ("cue", Clue.evidence(clues, rows)),
        ]
        return Features(values: features, weighted: Unknown.Known(parts: Ranking.weighted(features, weights), told: has("text"), seen: has("image")))
    }

    /// Computes the cosines of the rows at these places exactly, and what they weigh.
    private func sharpen(_ found: inout Features, _ places: [Int], _ rows: [Int], _ vectors: [Channels.Vector]) throws {
        for (name, exact) in try Channels.cosines(album, vectors, places.map { rows[$0] }) {
            let at = found.values.firstIndex { $0.name == name }!
            let weight = Float(weights[name])
            for (place, value) in zip(places, exact) {
                found.values[at].values[place] = value
                found.weighted.parts[at].values[place] = value * weight
            }
        }
    }

    /// Positions in `rows` of the k best, best first. A photo that the user preferred to another is moved
    /// before it.
    private func order(_ parts: Ranking.Parts, _ rows: [Int], _ k: Int) throws -> [Int] {
        let best = topmost(Ranking.total(parts), max(k, Engine.preferred))
        let place = Dictionary(uniqueKeysWithValues: best.map { (rows[$0], $0) })
        return try album.preferred(best.map { rows[$0] }).prefix(k).map { place[$0]! }
    }

    private func presence(_ features: Ranking.Parts, _ order: [Int]) -> Double {
        guard let first = order.first else { return 0 }
        func own(_ name: String) -> Double { features.first { $0.name == name }.map { Double($0.values[first]) } ?? 0 }
        let cosine = Channels.shared.map(own).max()! + Ranking.ofFewer(album.count)
        return Ranking.presence(weights, cosine: cosine, coverage: max(own("coverage"), own("context_coverage")), cue: own("cue"))
    }

    private func moment(_ photoId: String, _ row: Int, _ image: [Float]) throws -> ClipMoment? {
        guard let clip = try album.clip(photoId) else { return nil }
        return ClipMoment(start: Double(clip.start) / 1000, end: Double(clip.end) / 1000, second: try album.second(row, clip, image))
    }

    private func hits(_ rows: [Int], _ order: [Int], _ parts: Ranking.Parts, _ matches: [EntityMatch], _ here: Double, _ image: [Float]) throws -> [Hit] {
        let likely = Ranking.likelihoods(parts)
        return try zip(order, try album.photos(order.map { rows[$0] })).map { at, photo in
            let row = rows[at]
            let own = parts.map { (name: $0.name, value: rounded(Double($0.values[at]), 4)) }
            let said = photo.memories.first { !$0.isDerived } ?? photo.memories.first
            return Hit(
                row: row, photo: photo, score: rounded(own.reduce(0) { $0 + $1.value }, 4), probability: rounded(here * Double(likely[at]), 4), parts: own,
                memory: said?.text, matched: Array(matches.filter { $0.contains(row) }.map(\.name).prefix(4)),
                clip: try moment(photo.id, row, image))
        }
    }
}

/// Features of rows, unweighted and weighted.
private struct Features {
    var values: Ranking.Parts
    var weighted: Unknown.Known
}

/// By row, the strength of the best entity node: `linked`, that the photo's own memories name; `related`, that
/// the graph reaches from what the photo hangs on.
private struct Nodes {
    let linked: [Float]
    let related: [Float]

    init(_ matches: [EntityMatch], _ photos: Int, _ delta: Double) {
        linked = Nodes.strengths(matches, \.photos, photos, delta)
        related = Nodes.strengths(matches, \.reached, photos, delta)
    }

    /// In 0..1: how similar the best node is to the query. Scaled so that δ is 0 and a similarity of 1 is 1,
    /// but at least 0.05 for a linked photo; 0 for all others.
    private static func strengths(_ matches: [EntityMatch], _ kind: KeyPath<EntityMatch, [Int]>, _ photos: Int, _ delta: Double) -> [Float] {
        var out = [Float](repeating: 0, count: photos)
        for match in matches {
            let share = Float(max(0.05, (Double(match.similarity) - delta) / max(1e-6, 1 - delta)))
            for row in match[keyPath: kind] { out[row] = max(out[row], share) }
        }
        return out
    }
}

/// Milliseconds by layer.
private struct Clock {
    let now: () -> UInt64
    var spent: [String: Double] = [:]

    mutating func callAsFunction<T>(_ layer: String, _ body: () throws -> T) rethrows -> T {
        let begin = now()
        defer { spent[layer] = rounded(Double(now() - begin) / 1e6, 3) }
        return try body()
    }
}
