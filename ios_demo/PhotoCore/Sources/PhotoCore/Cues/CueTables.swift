import Foundation

/// The date of a holiday, given by exactly one of the first six fields. `day`: (month, day). `nth`: (month,
/// weekday, n), the last one for n = -1. `easter`, `orthodox`: days after Easter Sunday of that calendar.
/// `weekdayFrom`: (month, day, weekday), the first such weekday on or after that date. `table`: first days by
/// year.
///
/// `shift`: days from that date to the holiday itself. `before`, `after`: days around it on which people
/// photograph under its name.
struct HolidayRule: Sendable {
    var day: [Int] = []
    var nth: [Int] = []
    var easter: Int?
    var orthodox: Int?
    var weekdayFrom: [Int] = []
    var table = ""
    var shift = 0
    var before = 0
    var after = 0
}

/// One rule: its maker's name, the kind of cue, the word classes that a text must contain, the compiled
/// pattern.
struct CueRule: Sendable {
    let make: String
    let kind: String
    let needs: [Text]
    let pattern: Pattern
}

/// The words and rules of the cue reader, read from `cue_rules.json`, which the Python, Kotlin and Swift
/// readers share.
///
/// Months are 1..12, weekdays 0 (Monday)..6, hours 0..24 (above 24: of the next day).
public struct CueTables: Sendable {
    static let version = 1

    let months: [Text: Int]
    let weekdays: [Text: Int]
    let seasons: [Text: Int]
    let numbers: [Text: Int]
    let ordinals: [Text: Int]
    let decades: [Text: Int]
    let thirds: [Text: (Int, Int)]
    let units: Set<Text>
    let unitDays: [Text: Int]
    let dayparts: [(name: Text, low: Int, high: Int)]
    let recurringHours: [(name: Text, low: Int, high: Int, trust: Double)]
    let recurringWeekdays: [(name: Text, days: [Int])]
    let holidays: [(name: Text, rule: HolidayRule)]
    let tables: [String: [Int: Int]]
    let rules: [CueRule]
    let places: PlaceWords
    let trust: [String: Double]
    /// Words by which a query is known as English.
    let english: Set<Text>
    let languages: [Language]
    let questions: QuestionWords
    let expander: CueExpander

    /// Parses a rules file. Raises Failure.runtime if it is not one of this version.
    public init(_ path: String) throws {
        do {
            let raw = try JSON.read(path)
            guard let version = raw["version"]?.int else { throw Failure.value("no version") }
            guard version == CueTables.version else {
                throw Failure.runtime("cue_rules.json: version \(version), this program reads \(CueTables.version)")
            }
            try self.init(raw)
        } catch Failure.runtime(let line) {
            throw Failure.runtime(line)
        } catch {
            throw Failure.runtime("cue_rules.json: \(error): install the program again")
        }
    }

    private init(_ raw: JSON) throws {
        func map(_ name: String) throws -> [Text: Int] {
            guard let members = raw[name]?.members else { throw Failure.value("no table \(name)") }
            return Dictionary(members.map { ($0.name.scalars, $0.value.int ?? 0) }, uniquingKeysWith: { $1 })
        }
        func words(_ raw: JSON?) -> [Text] { (raw?.array ?? []).compactMap { $0.string?.scalars } }
        (months, weekdays, seasons, numbers) = (try map("months"), try map("weekdays"), try map("seasons"), try map("numbers"))
        (ordinals, decades, unitDays) = (try map("ordinals"), try map("decades"), try map("unit_days"))
        thirds = Dictionary((raw["thirds"]?.members ?? []).map { ($0.name.scalars, ($0.value[0]?.int ?? 0, $0.value[1]?.int ?? 0)) }, uniquingKeysWith: { $1 })
        units = Set(words(raw["units"]))
        dayparts = (raw["dayparts"]?.members ?? []).map { ($0.name.scalars, $0.value[0]?.int ?? 0, $0.value[1]?.int ?? 0) }
        recurringHours = (raw["recurring"]?["hours"]?.members ?? []).map {
            ($0.name.scalars, $0.value[0]?.int ?? 0, $0.value[1]?.int ?? 0, $0.value[2]?.double ?? 0)
        }
        recurringWeekdays = (raw["recurring"]?["weekdays"]?.members ?? []).map { ($0.name.scalars, ($0.value.array ?? []).compactMap(\.int)) }
        holidays = (raw["holidays"]?.array ?? []).flatMap { entry in
            words(entry["names"]).map { ($0, CueTables.holiday(entry["rule"] ?? .null)) }
        }
        tables = Dictionary(
            (raw["tables"]?.members ?? []).map { table in
                (table.name, Dictionary((table.value.members ?? []).map { (Int($0.name) ?? 0, $0.value.int ?? 0) }, uniquingKeysWith: { $1 }))
            }, uniquingKeysWith: { $1 })
        trust = Dictionary((raw["trust"]?.members ?? []).map { ($0.name, $0.value.double ?? 1) }, uniquingKeysWith: { $1 })
        let expander = CueExpander(raw, months: months)
        self.expander = expander
        rules = try (raw["rules"]?.array ?? []).map { rule in
            CueRule(
                make: rule["make"]?.string ?? "", kind: rule["kind"]?.string ?? "", needs: words(rule["needs"]),
                pattern: try expander.compiled(rule["pattern"]?.string ?? ""))
        }
        places = try PlaceWords(raw["places"] ?? .null)
        questions = QuestionWords(raw["questions"] ?? .null)
        let foreign = raw["languages"]
        english = Set(words(foreign?["english"])).union(months.keys).union(weekdays.keys).union(seasons.keys).union(numbers.keys)
        let digits = Dictionary((foreign?["digits"]?.members ?? []).map { ($0.name, $0.value.string ?? "") }, uniquingKeysWith: { $1 })
        languages = try (foreign?["known"]?.array ?? []).map { try Language($0, digits: digits) }
    }

    private static func holiday(_ raw: JSON) -> HolidayRule {
        func list(_ name: String) -> [Int] { (raw[name]?.array ?? []).compactMap(\.int) }
        return HolidayRule(
            day: list("day"), nth: list("nth"), easter: raw["easter"]?.int, orthodox: raw["orthodox"]?.int, weekdayFrom: list("weekday_from"),
            table: raw["table"]?.string ?? "", shift: raw["shift"]?.int ?? 0, before: raw["before"]?.int ?? 0, after: raw["after"]?.int ?? 0)
    }

    func daypart(_ name: Text) -> (low: Int, high: Int)? { dayparts.first { $0.name == name }.map { ($0.low, $0.high) } }
}

/// Prepositions and other words near the name of a place. `strong`, `weak`: prepositions that govern a place.
/// `uncertain`: strong ones that govern other words too. `wide`: those that mean "near". `skip`: words
/// between preposition and name. `openers`: words before a name that are not part of it, even if capitalised.
/// `inner`: words inside a name that need no capital. `capitals`: abbreviations that count only in capitals
/// ("US"). `home`: a pattern for "at home".
struct PlaceWords: Sendable {
    let strong: Set<Text>, weak: Set<Text>, uncertain: Set<Text>, wide: Set<Text>, skip: Set<Text>, openers: Set<Text>, inner: Set<Text>
    let capitals: Set<Text>
    let certain: Set<Text>
    let home: Pattern

    init(_ raw: JSON) throws {
        func words(_ name: String) -> Set<Text> { Set((raw[name]?.array ?? []).compactMap { $0.string?.scalars }) }
        (strong, weak, uncertain, wide) = (words("strong"), words("weak"), words("uncertain"), words("wide"))
        (skip, openers, inner, capitals) = (words("skip"), words("openers"), words("inner"), words("capitals"))
        certain = strong.subtracting(uncertain)
        home = try Pattern(reading: #"(?<!\w)(?:"# + (raw["home"]?.string ?? "") + #")(?!\w)"#, ignoringCase: true)
    }
}

/// Expands the macros of the rules file: <<name>> stands for a macro, or for the words of a table, longest
/// first.
struct CueExpander: Sendable {
    private static let macro = Pattern(#"<<(\w+)>>"#)
    private let macros: [String: String]

    init(_ raw: JSON, months: [Text: Int]) {
        var macros: [String: String] = [:]
        for name in ["months", "weekdays", "seasons", "numbers", "ordinals", "decades", "thirds", "unit_days", "dayparts", "tables"] {
            macros[name] = CueExpander.spelt((raw[name]?.members ?? []).map { $0.name.scalars })
        }
        for name in ["ambiguous_months", "units", "reporting"] {
            macros[name] = CueExpander.spelt((raw[name]?.array ?? []).compactMap { $0.string?.scalars })
        }
        // Month names that are not also another word or name: "may" and "jan" are missing.
        let ambiguous = Set((raw["ambiguous_months"]?.array ?? []).compactMap { $0.string?.scalars })
        macros["clear_months"] = CueExpander.spelt(months.keys.filter { !ambiguous.contains($0) && $0.count > 3 })
        for member in raw["macros"]?.members ?? [] { macros[member.name] = member.value.string }
        self.macros = macros
    }

    /// Words as one pattern, longest first; a space matches any white space.
    static func spelt(_ words: [Text]) -> String {
        words.sorted { $0.count != $1.count ? $0.count > $1.count : $0.string < $1.string }
            .map { escaped($0).replacingOccurrences(of: "\\ ", with: "\\s+") }.joined(separator: "|")
    }

    /// Python's `re.escape`.
    static func escaped(_ word: Text) -> String {
        word.map { letter in letter.isASCII && !letter.isWord ? "\\" + String(letter) : String(letter) }.joined()
    }

    /// The pattern with its macros and tables expanded. Raises Failure.runtime for an unknown name, and for
    /// macros that refer to each other in a circle.
    func expand(_ text: String) throws -> String {
        var text = text.scalars
        for _ in 0..<8 {
            guard CueExpander.macro.search(text) != nil else { return text.string }
            var unknown: String?
            text = CueExpander.macro.replacing(text) { found in
                let name = found[1]!.string
                if macros[name] == nil { unknown = name }
                return (macros[name] ?? "").scalars
            }
            if let unknown { throw Failure.runtime("cue_rules.json: no macro and no table \(unknown.scalars.quoted)") }
        }
        throw Failure.runtime("cue_rules.json: macros that name each other")
    }

    /// A pattern of the rules file, compiled so that it matches only between words and numbers.
    func compiled(_ text: String) throws -> Pattern { try Pattern(reading: "(?<![a-z0-9$#_])" + (try expand(text)) + "(?![a-z0-9])") }
}
