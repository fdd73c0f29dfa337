/// An offset from something that has a time: "two days after", "the weekend before", "the morning of"
/// (runtime/cues/offsets.py).
///
/// `count` units (0: a few) before (`way` -1) or after (1) something, or a part of it (0). `counted`: whether
/// the words include a number. `unit`: day, week, weekend, month, year, a weekday or a part of the day.
struct Offset: Sendable {
    let count: Int
    let counted: Bool
    let unit: Text
    let way: Int
    let span: Range<Int>

    /// The interval that lies this offset before or after `span`; an open `span` is returned as it is. A
    /// single week, month or year is the one directly adjacent to `span`.
    func shifted(_ interval: Interval, _ tables: CueTables) throws -> Interval {
        guard let start = interval.start, let end = interval.end else { return interval }
        let first = floorDiv(start, CueCalendar.dayMs) + CueCalendar.epoch, last = floorDiv(end, CueCalendar.dayMs) + CueCalendar.epoch
        let n = count, edge = way > 0 ? last : first
        func days(_ a: Int, _ b: Int) -> Interval { CueCalendar.interval(Days(a, b)) }
        // "the night before", "the morning after".
        if tables.daypart(unit) != nil { return try CueCalendar.daypart(edge + way * max(n, 1), unit, tables) }
        if let weekday = tables.weekdays[unit] {
            let step = floorMod(way > 0 ? weekday - (edge - 1) : (edge - 1) - weekday, 7), day = edge + way * (step != 0 ? step : 7)
            return days(day, day)
        }
        if unit == "weekend".scalars {
            let saturday = way < 0 ? CueCalendar.monday(first - 1) - 2 : CueCalendar.monday(last) + 5 + (floorMod(last - 1, 7) < 5 ? 0 : 7)
            let moved = saturday + 7 * way * (max(n, 1) - 1)
            return days(moved, moved + 1)
        }
        guard let length = ["day": 1, "week": 7, "month": 30, "year": 365][unit.string] else { throw NoDate() }
        if n == 0 {  // a few: two to six
            let near = edge + way * 2 * length, far = edge + way * 6 * length
            return days(min(near, far), max(near, far))
        }
        if length == 1 { return days(edge + way * n, edge + way * n) }
        if !counted || n == 1 { return way > 0 ? days(edge + 1, edge + length) : days(edge - length, edge - 1) }
        let middle = edge + way * n * length, reach = length / 2
        return days(middle - reach, middle + reach)
    }
}

/// Reads offsets with one regular expression for dates and events, up to its "before", "after" or
/// "following".
struct OffsetReader: Sendable {
    private static let reach = 60  // characters before an expression in which an offset may begin
    let words: String
    private let beforeADate: Pattern
    private let tables: CueTables

    init(_ tables: CueTables) throws {
        self.tables = tables
        // Python keeps the table's order among words of equal length. None of these is a prefix of another of
        // its length, so any order gives the same.
        let numbers = tables.numbers.keys.sorted { $0.count != $1.count ? $0.count > $1.count : $0.string < $1.string }.map(CueExpander.escaped)
        let units = ["days?", "weeks?", "weekends?", "months?", "years?"] + tables.dayparts.map { $0.name.string }
            + tables.weekdays.keys.filter { $0.count > 4 }.map(\.string).sorted()
        words = #"(?<![a-z0-9])(?:(?:on|in|during|from)\s+)?(?:the\s+)?(?:(?<n>[0-9]{1,2}|"# + numbers.joined(separator: "|")
            + #"|a\s+few|several)\s+)?(?<unit>"# + units.joined(separator: "|") + #")\s+(?<way>before|after|following)"#
        beforeADate = try Pattern(reading: words + #"\s+(?:the\s+)?$"#)
    }

    /// The offset whose words end at character `at` of the flattened text, or nil.
    func read(_ flat: Text, _ at: Int) -> Offset? { beforeADate.search(flat, in: max(0, at - OffsetReader.reach)..<at).flatMap(offset) }

    /// The offset of a match of `words`.
    func offset(_ m: Match) -> Offset? {
        let text = (m["n"] ?? []).tidied(), few = text == "a few".scalars || text == "several".scalars
        guard let said = m["unit"], let count = few ? 0 : try? Makers.number(text.isEmpty ? "1".scalars : text, tables) else { return nil }
        let unit = tables.weekdays[said] == nil && said.last == "s" ? Array(said.dropLast()) : said
        return Offset(count: count, counted: !text.isEmpty, unit: unit, way: m["way"] == "before".scalars ? -1 : 1, span: m.span)
    }
}
