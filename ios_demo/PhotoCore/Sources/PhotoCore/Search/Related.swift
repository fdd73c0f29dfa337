/// The photos that a question wants in relation to an anchor: before it, after it, between two, of the same day; of two anchors that are
/// compared the photos, the earlier one first; without an anchor those of the target, in order (runtime/agent/rules.py). `search`: for so many photos, among those of a mask. `allowed`:
/// the photos that may be shown; nil: all.
struct Related {
    typealias Search = (_ text: Text, _ k: Int, _ within: [Bool]?) throws -> Answer

    private static let anchors = 5, lookedAt = 40  // hits of a search for an anchor; hits of which those of a set are taken
    private static let second = 1_000  // ms, to which times are compared
    private static let soon = 24 * 3_600_000  // that "after" reaches when it names no number and no order
    private static let around = ["week": 3, "weekend": 1, "trip": 2, "event": 2]  // days

    private let engine: Engine
    private let asked: Wanted
    private let allowed: [Bool]?
    private let search: Search
    private let times: [Int]
    private let place: [Int]  // by row, in order of time; -1 without a time
    private static let iso = 10  // characters of a day
    private var anchors: [String] = []
    private var album: Album { engine.album }

    /// What was found out of the anchors, or why nothing is found.
    private(set) var remark = Remark(code: .noRelated)

    init(_ engine: Engine, _ asked: Wanted, _ allowed: [Bool]?, _ search: @escaping Search) throws {
        let times = try engine.album.times()
        (self.engine, self.asked, self.allowed, self.search, self.times) = (engine, asked, allowed, search, times)
        var place = [Int](repeating: -1, count: times.count)
        let dated = times.indices.filter { times[$0] != .min }.sorted { (times[$0], $0) < (times[$1], $1) }
        for (at, row) in dated.enumerated() { place[row] = at }
        self.place = place
    }

    /// In the order in which they are shown.
    mutating func rows() throws -> [Int] {
        let found: [Int]?
        switch asked.relation {
        case "": found = asked.anchor.isEmpty ? try plain() : try earlier()
        case "same": found = try same()
        case "between": found = try between()
        default: found = try around()
        }
        guard let rows = found, !asked.anchor.isEmpty else { return found ?? [] }
        let isComparing = asked.relation.isEmpty
        remark = Remark(
            code: rows.isEmpty ? .noRelated : isComparing ? .first : .anchor, name: anchors.prefix(isComparing && !rows.isEmpty ? 1 : 2).joined(separator: " … "))
        return rows
    }

    /// All photos of the target, in order; nil where the album does not seem to have it.
    private func plain() throws -> [Int]? {
        if asked.target.isEmpty { return ordered(sorted(place.map { $0 >= 0 }), asked.order) }
        let (found, isPresent) = try every(asked.target, nil)
        return isPresent ? ordered(found, asked.order) : nil
    }

    /// Which of two things was first.
    private mutating func earlier() throws -> [Int]? {
        guard let first = try anchor(asked.anchor, 0), let second = try anchor(asked.other, 0) else { return nil }
        if self.second(second) < self.second(first) { anchors.reverse() }
        return Words.unique(self.second(second) < self.second(first) ? [second, first] : [first, second])
    }

    private mutating func same() throws -> [Int]? {
        guard let anchor = try anchor(asked.anchor, asked.anchorOrder) else { return nil }
        var within = try unit(asked.unit, anchor, asked.shift)
        if !asked.side.isEmpty {
            within = Related.both(within, side(anchor, asked.side == "earlier"))
        } else if !asked.withAnchor {
            within[anchor] = false
        }
        return ordered(try among(permitted(within)), asked.order)
    }

    private mutating func between() throws -> [Int]? {
        guard let first = try anchor(asked.anchor, 0), let second = try anchor(asked.other, 0) else { return nil }
        let isTurned = self.second(second) < self.second(first)
        let within = Related.both(side(isTurned ? second : first, false), side(isTurned ? first : second, true))
        return ordered(try among(permitted(within)), asked.order)
    }

    private func permitted(_ within: [Bool]) -> [Bool] { allowed.map { Related.both(within, $0) } ?? within }

    /// All photos in a mask, by time, or those of the target; none where none of them seems to show it.
    private func among(_ within: [Bool]) throws -> [Int] {
        let rows = sorted(within)
        if rows.isEmpty || asked.target.isEmpty { return rows }
        let (found, isPresent) = try every(asked.target, within)
        return isPresent ? found : []
    }

    private mutating func around() throws -> [Int]? {
        guard let anchor = try anchor(asked.anchor, asked.anchorOrder) else { return nil }
        let isBefore = asked.relation == "before"
        var within = permitted(side(anchor, isBefore))
        if !asked.unit.isEmpty { within = Related.both(within, try unit(asked.unit, anchor).map { !$0 }) }
        if !asked.target.isEmpty { return try matching(within, isBefore) }
        let limit = asked.number > 0 || asked.order != 0 ? max(asked.number, 1) : 0
        if limit == 0 && !asked.isExhaustive { return try soon(anchor, within, isBefore) }
        let rows = sorted(within)
        if abs(asked.order) > 1 || asked.order == (isBefore ? 1 : -1) { return ordered(rows, asked.order) }
        return Array((isBefore ? rows.reversed() : rows).prefix(limit > 0 ? limit : rows.count))
    }

    /// "Photos after the launch" are those of the next hours; if there are none, of the nearest day.
    private func soon(_ anchor: Int, _ within: [Bool], _ isBefore: Bool) throws -> [Int] {
        let begin = second(anchor) * Related.second, end = begin + Related.second - 1
        let rows = sorted(Related.both(within, isBefore ? span(begin - Related.soon, end) : span(begin, end + Related.soon)))
        if !rows.isEmpty { return rows }
        let side = sorted(within)
        guard let nearest = isBefore ? side.last : side.first else { return [] }
        return sorted(Related.both(within, try unit("day", nearest)))
    }

    /// Photos of the target on one side of the anchor; where none is sure, the likeliest one there.
    private func matching(_ within: [Bool], _ isBefore: Bool) throws -> [Int] {
        let rows = byTime(try every(asked.target, nil).0.filter { within[$0] })
        if rows.isEmpty { return within.contains(true) ? try search(asked.target, 1, within).hits.map(\.row) : [] }
        // "The cat before it" is the nearest one.
        return ordered(rows, asked.number > 0 && asked.order == 0 ? (isBefore ? -1 : 1) : asked.order)
    }

    /// The row of an anchor's photo; nil if the album does not seem to have it, or not to know when it was.
    private mutating func anchor(_ phrase: Text, _ order: Int) throws -> Int? {
        var row: Int?
        if order == 0 {
            let answer = try search(phrase, Related.anchors, nil)
            row = isPresent(answer) ? answer.hits.first?.row : nil
        } else {
            let (found, isPresent) = try every(phrase, nil), rows = byTime(found, newestFirst: order < 0)
            row = isPresent && rows.count >= abs(order) ? rows[abs(order) - 1] : nil
        }
        let day = row.flatMap { place[$0] < 0 ? nil : Explain.day(times[$0]) }
        if let day, day.utf8.count == Related.iso {  // not of a time outside of the calendar
            anchors.append("\(phrase.string) (\(day))")
            return row
        }
        remark = Remark(code: row == nil ? .absentAnchor : .undatedAnchor, text: phrase)
        return nil
    }

    /// Every photo of what a text means, and whether the album seems to have it.
    private func every(_ text: Text, _ within: [Bool]?) throws -> ([Int], Bool) {
        let answer = try search(text, Related.lookedAt, within)
        return (try Membership.members(album, answer, engine.weights), isPresent(answer))
    }

    private func isPresent(_ answer: Answer) -> Bool { Membership.presence(answer, engine.weights, photos: album.count) >= Membership.present }

    /// The first, last or n-th of what was found, or all of it; of an occasion all of that one day.
    func ordered(_ found: [Int], _ order: Int) -> [Int] {
        let rows = found.filter { allowed?[$0] != false }
        if order == 0 && asked.number == 0 { return rows }
        let number = asked.number > 0 ? asked.number : asked.relation.isEmpty ? rows.count : 1
        let left = byTime(rows, newestFirst: order < 0).filter { place[$0] >= 0 }.dropFirst(max(abs(order), 1) - 1)
        guard asked.isOccasion, let first = left.first else { return byTime(Array(left.prefix(number))) }
        return byTime(left.filter { day($0) == day(first) })
    }

    /// The photos in the unit of time around the anchor's, or `shift` of them away.
    private func unit(_ unit: String, _ anchor: Int, _ shift: Int = 0) throws -> [Bool] {
        let day = day(anchor)
        if shift != 0 { return shifted(day, shift, unit) }
        let event = unit == "trip" || unit == "event" ? try album.sharingEvent(anchor) : []
        if !event.isEmpty {
            var mask = [Bool](repeating: false, count: times.count)
            for row in event { mask[row] = true }
            return mask
        }
        if unit == "month" || unit == "year" { return months(day, unit, 0) }
        let reach = Related.around[unit] ?? 0
        return days(day - reach, day + reach)
    }

    /// The photos of the day `count` days after a day (nights, mornings and evenings are days), of the month or the year that many after
    /// its own, of the weekend, or of the week that many weeks after it, day 1 to day 7.
    private func shifted(_ day: Int, _ count: Int, _ unit: String) -> [Bool] {
        switch unit {
        case "month", "year": return months(day, unit, count)
        case "weekend":
            // The weekend before a day of a weekend is another one, and so is the one after it.
            let since = floorMod(day - 2, 7), saturday = day - since + 7 * (count > 0 || since < 2 ? count : count + 1)
            return days(saturday, saturday + 1)  // 3 January 1970 was one
        case "week": return count > 0 ? days(day + 7 * (count - 1) + 1, day + 7 * count) : days(day + 7 * count, day + 7 * (count + 1) - 1)
        default: return days(day + count, day + count)
        }
    }

    /// The photos of the month or the year of a day, or of that so many after it.
    private func months(_ day: Int, _ unit: String, _ shift: Int) -> [Bool] {
        let found = try? CueCalendar.date(day + CueCalendar.epoch)
        let length = found.flatMap { date in
            unit == "year" ? try? CueCalendar.years(date.year + shift) : try? CueCalendar.month(date.year, date.month + shift)
        }
        return length.map { days($0.first - CueCalendar.epoch, $0.last - CueCalendar.epoch) } ?? days(1, 0)
    }

    private func second(_ row: Int) -> Int { floorDiv(times[row], Related.second) }

    private func day(_ row: Int) -> Int { floorDiv(times[row], CueCalendar.dayMs) }

    private func days(_ first: Int, _ last: Int) -> [Bool] { span(first &* CueCalendar.dayMs, (last &+ 1) &* CueCalendar.dayMs &- 1) }

    private func span(_ first: Int, _ last: Int) -> [Bool] { times.map { $0 != .min && $0 >= first && $0 <= last } }

    /// The dated photos before or after a photo; those of the same moment in the album's order.
    private func side(_ row: Int, _ isBefore: Bool) -> [Bool] { place.map { $0 >= 0 && (isBefore ? $0 < place[row] : $0 > place[row]) } }

    private func sorted(_ mask: [Bool]) -> [Int] { byTime(mask.indices.filter { mask[$0] }) }

    /// In order of time; undated photos come last.
    func byTime(_ rows: [Int], newestFirst: Bool = false) -> [Int] {
        let keys = rows.map { place[$0] < 0 ? place.count : newestFirst ? -place[$0] : place[$0] }
        return rows.indices.sorted { (keys[$0], $0) < (keys[$1], $1) }.map { rows[$0] }
    }

    private static func both(_ one: [Bool], _ other: [Bool]) -> [Bool] { zip(one, other).map { $0 && $1 } }
}
