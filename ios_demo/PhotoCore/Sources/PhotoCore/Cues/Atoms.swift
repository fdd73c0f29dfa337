/// A time expression before ranges are joined: fixed intervals, or a function from a year to days.
///
/// `keep`: characters that stay in the text although understood: "Christmas" is a time and also something
/// that photos show. `exact`: the holiday's day itself, if its name also covers the days around it: two days
/// after Christmas is the 27th.
struct Atom: Sendable {
    let span: Range<Int>
    let kind: String
    let made: Made
    var keep: Range<Int>?
    var exact: Made?

    var fixed: [Interval] { if case .fixed(let intervals) = made { return intervals } else { return [] } }
    var isYearly: Bool { if case .yearly = made { return true } else { return false } }
    /// The same expression for the holiday's day itself, if it has one.
    var exactly: Atom { exact.map { Atom(span: span, kind: kind, made: $0) } ?? self }
}

/// Applies the rules of `cue_rules.json` to a query (runtime/cues/rules.py). Patterns are matched against the
/// query as lower-case ASCII of the same length, so their spans are spans of the query. A rule is tried only
/// if the query has the words that it needs. Earlier rules take precedence.
struct AtomReader: Sendable {
    private let tables: CueTables
    private let classes: [(name: Text, words: Set<Text>)]
    private let holidays: Pattern
    private let holidayOf: [Text: HolidayRule]

    private static let letters = Pattern("[a-z]+")
    private static let capitalMonth = Pattern("(?<![a-z0-9'])(may|march)(?![a-z0-9'])")
    private static let person = Pattern("with|and|of|to|by|my|for|about|the|aunt|miss|mr|mrs|is|as|like|[a-z]*'s")
    private static let ideographic = Pattern(#"([12][0-9]{3})年(?:\s*([0-9]{1,2})月(?:\s*([0-9]{1,2})日)?)?"#)

    init(_ tables: CueTables) throws {
        self.tables = tables
        let t = tables, plurals = t.weekdays.keys.map { $0 + ["s"] }
        classes = [
            ("month", Set(t.months.keys)), ("weekday", Set(t.weekdays.keys).union(plurals)), ("season", Set(t.seasons.keys)), ("unit", t.units),
            ("decade", Set(t.decades.keys)), ("ordinal", Set(t.ordinals.keys.map { $0.filter { $0.isASCII && $0.isLower } })),
            ("holiday", Set(t.holidays.compactMap { AtomReader.letters.search(AtomReader.flatten($0.name))?.whole })),
            ("today", Set(["today", "tonight", "this"].map(\.scalars))), ("back", Set(["last", "past"].map(\.scalars))),
        ].map { ($0.0.scalars, $0.1) }
        let names = t.holidays.map(\.name).sorted { $0.count != $1.count ? $0.count > $1.count : $0.string.unicodeScalars.lexicographicallyPrecedes($1.string.unicodeScalars) }
        let spelt = names.map { name in
            CueExpander.escaped(AtomReader.flatten(name)).replacingOccurrences(of: "\\ ", with: "\\s+").replacingOccurrences(of: "\\'", with: "'?")
                .replacingOccurrences(of: "\\-", with: "[\\s-]?")
        }.joined(separator: "|")
        let ahead = #"(?:<<sep>>|\s+in\s+)(?:(?:19|20)[0-9]{2}|'[0-9]{2})\b"#, year = #"(?:<<sep>>|\s+in\s+)<<named_year>>"#
        holidays = try t.expander.compiled(
            #"(?<prep>(?:(?:on|at|during|over|for|in|from|of)\s+(?:the\s+)?)?)(?<last>last\s+|this\s+)?(?<keep>(?<name>"# + spelt
                + #")(?![a-z0-9])<<holiday_things>>(?:\s+[a-z]+(?="# + ahead + "))?)(?:" + year + #"|\s+(?<lastyear>last\s+year))?"#)
        holidayOf = Dictionary(t.holidays.map { (AtomReader.key($0.name), $0.rule) }, uniquingKeysWith: { $1 })
    }

    /// The query as lower-case ASCII of the same length. Accented and other Latin letters become "z", because
    /// they continue a word; dashes and apostrophes become their ASCII forms, all other characters a space.
    static func flatten(_ text: Text) -> Text {
        text.map { letter in
            if letter.isASCII && letter.isPrintable { return letter.casefold[0] }
            switch letter {
            case "–", "—", "‐", "‑", "−": return "-"
            case "’", "‘", "`": return "'"
            default: return letter.isAlpha && letter.value < 0x590 ? "z" : " "
            }
        }
    }

    private static func key(_ name: Text) -> Text { flatten(name).filter { !$0.isSpace && $0 != "'" && $0 != "-" } }

    /// The words of a flattened text, and the names of the classes that they belong to.
    func present(_ flat: Text) -> Set<Text> {
        let words = Set(AtomReader.letters.all(flat).map(\.whole))
        var found = words
        for one in classes where !words.isDisjoint(with: one.words) { found.insert(one.name) }
        if flat.contains(where: \.isDecimal) { found.insert("digit".scalars) }
        return found
    }

    /// All time expressions, in the order of the text; of overlapping ones that of the earliest rule.
    func atoms(_ text: Text, _ ctx: TimeContext) -> [Atom] {
        let flat = AtomReader.flatten(text), held = present(flat)
        var found = text.contains("年") ? ideographic(text) : []
        if held.contains("holiday".scalars) { found += holidays(flat, ctx) }
        for rule in tables.rules where rule.needs.allSatisfy(held.contains) {
            for match in rule.pattern.all(flat) {
                guard let made = try? Makers.make(rule.make, match, ctx) else { continue }
                if case .yearly = made { found.append(Atom(span: match.span, kind: "yearly", made: made)) } else {
                    found.append(Atom(span: match.span, kind: rule.kind, made: made))
                }
            }
        }
        if held.contains("month".scalars) { found += capitalMonths(text, flat) }
        return apart(found, text.count)
    }

    private func apart(_ found: [Atom], _ length: Int) -> [Atom] {
        var taken = [Bool](repeating: false, count: length)
        var out: [Atom] = []
        for atom in found where !taken[atom.span].contains(true) {
            for at in atom.span { taken[at] = true }
            out.append(atom)
        }
        return out.sorted { ($0.span.lowerBound, $0.span.upperBound) < ($1.span.lowerBound, $1.span.upperBound) }
    }

    private func holidays(_ flat: Text, _ ctx: TimeContext) -> [Atom] {
        holidays.all(flat).compactMap { m in
            guard let name = m["name"], let rule = holidayOf[AtomReader.key(name)] else { return nil }
            guard let exact = try? holiday(m, rule, true, ctx), let around = try? holiday(m, rule, false, ctx) else { return nil }
            let kind: String
            if case .yearly = around { kind = "holiday" } else { kind = "span" }
            return Atom(span: m.span, kind: kind, made: around, keep: m.span("keep"), exact: exact)
        }
    }

    /// The atom of "Christmas 2010", "last Christmas", "Christmas last year", or of the holiday in any year.
    private func holiday(_ m: Match, _ rule: HolidayRule, _ itself: Bool, _ ctx: TimeContext) throws -> Made {
        let of: @Sendable (Int) throws -> Days = { [tables] in try CueCalendar.holiday(rule, $0, itself: itself, tables) }
        let days: Days
        if let year = m["year"] {
            days = try of(try Makers.year(year, ctx))
        } else if m["lastyear"] != nil {
            days = try of(ctx.now.year - 1)
        } else if let last = m["last"] {
            days = last.has(prefix: "last") ? try CueCalendar.last(of, ctx, 1) : try CueCalendar.current(of, ctx)
        } else {
            return .yearly(of)
        }
        return .fixed([CueCalendar.interval(days)])
    }

    /// The months May and March named alone: accepted only as the query's last word, with a capital letter.
    /// Not as its only word, nor after words that a person or an event follows ("with May").
    private func capitalMonths(_ text: Text, _ flat: Text) -> [Atom] {
        AtomReader.capitalMonth.all(flat).compactMap { m in
            let head = Array(flat[..<m.start]), before = head.words()
            guard let last = before.last, text[m.start].isUpper, text[m.start + 1].isLower, flat[m.end...].allSatisfy(\.isSpace) else { return nil }
            if AtomReader.person.fullMatch(last) != nil { return nil }
            // "the Million Mo March" is an event.
            if text[head.strippedEnd().count - last.count].isUpper { return nil }
            guard let n = tables.months[m.whole] else { return nil }
            return Atom(span: m.span, kind: "yearly", made: .yearly { try CueCalendar.month($0, n) })
        }
    }

    /// Chinese and Japanese dates: 2010年5月3日 and its shorter forms.
    private func ideographic(_ text: Text) -> [Atom] {
        AtomReader.ideographic.all(text).compactMap { m in
            let numbers = (1...3).map { m[$0].flatMap { Int($0.string) } ?? 0 }
            let (y, mo, d) = (numbers[0], numbers[1], numbers[2])
            guard let days = try? (mo > 0 && d == 0 && mo <= 12 ? CueCalendar.month(y, mo) : mo == 0 ? CueCalendar.years(y) : single(y, mo, d)) else { return nil }
            return Atom(span: m.span, kind: d > 0 ? "day" : mo > 0 ? "month" : "year", made: .fixed([CueCalendar.interval(days)]))
        }
    }

    private func single(_ y: Int, _ m: Int, _ d: Int) throws -> Days {
        let day = try CueCalendar.ordinal(y, m, d)
        return Days(day, day)
    }
}
