/// A regular expression on code points with the semantics of Python's `re`: greedy, leftmost, first branch
/// first.
///
/// Foundation's engine counts UTF-16 units and defines `\w`, `\b` and `\s` differently, but the Python,
/// Kotlin and Swift cores share one table of patterns. So this is a small backtracking machine. Its stack is
/// on the heap, so that no input can overflow the call stack.
public struct Pattern: Sendable {
    enum Step: Sendable {
        case one(Int)
        case run(Int, least: Int, most: Int, greedy: Bool)
        case fork(Int, Int)
        case jump(Int)
        case save(Int)
        case mark(Int)
        case progress(Int)
        case look(end: Int, width: Int?, negated: Bool)
        case again(Int)
        case begin, end, boundary, notBoundary
        case done
    }

    let steps: [Step]
    let sets: [CharacterClass]
    let slots: Int
    let groups: Int
    let names: [String: Int]

    /// Raises Failure.value for a pattern that cannot be read.
    public init(reading source: String, ignoringCase: Bool = false, unicodeSpace: Bool = false) throws {
        var parser = PatternParser(source, ignoringCase: ignoringCase, unicodeSpace: unicodeSpace)
        let tree = try parser.parse()
        var compiler = PatternCompiler(groups: parser.groups)
        try compiler.add(tree)
        compiler.steps.append(.done)
        (steps, sets, slots, groups, names) = (compiler.steps, compiler.sets, compiler.slots, parser.groups, parser.names)
    }

    /// A pattern that is part of this program; a malformed one is a programming error.
    public init(_ source: String, ignoringCase: Bool = false) {
        do { try self.init(reading: source, ignoringCase: ignoringCase) } catch { preconditionFailure("\(error)") }
    }

    /// The match that begins at `start`. `range`: the part of `text` to match against; its ends count as the
    /// text's ends.
    public func match(_ text: Text, at start: Int? = nil, in range: Range<Int>? = nil) -> Match? {
        let range = range ?? 0..<text.count
        return text.withUnsafeBufferPointer { run($0, range, from: start ?? range.lowerBound, whole: false) }.map { Match(slots: $0, pattern: self, text: text) }
    }

    public func fullMatch(_ text: Text, in range: Range<Int>? = nil) -> Match? {
        let range = range ?? 0..<text.count
        return text.withUnsafeBufferPointer { run($0, range, from: range.lowerBound, whole: true) }.map { Match(slots: $0, pattern: self, text: text) }
    }

    /// The first match at or after `start`.
    public func search(_ text: Text, from start: Int? = nil, in range: Range<Int>? = nil) -> Match? {
        let range = range ?? 0..<text.count
        return text.withUnsafeBufferPointer { letters in
            var at = start ?? range.lowerBound
            while at <= range.upperBound {
                if let slots = run(letters, range, from: at, whole: false) { return Match(slots: slots, pattern: self, text: text) }
                at += 1
            }
            return nil
        }
    }

    public func all(_ text: Text) -> [Match] {
        var out: [Match] = []
        var at = 0
        while at <= text.count, let found = search(text, from: at) {
            out.append(found)
            // After an empty match the search goes on one position further.
            at = found.end > found.start ? found.end : found.end + 1
        }
        return out
    }

    public func replacing(_ text: Text, _ by: (Match) -> Text) -> Text {
        var out = Text(), last = 0
        for found in all(text) {
            out += text[last..<found.start]
            out += by(found)
            last = found.end
        }
        return out + text[last...]
    }

    public func replacing(_ text: Text, with other: String) -> Text {
        let letters = other.scalars
        return replacing(text) { _ in letters }
    }
}

/// The position of a match and of its groups. Offsets are code points of the searched text.
public struct Match {
    let slots: [Int]
    let pattern: Pattern
    let text: Text

    public var start: Int { slots[0] }
    public var end: Int { slots[1] }
    public var span: Range<Int> { slots[0]..<slots[1] }
    public var whole: Text { Text(text[span]) }

    public func span(_ group: Int) -> Range<Int>? { slots[2 * group] < 0 || slots[2 * group + 1] < 0 ? nil : slots[2 * group]..<slots[2 * group + 1] }
    public func span(_ name: String) -> Range<Int>? { pattern.names[name].flatMap(span) }

    /// The text of a group; nil if it took no part in the match or the pattern has no such group.
    public subscript(_ group: Int) -> Text? { span(group).map { Text(text[$0]) } }
    public subscript(_ name: String) -> Text? { span(name).map { Text(text[$0]) } }

    public func has(_ name: String) -> Bool { pattern.names[name] != nil }
}
