/// One interval that the query names. A month without a year yields several cues with the same span, one per
/// year.
///
/// `start`, `end`: ms of wall time as UTC, both included, nil when open. `span`: the cue's characters in the
/// query. `kind`: day, span, month, season, year, decade, yearly, holiday, relative, today, weekday, open,
/// last time, anchor. `confidence`: the share of the photos meant by such words that lie inside; the ranking
/// takes it as evidence.
public struct TimeCue: Sendable, Equatable {
    public var text: String
    public let start: Int?
    public let end: Int?
    public var span: Range<Int>
    public let kind: String
    public let confidence: Double

    static let deictic: Set<String> = ["today", "relative", "weekday"]

    /// The cues as one list of intervals. The intervals of cues with different spans are intersected if they
    /// overlap ("May … 2012"), else united.
    static func merged(_ times: [TimeCue]) -> [Interval] {
        var spans: [Range<Int>] = [], groups: [Range<Int>: [Interval]] = [:]
        for time in times {
            if groups[time.span] == nil { spans.append(time.span) }
            groups[time.span, default: []].append(Interval(time.start, time.end))
        }
        var result: [Interval] = []
        for span in spans {
            let group = groups[span]!
            let both = result.flatMap { one in group.compactMap { meet(one, $0) } }
            result = both.isEmpty ? result + group : both
        }
        return Array(Words.unique(result).suffix(CueCalendar.maxIntervals))
    }

    private static func meet(_ a: Interval, _ b: Interval) -> Interval? {
        let start = a.start.flatMap { x in b.start.map { max(x, $0) } } ?? a.start ?? b.start
        let end = a.end.flatMap { x in b.end.map { min(x, $0) } } ?? a.end ?? b.end
        if let start, let end, start > end { return nil }
        return Interval(start, end)
    }
}
