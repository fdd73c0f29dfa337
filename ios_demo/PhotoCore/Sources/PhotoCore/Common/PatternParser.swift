/// Parses a pattern to a tree. It knows the syntax used by the patterns in cue_rules.json, by those copied
/// from the Python code, and by the tokenizers.
indirect enum PatternNode {
    case one(CharacterClass)
    case sequence([PatternNode])
    case choice([PatternNode])
    case group(Int, PatternNode)
    case loop(PatternNode, least: Int, most: Int?, greedy: Bool)
    case look(PatternNode, ahead: Bool, negated: Bool)
    case again(Int)
    case begin, end, boundary, notBoundary
}

struct PatternParser {
    private let source: Text
    private let ignoresCase: Bool
    private let unicodeSpace: Bool
    private var at = 0
    private(set) var names: [String: Int] = [:]
    private(set) var groups = 0

    /// `unicodeSpace`: `\s` means Unicode's White_Space (as in tokenizers), not Python's.
    init(_ source: String, ignoringCase: Bool, unicodeSpace: Bool) {
        (self.source, ignoresCase, self.unicodeSpace) = (source.scalars, ignoringCase, unicodeSpace)
    }

    mutating func parse() throws -> PatternNode {
        let node = try choice()
        guard at == source.count else { throw wrong("unbalanced parenthesis") }
        return node
    }

    private mutating func choice() throws -> PatternNode {
        var branches = [try sequence()]
        while take("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence() throws -> PatternNode {
        var items: [PatternNode] = []
        while at < source.count, source[at] != "|", source[at] != ")" { items.append(try repeated(try atom())) }
        return items.count == 1 ? items[0] : .sequence(items)
    }

    private mutating func repeated(_ node: PatternNode) throws -> PatternNode {
        var node = node
        while at < source.count {
            let bounds: (Int, Int?)
            if take("*") { bounds = (0, nil) } else if take("+") { bounds = (1, nil) } else if take("?") { bounds = (0, 1) } else if let found = braces() {
                bounds = found
            } else { break }
            node = .loop(node, least: bounds.0, most: bounds.1, greedy: !take("?"))
        }
        return node
    }

    /// Reads {m}, {m,} or {m,n}; nil for a brace that is a literal.
    private mutating func braces() -> (Int, Int?)? {
        guard at < source.count, source[at] == "{", let close = source[at...].firstIndex(of: "}") else { return nil }
        let parts = Text(source[(at + 1)..<close]).string.split(separator: ",", omittingEmptySubsequences: false)
        guard let least = Int(parts[0]), parts.count <= 2, parts.count == 1 || parts[1].isEmpty || Int(parts[1]) != nil else { return nil }
        at = close + 1
        return (least, parts.count == 1 ? least : Int(parts[1]))
    }

    private mutating func atom() throws -> PatternNode {
        let letter = source[at]
        at += 1
        switch letter {
        case "(": return try group()
        case "[": return .one(try set())
        case ".": return .one(made { $0.ranges = [10...10]; $0.negated = true })
        case "^": return .begin
        case "$": return .end
        case "\\": return try escape()
        default: return .one(made { $0.ranges = [letter.value...letter.value] })
        }
    }

    private mutating func group() throws -> PatternNode {
        var number: Int?
        var look: (Bool, Bool)?
        if take("?") {
            if take(":") {
            } else if take("=") { look = (true, false) } else if take("!") { look = (true, true) } else if takeAll("<=") { look = (false, false) } else if takeAll("<!") {
                look = (false, true)
            } else if takeAll("P=") {
                let name = try name(until: ")")
                guard let known = names[name] else { throw wrong("unknown group name \(name)") }
                return .again(known)
            } else if takeAll("P<") || take("<") {
                groups += 1
                number = groups
                names[try name(until: ">")] = groups
            } else { throw wrong("unknown extension") }
        } else {
            groups += 1
            number = groups
        }
        let inner = try choice()
        guard take(")") else { throw wrong("missing )") }
        if let look { return .look(inner, ahead: look.0, negated: look.1) }
        return number.map { .group($0, inner) } ?? inner
    }

    private mutating func name(until end: Unicode.Scalar) throws -> String {
        guard let close = source[at...].firstIndex(of: end) else { throw wrong("missing \(end)") }
        defer { at = close + 1 }
        return Text(source[at..<close]).string
    }

    private mutating func escape() throws -> PatternNode {
        guard at < source.count else { throw wrong("bad escape") }
        switch source[at] {
        case "b": at += 1; return .boundary
        case "B": at += 1; return .notBoundary
        case "k":
            at += 2
            let name = try name(until: ">")
            guard let known = names[name] else { throw wrong("unknown group name \(name)") }
            return .again(known)
        default:
            var set = CharacterClass()
            try escaped(into: &set)
            return .one(made { $0.ranges = set.ranges; $0.properties = set.properties })
        }
    }

    /// Reads the escape after a backslash, inside or outside a set; returns its character if it is a single
    /// one.
    @discardableResult
    private mutating func escaped(into set: inout CharacterClass) throws -> UInt32? {
        let letter = source[at]
        at += 1
        switch letter {
        case "d": set.properties.append(.digit)
        case "D": set.properties.append(.notDigit)
        case "w": set.properties.append(.word)
        case "W": set.properties.append(.notWord)
        case "s": set.properties.append(unicodeSpace ? .whiteSpace : .space)
        case "S": set.properties.append(unicodeSpace ? .notWhiteSpace : .notSpace)
        case "p", "P":
            guard take("{") else { throw wrong("bad escape \\p") }
            let name = try name(until: "}")
            guard name == "L" || name == "N" else { throw wrong("unknown class \(name)") }
            set.properties.append(letter == "p" ? (name == "L" ? .letter : .number) : (name == "L" ? .notLetter : .notNumber))
        default:
            let value: UInt32
            switch letter {
            case "n": value = 10
            case "r": value = 13
            case "t": value = 9
            case "f": value = 12
            case "v": value = 11
            case "x": value = try hex(2)
            case "u": value = try hex(4)
            default: value = letter.value
            }
            set.ranges.append(value...value)
            return value
        }
        return nil
    }

    private mutating func hex(_ digits: Int) throws -> UInt32 {
        guard let value = UInt32(source.slice(at, at + digits).string, radix: 16) else { throw wrong("bad escape") }
        at += digits
        return value
    }

    private mutating func set() throws -> CharacterClass {
        var set = CharacterClass()
        set.ignoresCase = ignoresCase
        set.negated = take("^")
        var first = true
        while at < source.count, first || source[at] != "]" {
            first = false
            let low = try member(into: &set)
            guard let low, at + 1 < source.count, source[at] == "-", source[at + 1] != "]" else { continue }
            at += 1
            guard let high = try member(into: &set), high >= low else { throw wrong("bad character range") }
            set.ranges.append(low...high)
        }
        guard take("]") else { throw wrong("unterminated character set") }
        set.prepare()
        return set
    }

    private mutating func member(into set: inout CharacterClass) throws -> UInt32? {
        let letter = source[at]
        at += 1
        if letter == "\\" { return try escaped(into: &set) }
        set.ranges.append(letter.value...letter.value)
        return letter.value
    }

    private func made(_ change: (inout CharacterClass) -> Void) -> CharacterClass {
        var set = CharacterClass()
        set.ignoresCase = ignoresCase
        change(&set)
        set.prepare()
        return set
    }

    private mutating func take(_ letter: Unicode.Scalar) -> Bool {
        guard at < source.count, source[at] == letter else { return false }
        at += 1
        return true
    }

    private mutating func takeAll(_ letters: String) -> Bool {
        guard source[at...].starts(with: letters.unicodeScalars) else { return false }
        at += letters.unicodeScalars.count
        return true
    }

    private func wrong(_ what: String) -> Failure { .value("\(what) at position \(at) of the pattern \(source.slice(0, 60).string)") }
}
