/// A question answered in several steps by rules (runtime/agent/rules.py): the photos in relation to an anchor ("the last one before the
/// wedding"), and what they tell where a time, a place or a person is asked for. Of other questions, and where nothing is found, what a
/// search finds.
struct Ask {
    private static let shown = 3  // photos beside a fact

    private let engine: Engine
    private let told: Told
    private var find: Find

    init(_ engine: Engine, _ request: SearchRequest) throws {
        (self.engine, find) = (engine, try Find(engine, request))
        told = Told(engine, find)
    }

    mutating func answer() throws -> Answer {
        let question = try find.question(), wanted = question.wanted, isAnchored = !wanted.anchor.isEmpty, within = try find.within(question)
        let tells = Told.asked.contains(wanted.asks)
        if question.grouped != nil || !isAnchored && !tells { return try find.answer(question, within) }
        let find = find, known = isAnchored ? [] : try find.rows(of: wanted.target).filter { within?[$0] != false }
        var led: [Int] = [], remark: Remark?
        if isAnchored || wanted.order != 0 || !known.isEmpty {
            var related = try Related(engine, wanted, within) { try find.part($0, $1, $2) }
            led = known.isEmpty ? try related.rows() : related.ordered(related.byTime(known), wanted.order)
            remark = isAnchored ? related.remark : nil
        }
        if isAnchored && led.isEmpty {
            var out = try self.find.answer(question, within)
            out.note = out.note ?? remark
            return out
        }
        let rows = !led.isEmpty || !tells ? led : try nearest(wanted, within)
        let read = Array(rows.prefix(Told.evidence))
        let fact = !known.isEmpty ? try told.ofAll(wanted, led) : tells ? try told.of(wanted.asks, find.query, read) : ""
        if fact.isEmpty && !isAnchored { return try self.find.answer(question, within) }
        if let remark { self.find.remarks.append(remark) }
        let isSure = !known.isEmpty || isAnchored && wanted.target.isEmpty, note = fact.isEmpty ? nil : Remark(code: .line, text: fact.scalars)
        return try self.find.shown(wanted, led.isEmpty ? Array(rows.prefix(Ask.shown)) : led, isSure: isSure, note)
    }

    /// The photos nearest to the question; none where the album does not seem to have what it asks about.
    private func nearest(_ wanted: Wanted, _ within: [Bool]?) throws -> [Int] {
        if try !told.isHeard() { return [] }
        // A time or place is that of what is asked about, whose other words would only draw others near.
        let about = wanted.asks != "who" && !wanted.target.isEmpty ? wanted.target : find.query
        let nearest = try find.part(about, Told.evidence, within)
        return Membership.presence(nearest, engine.weights, photos: engine.album.count) >= Membership.present ? nearest.hits.map(\.row) : []
    }
}
