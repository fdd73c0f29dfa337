/// The texts that a language model may generate, as a nondeterministic automaton over bytes
/// (runtime/models/language/grammar.py). It is built left to right.
public struct Grammar: Sendable {
    public typealias State = Set<Int>

    private var next: [[UInt8: Set<Int>]] = [[:]]
    private var empty: [Set<Int>] = [[]]
    private var tail = 0
    private var accept = -1

    private mutating func node() -> Int {
        next.append([:])
        empty.append([])
        return next.count - 1
    }

    private mutating func path(_ begin: Int, _ bytes: [UInt8]) -> Int {
        var at = begin
        for byte in bytes {
            let node = node()
            next[at][byte, default: []].insert(node)
            at = node
        }
        return at
    }

    /// Exactly `text`.
    mutating func literal(_ text: String) { tail = path(tail, Array(text.utf8)) }

    /// Nothing, or consecutive, complete words of one of `texts`, unchanged.
    mutating func span(of texts: [Text]) {
        let begin = tail, end = node()
        empty[begin].insert(end)
        for text in texts.map({ $0.stripped() }) {
            var at = node()
            for (place, letter) in text.enumerated() {
                if !letter.isSpace && Grammar.boundary(text, place) { empty[begin].insert(at) }
                at = path(at, [letter].utf8)
                if !letter.isSpace && Grammar.boundary(text, place + 1) { empty[at].insert(end) }
            }
        }
        tail = end
    }

    /// Ends the grammar: no text may follow.
    mutating func done() { accept = tail }

    func start() -> State { closure([0]) }

    /// The state after `bytes`; empty if they are not allowed.
    func step(_ state: State, _ bytes: [UInt8]) -> State {
        bytes.reduce(state) { state, byte in closure(Set(state.flatMap { next[$0][byte] ?? [] })) }
    }

    func bytes(after state: State) -> [UInt8] { Set(state.flatMap { next[$0].keys }).sorted() }
    func accepts(_ state: State) -> Bool { state.contains(accept) }

    private func closure(_ nodes: Set<Int>) -> State {
        var todo = Array(nodes), seen = nodes
        while let at = todo.popLast() { for node in empty[at] where seen.insert(node).inserted { todo.append(node) } }
        return seen
    }

    /// Whether a word may begin or end at text[place]: anywhere except inside a run of letters of a script
    /// that separates its words by spaces.
    private static func boundary(_ text: Text, _ place: Int) -> Bool {
        place == 0 || place == text.count || !(spaced(text[place - 1]) && spaced(text[place]))
    }

    private static func spaced(_ letter: Unicode.Scalar) -> Bool {
        switch letter.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: return true
        default: return false
        }
    }
}

/// A tokenizer's ordinary tokens as bytes, sorted.
struct Vocabulary: Sendable {
    let bytesOf: [Int: [UInt8]]
    private let texts: [[UInt8]]
    private let ids: [Int]

    init(_ tokens: [Int: [UInt8]]) {
        let order = tokens.filter { !$0.value.isEmpty }.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value.lexicographicallyPrecedes($1.value) }
        (bytesOf, texts, ids) = (tokens, order.map(\.value), order.map(\.key))
    }

    /// Ids of all tokens that may follow `state`, ascending. The sorted tokens are traversed as a trie, only
    /// where the automaton can follow.
    func allowed(_ grammar: Grammar, _ state: Grammar.State) -> [Int] {
        var found: [Int] = []
        var todo = [(state: state, low: 0, high: texts.count, depth: 0)]
        while let (at, low, high, depth) = todo.popLast() {
            for byte in grammar.bytes(after: at) {
                let first = bound(low, high) { texts[$0][depth] < byte }, last = bound(first, high) { texts[$0][depth] <= byte }
                if first == last { continue }
                var whole = first
                while whole < last, texts[whole].count == depth + 1 {
                    found.append(ids[whole])
                    whole += 1
                }
                if whole < last { todo.append((grammar.step(at, [byte]), whole, last, depth + 1)) }
            }
        }
        return found.sorted()
    }

    /// The first position in low..<high where `before` is false.
    private func bound(_ low: Int, _ high: Int, _ before: (Int) -> Bool) -> Int {
        var (low, high) = (low, high)
        while low < high {
            let mid = (low + high) / 2
            if before(mid) { low = mid + 1 } else { high = mid }
        }
        return low
    }
}

/// The state of one generation under a grammar: `allowed` gives the tokens that may come next, `advance`
/// takes one.
public final class Constraint {
    private let grammar: Grammar
    private let vocabulary: Vocabulary
    private var state: Grammar.State

    init(_ grammar: Grammar, _ vocabulary: Vocabulary) {
        (self.grammar, self.vocabulary) = (grammar, vocabulary)
        state = grammar.start()
    }

    /// Whether the text generated so far is complete according to the grammar.
    var isComplete: Bool { grammar.accepts(state) }

    func allowed() -> [Int] { vocabulary.allowed(grammar, state) }

    /// Takes a token. Raises Failure.runtime for one that is not allowed, so that no text can violate the
    /// grammar unnoticed.
    func advance(_ token: Int) throws {
        state = grammar.step(state, vocabulary.bytesOf[token] ?? [0xff])
        if state.isEmpty { throw Failure.runtime("token \(token) is not allowed here: the mask was not applied") }
    }
}
