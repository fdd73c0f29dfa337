/// A question answered in several steps by rules (runtime/agent/rules.py): the photos in relation to an anchor ("the last one before the
/// wedding"), and what they tell where a time, a place or a person is asked for. Of other questions, and where nothing is found, what a
/// search finds.
struct Ask {
    private static let led = 3  // photos that are read for a fact, to which the question's relation leads

    private let engine: Engine
    private let told: Told
    private var find: Find

    init(_ engine: Engine, _ request: SearchRequest) throws {
        (self.engine, told, find) = (engine, Told(engine), try Find(engine, request))
    }

    mutating func answer() throws -> Answer {
        let question = try find.question(), wanted = try find.wanted(question), isAnchored = !wanted.anchor.isEmpty
        if question.grouped != nil || !isAnchored && !Told.asked.contains(wanted.asks) { return try find.answer() }
        let part = find.part
        var related = try Related(engine, wanted, try find.within(question)) { try part($0, $1, $2) }
        let known = isAnchored ? [] : try find.rows(of: wanted.target), isOrdered = wanted.order != 0 && !wanted.isOccasion && known.isEmpty
        let led = isAnchored || isOrdered ? try related.rows() : related.ordered(related.byTime(known), wanted.order)
        if isAnchored && led.isEmpty { return try other(related.remark) }
        if isAnchored { find.remarks.append(related.remark) }
        var (rows, fact) = (led, "")
        if !known.isEmpty {
            fact = try told.ofAll(wanted, led)
        } else if Told.asked.contains(wanted.asks) {
            (rows, fact) = try self.fact(wanted, led)
        }
        if fact.isEmpty && !isAnchored { return try other(nil) }
        return try find.shown(wanted, led.isEmpty ? rows : led, fact.isEmpty ? nil : Remark(code: .line, text: fact.scalars))
    }

    /// The photos nearest to the question, those to which its relation leads first, and what they tell; "" where that is not sure.
    private func fact(_ wanted: Wanted, _ led: [Int]) throws -> ([Int], String) {
        // A time or place is that of what is asked about, whose other words would only draw others near.
        let about = wanted.asks != "who" && !wanted.target.isEmpty ? wanted.target : find.query
        let nearest = try find.part(about, Told.evidence, nil)
        let rows = Array(Words.unique(led.prefix(Ask.led) + nearest.hits.map(\.row)).prefix(Told.evidence))
        let here = Membership.presence(nearest, engine.weights, photos: engine.album.count)
        let isSure = try !led.isEmpty || here >= Membership.present && find.isHeard()
        return (rows, isSure ? try told.of(wanted.asks, find.query, rows) : "")
    }

    private mutating func other(_ why: Remark?) throws -> Answer {
        find.remarks = []
        var out = try find.answer()
        out.note = out.note ?? why
        return out
    }
}
