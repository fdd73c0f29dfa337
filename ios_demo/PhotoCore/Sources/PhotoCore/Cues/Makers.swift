/// The result of a rule: fixed intervals, or a function from a year to days if the words name no year.
enum Made: Sendable {
    case fixed([Interval])
    case yearly(@Sendable (Int) throws -> Days)
}

/// The makers of `cue_rules.json`: functions that turn the match of a rule into intervals
/// (runtime/cues/time_words.py). A maker throws NoDate if the words are not a date.
enum Makers {
    private typealias Cal = CueCalendar

    static func make(_ name: String, _ m: Match, _ ctx: TimeContext) throws -> Made {
        switch name {
        case "iso": return try day(try int(m, "y"), try int(m, "m"), try int(m, "d"))
        case "slashed": return try slashed(m, ctx)
        case "month_day": return try monthDay(m, ctx)
        case "month_days": return try monthDays(m, ctx)
        case "month_year": return days(try Cal.part(try Cal.month(try year(m["year"], ctx), try month(m, ctx)), m["part"], ctx.tables))
        case "year_month": return days(try Cal.month(try int(m, "y"), try int(m, "m")))
        case "month_alone":
            let (n, part) = (try month(m, ctx), m["part"])
            return .yearly { try Cal.part(try Cal.month($0, n), part, ctx.tables) }
        case "month_range": return try monthRange(m, ctx)
        case "nth_of": return try nthOf(m, ctx)
        case "season_year": return try seasonYear(m, ctx)
        case "season_last_year":
            return days(try Cal.part(try Cal.season(ctx.now.year - 1, try text(m, "season"), ctx), m["part"], ctx.tables))
        case "season_alone":
            let (season, part) = (try text(m, "season"), m["part"])
            return .yearly { try Cal.part(try Cal.season($0, season, ctx), part, ctx.tables) }
        case "last_unit":
            if m["unit"] == "day".scalars { throw NoDate() }  // "the last day of school" is not yesterday
            return days(try Cal.back(try text(m, "unit"), 1, ctx))
        case "before_last": return days(try Cal.back(try text(m, "unit"), 2, ctx))
        case "this_unit": return days(try Cal.back(try text(m, "unit"), 0, ctx))
        case "last_named":
            let n = try month(m, ctx)
            return days(try Cal.last({ try Cal.month($0, n) }, ctx, 1))
        case "this_named": return days(try Cal.month(ctx.now.year, try month(m, ctx)))
        case "last_night": return .fixed([try Cal.daypart(ctx.today - 1, "night".scalars, ctx.tables)])
        case "night_before_last": return .fixed([try Cal.daypart(ctx.today - 2, "night".scalars, ctx.tables)])
        // From the earliest photo to now (the paper's Table 9): the ranking, not the cube, decides which
        // photo is the last.
        case "last_time": return .fixed([Interval(ctx.extent?.low, ctx.now.milliseconds)])
        default: return try relative(name, m, ctx)
        }
    }

    private static func relative(_ name: String, _ m: Match, _ ctx: TimeContext) throws -> Made {
        switch name {
        case "ago": return try ago(m, ctx)
        case "half_ago":
            let middle = try Cal.back("month".scalars, m["half"] != nil ? 18 : 6, ctx)
            return days(Days(middle.first - 15, middle.last + 15))
        case "few_ago":
            let said = try text(m, "unit").string, unit = ["weekend": "week", "night": "day"][said] ?? said
            if ctx.tables.seasons[unit.scalars] != nil || unit == "fortnight" { throw NoDate() }
            return days(Days(try Cal.back(unit.scalars, 6, ctx).first, try Cal.back(unit.scalars, 2, ctx).last))
        case "year_ago_today":
            let day = ctx.today - 365, reach = m.whole.find("time".scalars) != nil ? 14 : 1
            return days(Days(day - reach, day + reach))
        case "other_day": return days(Days(ctx.today - (m.whole.find("week".scalars) != nil ? 28 : 14), ctx.today - 1))
        case "past_units": return try pastUnits(m, ctx)
        case "weekday":
            guard let weekday = ctx.tables.weekdays[try text(m, "weekday")] else { throw NoDate() }
            let back = floorMod(ctx.today - 1 - weekday, 7), step = back != 0 ? back : m["last"] == "last".scalars ? 7 : 0
            return .fixed([try Cal.daypart(ctx.today - step, m["part"], ctx.tables)])
        case "yesterday": return .fixed([try Cal.daypart(ctx.today - (m["before"] != nil ? 2 : 1), m["part"], ctx.tables)])
        case "today":
            let part = m.whole.has(suffix: "today") ? nil : m.whole.has(suffix: "tonight") ? "night".scalars : m["part"]
            return .fixed([try Cal.daypart(ctx.today, part, ctx.tables)])
        case "year": return try wholeYear(m, ctx)
        case "decade": return try decade(m, ctx)
        default: throw NoDate()
        }
    }

    /// The value of a number in digits or words: "3", "three", "a couple of".
    static func number(_ text: Text, _ tables: CueTables) throws -> Int {
        if let found = tables.numbers[text.tidied()] { return found }
        guard let found = Int(text.stripped().string) else { throw NoDate() }
        return found
    }

    /// The year of "2009" or "'09"; two digits mean 20xx up to next year, and 19xx beyond.
    static func year(_ text: Text?, _ ctx: TimeContext) throws -> Int {
        guard let text, let y = Int(text.strippedStart { $0 == "'" }.string) else { throw NoDate() }
        return y > 99 ? y : y + (2000 + y <= ctx.now.year + 1 ? 2000 : 1900)
    }

    private static func text(_ m: Match, _ name: String) throws -> Text {
        guard let found = m[name] else { throw NoDate() }
        return found
    }

    private static func int(_ m: Match, _ name: String) throws -> Int {
        guard let found = Int(try text(m, name).string) else { throw NoDate() }
        return found
    }

    private static func month(_ m: Match, _ ctx: TimeContext, _ group: String = "month") throws -> Int {
        guard let found = ctx.tables.months[try text(m, group)] else { throw NoDate() }
        return found
    }

    private static func days(_ days: Days) -> Made { .fixed([Cal.interval(days)]) }

    private static func day(_ y: Int, _ m: Int, _ d: Int) throws -> Made {
        guard (1900...2100).contains(y) else { throw NoDate() }
        let day = try Cal.ordinal(y, m, d)
        return days(Days(day, day))
    }

    private static func slashed(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let (a, b, y) = (try int(m, "a"), try int(m, "b"), try year(m["y"], ctx))
        return a > 12 || m["sep"] == ".".scalars ? try day(y, b, a) : try day(y, a, b)
    }

    private static func monthDay(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let (n, d) = (try month(m, ctx), try int(m, "day"))
        if let said = m["year"] { return try day(try year(said, ctx), n, d) }
        _ = try Cal.ordinal(2000, n, d)  // throws NoDate for a day such as 31 April
        return .yearly { let day = try Cal.ordinal($0, n, d); return Days(day, day) }
    }

    private static func monthDays(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let (n, a, b) = (try month(m, ctx), try int(m, "day"), try int(m, "day2"))
        guard b > a else { throw NoDate() }
        _ = try Cal.ordinal(2000, n, b)
        if let said = m["year"] {
            let y = try year(said, ctx)
            return days(Days(try Cal.ordinal(y, n, a), try Cal.ordinal(y, n, b)))
        }
        return .yearly { let day = try Cal.ordinal($0, n, a); return Days(day, day + b - a) }
    }

    private static func monthRange(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let (first, last) = (try month(m, ctx), try month(m, ctx, "month2"))
        let over = last < first ? 12 : 0  // "from November to February" ends in the following year
        if m["year2"] != nil {
            let end = try int(m, "year2"), y = m["year"] != nil ? try int(m, "year") : end - (over > 0 ? 1 : 0)
            let found = Days(try Cal.month(y, first).first, try Cal.month(end, last).last)
            guard found.first <= found.last else { throw NoDate() }
            return days(found)
        }
        if m["year"] != nil {
            let y = try int(m, "year")
            return days(Days(try Cal.month(y, first).first, try Cal.month(y, last + over).last))
        }
        return .yearly { Days(try Cal.month($0, first).first, try Cal.month($0, last + over).last) }
    }

    /// The n-th day, week, fortnight, half, weekend, weekday or month within the days; the last one for n =
    /// -1. Weeks are counted from the first of the days. Throws NoDate if there are fewer than n.
    private static func nth(_ days: Days, _ unit: Text, _ n: Int, _ tables: CueTables) throws -> Days {
        let (first, last) = (days.first, days.last), name = unit.string
        if tables.weekdays[unit] != nil || name == "weekend" {
            let start = try Cal.date(first), weekday = name == "weekend" ? 5 : tables.weekdays[unit]!
            let day = n < 0 ? last - floorMod(last - 1 - weekday, 7) : try Cal.nthWeekday(start.year, start.month, weekday, n)
            return Days(day, day + (name == "weekend" ? 1 : 0))
        }
        if name == "month" { return try Cal.month(try Cal.date(first).year, n < 0 ? 12 : n) }
        guard let length = ["day": 1, "week": 7, "fortnight": 14, "half": (last - first + 2) / 2][name] else { throw NoDate() }
        if n < 0 { return Days(last - length + 1, last) }
        let begin = first + (n - 1) * length
        guard begin <= last else { throw NoDate() }
        return Days(begin, min(last, begin + length - 1))
    }

    /// Reads "the first week of June", "last weekend of May 2010", "the last day of 2011".
    private static func nthOf(_ m: Match, _ ctx: TimeContext) throws -> Made {
        guard let n = ctx.tables.ordinals[try text(m, "nth")] else { throw NoDate() }
        let unit = try text(m, "unit"), tables = ctx.tables
        if !m.has("month") { return days(try nth(try Cal.years(try int(m, "year")), unit, n, tables)) }
        let number = try month(m, ctx)
        if let said = m["year"] { return days(try nth(try Cal.month(try year(said, ctx), number), unit, n, tables)) }
        return .yearly { try nth(try Cal.month($0, number), unit, n, tables) }
    }

    private static func seasonYear(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let y = try year(m["year"], ctx), name = try text(m, "season")
        var spans = [try Cal.season(y, name, ctx)]
        // "winter 2010" (in the south, "summer 2010") means the one that ends in 2010 as often as the one
        // that begins in it: both are returned.
        if name == (ctx.southern ? "summer" : "winter").scalars && !m.whole.contains("/") {
            if ctx.southern {
                spans.append(try Cal.season(y + 1, name, southern: true, ctx.tables))
            } else {
                spans.insert(try Cal.season(y - 1, name, southern: false, ctx.tables), at: 0)
            }
        }
        return .fixed(try spans.map { Cal.interval(try Cal.part($0, m["part"], ctx.tables)) })
    }

    private static func ago(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let said = try text(m, "unit"), night = said == "night".scalars
        let found = try Cal.back(night ? "day".scalars : said, try number(try text(m, "n"), ctx.tables), ctx)
        // "999 years ago" is before any photo.
        guard try Cal.date(found.first).year >= 1900 else { throw NoDate() }
        return night ? .fixed([try Cal.daypart(found.first, "night".scalars, ctx.tables)]) : days(found)
    }

    private static func pastUnits(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let said = m["n"] ?? [], unit = try text(m, "unit2")
        let n = m.whole.find("few".scalars) != nil ? 3 : try number(said.isEmpty ? "1".scalars : said, ctx.tables)
        guard let length = ctx.tables.unitDays[unit] else { throw NoDate() }
        let first = ctx.today - n * length + (unit == "day".scalars ? 1 : 0)
        return .fixed([Interval(Cal.interval(Days(first, first)).start, ctx.now.milliseconds)])
    }

    private static func wholeYear(_ m: Match, _ ctx: TimeContext) throws -> Made {
        let y = try int(m, "year"), bare = m["part"] == nil && !m.whole.contains { $0.isASCII && $0.isLower }
        let known = ctx.extent == nil || ctx.years().contains(y) || ctx.years().contains(y + 1)
        // "1984" alone, outside the album's years, is a title and not a date.
        if bare && (y > ctx.now.year + 1 || !known) { throw NoDate() }
        return days(try Cal.part(try Cal.years(y), m["part"], ctx.tables))
    }

    private static func decade(_ m: Match, _ ctx: TimeContext) throws -> Made {
        var y: Int
        if let word = m["word"] {
            guard let found = ctx.tables.decades[word] else { throw NoDate() }
            y = found
        } else {
            y = try int(m, "decade")
        }
        if y < 100 { y += 2000 + y <= ctx.now.year ? 2000 : 1900 }
        return days(try Cal.part(try Cal.years(y, 10), m["part"], ctx.tables))
    }
}
