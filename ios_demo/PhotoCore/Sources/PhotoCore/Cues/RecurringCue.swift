/// Weekdays or hours of the day that the query names: "on Sundays", "at night", "at 5 pm"
/// (runtime/cues/recurring.py). They are evidence for the ranking and exclude no photo.
///
/// `weekdays`: Monday is 0. `minutes`: [from, to) in minutes of the day, above 1440 for the next day; nil for
/// any.
public struct RecurringCue: Sendable, Equatable {
    public let text: String
    public let kind: String
    public let weekdays: [Int]
    public let minutes: [Int]
    public let span: Range<Int>
    public let confidence: Double

    /// Whether a time (ms of wall time) fits.
    func holds(_ ms: Int) -> Bool {
        // 1970 began on a Thursday.
        if !weekdays.isEmpty { return weekdays.contains(floorMod(floorDiv(ms, CueCalendar.dayMs) + 3, 7)) }
        let minute = floorMod(floorDiv(ms, 60_000), 1440)
        return minute >= minutes[0] && minute < minutes[1] || minute < minutes[1] - 1440
    }
}

struct RecurringReader: Sendable {
    private let tables: CueTables
    private let atoms: AtomReader
    private let words: Pattern
    private let triggers: Set<Text>

    private static let clock = Pattern(
        #"(?<![0-9a-z:.,/-])(?:(?:at|around|by)\s+)?(?:(?<h>[01]?[0-9]|2[0-3])[:h.](?<m>[0-5][0-9])(?![0-9:.])\s*(?<ap>[ap]\.?m\b)?|(?<h2>1[0-2]|[1-9])\s*(?<ap2>[ap]\.?m\b))"#)
    private static let verbs = Set(["sat", "sun", "mon", "wed"].map(\.scalars))

    init(_ tables: CueTables, _ atoms: AtomReader) throws {
        (self.tables, self.atoms) = (tables, atoms)
        func spelt(_ words: [Text]) -> String { words.sorted { $0.count != $1.count ? $0.count > $1.count : $0.string < $1.string }.map(\.string).joined(separator: "|") }
        let days = spelt(Array(tables.weekdays.keys) + tables.recurringWeekdays.map(\.name)), hours = spelt(tables.recurringHours.map(\.name))
        words = try Pattern(reading: "(?<![a-z0-9])(?:(?<day>\(days))s?|(?<hour>\(hours))s?)(?![a-z0-9])")
        triggers = Set(["weekday".scalars] + tables.recurringHours.flatMap { [$0.name, $0.name + ["s"]] } + tables.recurringWeekdays.map(\.name))
    }

    /// The weekdays and parts of the day outside the spans `taken` by time cues, and all clock times.
    func find(_ text: Text, taken: [Range<Int>]) -> [RecurringCue] {
        let flat = AtomReader.flatten(text), held = atoms.present(flat)
        var out = held.isDisjoint(with: triggers) ? [] : named(text, flat, taken)
        if held.contains("digit".scalars) { out += clocks(text, flat) }
        return out
    }

    private func named(_ text: Text, _ flat: Text, _ taken: [Range<Int>]) -> [RecurringCue] {
        words.all(flat).compactMap { m in
            if taken.contains(where: { $0.lowerBound < m.end && m.start < $0.upperBound }) || RecurringReader.verbs.contains(m.whole) { return nil }
            if let day = m["day"] {
                let days = tables.recurringWeekdays.first { $0.name == day }?.days ?? [tables.weekdays[day] ?? 0]
                return cue(text, "weekdays", days, [], m.span, nil)
            }
            guard let hours = tables.recurringHours.first(where: { $0.name == m["hour"] }) else { return nil }
            return cue(text, "hours", [], [hours.low * 60, hours.high * 60], m.span, hours.trust)
        }
    }

    /// Clock times ("at 5 PM", "13:00"), each from half an hour before to an hour and a half after.
    private func clocks(_ text: Text, _ flat: Text) -> [RecurringCue] {
        RecurringReader.clock.all(flat).map { m in
            var hour = Int((m["h"] ?? m["h2"] ?? []).string) ?? 0
            let minute = Int((m["m"] ?? []).string) ?? 0, half = (m["ap"] ?? m["ap2"] ?? []).first
            if let half, hour <= 12 { hour = hour % 12 + (half == "p" ? 12 : 0) }
            let begin = floorMod(hour * 60 + minute - 30, 1440)
            return cue(text, "hours", [], [begin, begin + 120], m.span, nil)
        }
    }

    private func cue(_ text: Text, _ kind: String, _ weekdays: [Int], _ minutes: [Int], _ span: Range<Int>, _ trust: Double?) -> RecurringCue {
        RecurringCue(
            text: Text(text[span]).string, kind: kind, weekdays: weekdays, minutes: minutes, span: span, confidence: trust ?? tables.trust[kind] ?? 1)
    }
}
