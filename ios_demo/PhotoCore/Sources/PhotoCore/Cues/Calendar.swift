/// Ms of wall time as if UTC, both ends included; nil is open.
public struct Interval: Sendable, Hashable {
    public var start: Int?
    public var end: Int?

    public init(_ start: Int?, _ end: Int?) { (self.start, self.end) = (start, end) }
}

/// First and last day, both included, as proleptic Gregorian ordinals (1 January of year 1 is 1).
struct Days: Sendable, Equatable {
    var first: Int
    var last: Int

    init(_ first: Int, _ last: Int) { (self.first, self.last) = (first, last) }
}

/// The words are not a date, such as 31 April or the year 0. Then there is no cue.
struct NoDate: Error {}

/// A moment of the user's wall clock, without a zone, because album times are wall times.
public struct WallClock: Sendable, Equatable {
    public let year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, millisecond: Int

    public init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0) {
        (self.year, self.month, self.day, self.hour) = (year, month, day, hour)
        (self.minute, self.second, self.millisecond) = (minute, second, millisecond)
    }

    /// Reads "2012-09-20" or "2012-09-20T15:30:00"; nil for anything else.
    public init?(_ text: String) {
        let numbers = text.split { !$0.isNumber }.compactMap { Int($0) }
        guard numbers.count >= 3, (try? CueCalendar.ordinal(numbers[0], numbers[1], numbers[2])) != nil else { return nil }
        let rest = Array(numbers.dropFirst(3)) + [0, 0, 0, 0]
        let fraction = numbers.count > 6 ? Int((String(numbers[6]) + "000").prefix(3)) ?? 0 : 0
        self.init(year: numbers[0], month: numbers[1], day: numbers[2], hour: rest[0], minute: rest[1], second: rest[2], millisecond: fraction)
    }

    var ordinal: Int { (try? CueCalendar.ordinal(year, month, day)) ?? 1 }
    var milliseconds: Int { (ordinal - CueCalendar.epoch) * CueCalendar.dayMs + ((hour * 60 + minute) * 60 + second) * 1000 + millisecond }
}

/// The reference of relative time words. `now`: the wall clock. `extent`: ms of the album's first and last
/// photo, both included; nil if unknown. `southern`: whether seasons are those of the southern hemisphere.
struct TimeContext: Sendable {
    let now: WallClock
    let extent: (low: Int, high: Int)?
    let southern: Bool
    let tables: CueTables

    var today: Int { now.ordinal }

    /// The years of the album's extent and the year before, at most 40 years before the last. Last year and
    /// this year if the extent is unknown.
    func years() -> ClosedRange<Int> {
        guard let extent else { return (now.year - 1)...now.year }
        let low = max(1900, min(2100, CueCalendar.year(ms: extent.low))), high = max(1900, min(2100, CueCalendar.year(ms: extent.high)))
        return min(max(low - 1, high - 40), high)...high
    }
}

/// Calendar arithmetic for time words (runtime/cues/calendar_days.py).
enum CueCalendar {
    static let dayMs = 86_400_000
    static let epoch = 719_163
    static let maxIntervals = 40
    private static let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    private static func daysBefore(_ year: Int) -> Int { (year - 1) * 365 + (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 }

    private static func length(_ year: Int, _ month: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// The day as an ordinal. Throws NoDate for a day that does not exist or lies outside the years 1 to
    /// 9999.
    static func ordinal(_ year: Int, _ month: Int, _ day: Int) throws -> Int {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= length(year, month) else { throw NoDate() }
        return daysBefore(year) + before[month - 1] + (month > 2 && isLeap(year) ? 1 : 0) + day
    }

    static func date(_ ordinal: Int) throws -> (year: Int, month: Int, day: Int) {
        guard ordinal >= 1, ordinal <= 3_652_059 else { throw NoDate() }
        var year = max(1, ordinal * 400 / 146_097)
        while daysBefore(year + 1) < ordinal { year += 1 }
        while daysBefore(year) >= ordinal { year -= 1 }
        var month = 1, left = ordinal - daysBefore(year)
        while left > length(year, month) {
            left -= length(year, month)
            month += 1
        }
        return (year, month, left)
    }

    static func year(ms: Int) -> Int { (try? date(floorDiv(ms, dayMs) + epoch).year) ?? (ms < 0 ? 1900 : 2100) }

    static func interval(_ days: Days) -> Interval { Interval((days.first - epoch) * dayMs, (days.last + 1 - epoch) * dayMs - 1) }

    /// The days of a month; a month above 12 or below 1 counts into the following or earlier years.
    static func month(_ year: Int, _ month: Int) throws -> Days {
        let year = year + floorDiv(month - 1, 12), month = floorMod(month - 1, 12) + 1
        return Days(try ordinal(year, month, 1), try ordinal(year + month / 12, month % 12 + 1, 1) - 1)
    }

    static func months(_ year: Int, _ first: Int, _ count: Int) throws -> Days {
        Days(try month(year, first).first, try month(year, first + count - 1).last)
    }

    static func years(_ year: Int, _ count: Int = 1) throws -> Days { Days(try ordinal(year, 1, 1), try ordinal(year + count, 1, 1) - 1) }

    /// Easter Sunday of the Gregorian calendar, as an ordinal (anonymous Gregorian computus).
    static func easter(_ year: Int) throws -> Int {
        let a = year % 19, b = year / 100, c = year % 100, d = b / 4, e = b % 4
        let g = (8 * b + 13) / 25, h = (19 * a + b - d - g + 15) % 30
        let i = c / 4, k = c % 4, r = (32 + 2 * e + 2 * i - h - k) % 7
        let m = (a + 11 * h + 22 * r) / 451, n = h + r - 7 * m + 114
        return try ordinal(year, n / 31, n % 31 + 1)
    }

    /// Easter Sunday of the Julian calendar, as a Gregorian ordinal (Meeus; valid for 1900..2099).
    static func orthodoxEaster(_ year: Int) throws -> Int {
        let d = (19 * (year % 19) + 15) % 30, e = (2 * (year % 4) + 4 * (year % 7) - d + 34) % 7
        return try ordinal(year, (d + e + 114) / 31, (d + e + 114) % 31 + 1) + 13
    }

    /// The n-th weekday (Monday 0) of a month, as an ordinal; the last one for n = -1. Throws NoDate if the
    /// month has fewer.
    static func nthWeekday(_ year: Int, _ month: Int, _ weekday: Int, _ n: Int) throws -> Int {
        let days = try self.month(year, month)
        if n < 0 { return days.last - floorMod(days.last - 1 - weekday, 7) }
        let day = days.first + floorMod(weekday - (days.first - 1), 7) + 7 * (n - 1)
        guard day <= days.last else { throw NoDate() }
        return day
    }

    /// The days on which people photograph under a holiday's name, or the holiday itself.
    static func holiday(_ rule: HolidayRule, _ year: Int, itself: Bool, _ tables: CueTables) throws -> Days {
        let day = try named(rule, year, tables) + rule.shift
        return itself ? Days(day, day) : Days(day - rule.before, day + rule.after)
    }

    private static func named(_ rule: HolidayRule, _ year: Int, _ tables: CueTables) throws -> Int {
        if rule.day.count == 2 { return try ordinal(year, rule.day[0], rule.day[1]) }
        if rule.nth.count == 3 { return try nthWeekday(year, rule.nth[0], rule.nth[1], rule.nth[2]) }
        if let days = rule.easter { return try easter(year) + days }
        if let days = rule.orthodox { return try orthodoxEaster(year) + days }
        if rule.weekdayFrom.count == 3 {
            let first = try ordinal(year, rule.weekdayFrom[0], rule.weekdayFrom[1])
            return first + floorMod(rule.weekdayFrom[2] - (first - 1), 7)
        }
        guard let found = tables.tables[rule.table]?[year] else { throw NoDate() }
        return try ordinal(year, found / 100, found % 100)
    }

    /// The third of the days that the part names ("early", "mid", "late"); all of them without a part.
    static func part(_ days: Days, _ part: Text?, _ tables: CueTables) throws -> Days {
        guard let part, !part.isEmpty else { return days }
        guard let (low, high) = tables.thirds[part.tidied()] else { throw NoDate() }
        let third = (days.last - days.first + 1) / 3
        let begin = [days.first, days.first + third, days.last - third + 1][low]
        return Days(begin, [days.first, days.first + third - 1, days.last - third, days.last][high])
    }

    /// The three months of a meteorological season; a northern winter begins in December of the year.
    /// Southern seasons lie half a year away; a southern summer begins in December of the year before.
    static func season(_ year: Int, _ name: Text, _ ctx: TimeContext) throws -> Days { try season(year, name, southern: ctx.southern, ctx.tables) }

    static func season(_ year: Int, _ name: Text, southern: Bool, _ tables: CueTables) throws -> Days {
        guard let first = tables.seasons[name] else { throw NoDate() }
        return try months(year, southern ? first + (first < 6 ? 6 : -6) : first, 3)
    }

    /// The n-th last occurrence that ended before today.
    static func last(_ of: (Int) throws -> Days, _ ctx: TimeContext, _ n: Int) throws -> Days {
        var year = ctx.now.year + 1
        while try of(year).last >= ctx.today { year -= 1 }
        return try of(year - (n - 1))
    }

    /// The occurrence of the year before or after if today lies in it, else this year's.
    static func current(_ of: (Int) throws -> Days, _ ctx: TimeContext) throws -> Days {
        for step in [-1, 1] {
            let days = try of(ctx.now.year + step)
            if days.first <= ctx.today && ctx.today <= days.last { return days }
        }
        return try of(ctx.now.year)
    }

    static func monday(_ day: Int) -> Int { day - floorMod(day - 1, 7) }

    /// The calendar day, week, weekend, month, season or year that lies n back; 0 is the current one. A
    /// fortnight is the seven days around the day 14 · n days ago.
    static func back(_ unit: Text, _ n: Int, _ ctx: TimeContext) throws -> Days {
        switch unit.string {
        case "day": return Days(ctx.today - n, ctx.today - n)
        case "week":
            let monday = self.monday(ctx.today) - 7 * n
            return Days(monday, monday + 6)
        case "fortnight": return Days(ctx.today - 14 * n - 3, ctx.today - 14 * n + 3)
        case "weekend":
            let saturday = monday(ctx.today) + 5
            return Days(saturday - 7 * n, saturday + 1 - 7 * n)
        case "month": return try month(ctx.now.year, ctx.now.month - n)
        case "year": return try years(ctx.now.year - n)
        default:
            let of: (Int) throws -> Days = { try season($0, unit, ctx) }
            return n == 0 ? try current(of, ctx) : try last(of, ctx, n)
        }
    }

    /// The interval of a part of the day, of the entire day for nil; "night" ends in the next day.
    static func daypart(_ day: Int, _ part: Text?, _ tables: CueTables) throws -> Interval {
        let start = (day - epoch) * dayMs
        var hours = (low: 0, high: 24)
        if let part, !part.isEmpty {
            guard let found = tables.daypart(part) else { throw NoDate() }
            hours = found
        }
        return Interval(start + hours.low * 3_600_000, start + hours.high * 3_600_000 - 1)
    }
}
