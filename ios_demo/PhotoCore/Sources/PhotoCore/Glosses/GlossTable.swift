import Foundation

/// English for a word. `weight`: 0..1, 1 for the best of a sense.
public struct Gloss: Sendable, Equatable {
    public let text: Text
    public let weight: Double
}

/// The glosses of one language's words: the file `glosses-LANGUAGE.bin` of a bundle, mapped and searched by halves
/// (runtime/glosses/table.py describes it). Not thread-safe.
public final class GlossTable {
    static let mostWords = 4  // of a phrase
    static let longest = 100  // bytes of a word of the table, and of a gloss
    static let leastStem = 3  // letters that an inflected word shares with its base
    private static let version = 1, block = 16, start = 10  // the format's; words; bytes before the header
    private static let mostGlosses = 4  // of a word, of a sense
    private static let maxBytes = 16_000_000
    private static let mostKept = 8192  // words whose glosses are kept in memory

    let header: GlossHeader
    private let path: String
    private let data: Data
    /// Where each of the six sections begins.
    private let starts: [Int]
    private var found: [Text: [Gloss]] = [:]
    private(set) lazy var isLatin = Result { try latin() }

    var language: String { header.language }

    /// Raises Failure.bundle, in one line, for a file that is no table.
    public init(_ path: String) throws {
        self.path = path
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path), options: .mappedIfSafe)
            (header, starts) = try data.withUnsafeBytes { try GlossTable.opened(Mapped($0)) }
        } catch {
            let why = if case Failure.value(let line) = error { line } else { "it cannot be read" }
            throw Failure.bundle("\(path): not a table of glosses (\(why)): export the bundle again")
        }
    }

    private static func opened(_ all: Mapped) throws -> (GlossHeader, [Int]) {
        guard all.bytes(0, 4) == Array("GmGl".utf8) else { throw Failure.value("another kind of file") }
        guard all.count <= maxBytes else { throw Failure.value("too large") }
        let version = try all.number(4, bytes: 2), begin = start + (try all.number(6, bytes: 4))
        guard version == GlossTable.version else { throw Failure.value("version \(version), this program reads \(GlossTable.version)") }
        let header = try GlossHeader(try JSON.parse(all.bytes(start, begin)))
        let want = [4 * ((header.words + block - 1) / block), 4 * (header.senses + 1), 4 * (header.glosses + 1)]
        guard [0, 2, 4].map({ header.sizes[$0] }) == want, begin + header.sizes.reduce(0, +) == all.count else {
            throw Failure.value("its sections' sizes differ")
        }
        return (header, header.sizes.indices.map { begin + header.sizes[..<$0].reduce(0, +) })
    }

    /// The glosses of a word or phrase in the spelling of `folded`, the best first; none if it is not there. Raises
    /// Failure.bundle for a damaged file.
    public func lookup(_ word: Text) throws -> [Gloss] {
        if let known = found[word] { return known }
        let glosses = try lookedUp(word)
        if found.count >= GlossTable.mostKept { found.removeAll() }
        found[word] = glosses
        return glosses
    }

    private func lookedUp(_ word: Text) throws -> [Gloss] {
        let own = try listed(word)
        if !own.isEmpty || word.contains(" ") { return own }
        for rule in header.rules where GlossTable.fits(word, rule.ending) {
            let glosses = try listed(Array(word.dropLast(rule.ending.count)) + rule.base)
            if !glosses.isEmpty { return glosses }
        }
        return []
    }

    /// Whether a word may be the inflected form of another, by this ending.
    static func fits(_ word: Text, _ ending: Text) -> Bool {
        word.count - ending.count >= leastStem && word[(word.count - ending.count)...].elementsEqual(ending)
    }

    /// The spelling in which words are stored: lower case, composed, ß as ss, ё as е, œ as oe, æ as ae.
    public static func folded(_ text: Text) -> Text {
        if text.allSatisfy(\.isASCII) { return text.lowered() }
        let composed = text.string.decomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping.scalars
        return composed.casefolded().flatMap { letter -> Text in
            switch letter {
            case "ё": return ["е"]
            case "œ": return ["o", "e"]
            case "æ": return ["a", "e"]
            default: return [letter]
            }
        }
    }

    static func isLatin(_ word: Text) -> Bool { word.first.map { $0.value <= 0x24f || (0x1e00...0x1eff).contains($0.value) } ?? false }

    /// The glosses of a word as the table lists it, without the rules.
    private func listed(_ word: Text) throws -> [Gloss] {
        guard !word.isEmpty, word.count <= GlossTable.longest, header.words > 0 else { return [] }
        let key = word.utf8
        guard key.count <= GlossTable.longest else { return [] }
        var glosses: [Gloss] = []
        try reading { all in
            for sense in try senses(of: key, all) {
                for gloss in try glossesOf(sense, all) {
                    if let at = glosses.firstIndex(where: { $0.text == gloss.text }) {
                        if gloss.weight > glosses[at].weight { glosses[at] = gloss }
                    } else {
                        glosses.append(gloss)
                    }
                }
            }
        }
        let order = glosses.indices.sorted { (-glosses[$0].weight, $0) < (-glosses[$1].weight, $1) }
        return order.prefix(GlossTable.mostGlosses).map { glosses[$0] }
    }

    /// Whether its words are in Latin letters, by the word in its middle.
    private func latin() throws -> Bool {
        let blocks = header.sizes[0] / 4
        if blocks == 0 { return true }
        return try reading { GlossTable.isLatin(String(decoding: try first(blocks / 2, $0), as: UTF8.self).scalars) }
    }

    private func reading<T>(_ read: (Mapped) throws -> T) throws -> T {
        do { return try data.withUnsafeBytes { try read(Mapped($0)) } } catch Failure.value(let why) {
            throw Failure.bundle("\(path): damaged (\(why)): export the bundle again")
        }
    }

    private func senses(of key: [UInt8], _ all: Mapped) throws -> [Int] {
        let blocks = header.sizes[0] / 4
        var low = 0, high = blocks  // the last block whose first word is not after the key
        while high - low > 1 {
            let middle = (low + high) / 2
            if key.lexicographicallyPrecedes(try first(middle, all)) { high = middle } else { low = middle }
        }
        var at = starts[1] + (try begin(low, all)), word: [UInt8] = [], left = GlossTable.block
        let end = low + 1 < blocks ? starts[1] + (try begin(low + 1, all)) : starts[2]
        while at < end, left > 0 {
            let shared = try all.number(at, bytes: 1), added = try all.number(at + 1, bytes: 1)
            word = Array(word.prefix(shared)) + all.bytes(at + 2, at + 2 + added)
            at += 2 + added
            let count = try all.number(at, bytes: 1)
            if word == key {
                let listed = all.bytes(at + 1, at + 1 + 3 * count)
                return stride(from: 0, to: listed.count, by: 3).map { GlossTable.whole(listed[$0..<min($0 + 3, listed.count)]) }
            }
            if key.lexicographicallyPrecedes(word) { return [] }
            (at, left) = (at + 1 + 3 * count, left - 1)
        }
        return []
    }

    /// Where a block of words begins in its section.
    private func begin(_ block: Int, _ all: Mapped) throws -> Int { try all.number(starts[0] + 4 * block, bytes: 4) }

    private func first(_ block: Int, _ all: Mapped) throws -> [UInt8] {
        let at = starts[1] + (try begin(block, all))
        return all.bytes(at + 2, at + 2 + (try all.number(at + 1, bytes: 1)))
    }

    private func glossesOf(_ sense: Int, _ all: Mapped) throws -> [Gloss] {
        guard sense < header.senses else { throw Failure.value("no sense \(sense)") }
        let begin = try all.number(starts[2] + 4 * sense, bytes: 4)
        let end = min(try all.number(starts[2] + 4 * sense + 4, bytes: 4), begin + 4 * GlossTable.mostGlosses)
        return try stride(from: starts[3] + begin, to: starts[3] + end, by: 4).map { at in
            Gloss(text: try gloss(GlossTable.whole(all.bytes(at, at + 3)[...]), all), weight: Double(try all.number(at + 3, bytes: 1)) / 255)
        }
    }

    private func gloss(_ number: Int, _ all: Mapped) throws -> Text {
        guard number < header.glosses else { throw Failure.value("no gloss \(number)") }
        let begin = try all.number(starts[4] + 4 * number, bytes: 4)
        let end = min(try all.number(starts[4] + 4 * number + 4, bytes: 4), begin + GlossTable.longest)
        guard let text = String(validating: all.bytes(starts[5] + begin, starts[5] + end), as: UTF8.self) else { throw Failure.value("a gloss is no text") }
        return text.scalars
    }

    private static func whole(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
}

/// The bytes of a mapped file, which is untrusted.
private struct Mapped {
    private let raw: UnsafeRawBufferPointer

    init(_ raw: UnsafeRawBufferPointer) { self.raw = raw }

    var count: Int { raw.count }

    /// The little-endian number at byte `at`. Raises Failure.value beyond the end.
    func number(_ at: Int, bytes: Int) throws -> Int {
        guard at >= 0, at + bytes <= raw.count else { throw Failure.value("cut off") }
        return (0..<bytes).reversed().reduce(0) { $0 << 8 | Int(raw[at + $1]) }
    }

    /// The bytes from `low` until `high`, as far as the file has them.
    func bytes(_ low: Int, _ high: Int) -> [UInt8] {
        let a = min(low, raw.count), b = min(high, raw.count)
        return a < b ? Array(raw[a..<b]) : []
    }
}

/// What a table says of itself. `sizes`: bytes of its six sections. `rules`: how an inflected word is looked up, with
/// another ending, in the order in which they are tried for a word that the table does not have. `links`: what a
/// compound may have between two words. `endings`: pronouns that may be written at the end of a word. `isSpaceless`:
/// words are written without spaces between them.
struct GlossHeader: Sendable {
    let language: String
    let words: Int
    let senses: Int
    let glosses: Int
    let sizes: [Int]
    let rules: [(ending: Text, base: Text)]
    let links: [Text]
    let endings: [Text]
    let isSpaceless: Bool

    private static let names = ["language", "words", "senses", "glosses", "sizes", "rules", "links", "endings", "spaceless", "sources"]

    /// Raises Failure.value for what no writer wrote.
    init(_ raw: JSON) throws {
        guard let members = raw.members, members.allSatisfy({ GlossHeader.names.contains($0.name) }) else { throw Failure.value("another header") }
        func wrong(_ name: String) -> Failure { .value("its header's \(name)") }
        func count(_ value: JSON?, _ name: String) throws -> Int {
            guard let found = value?.int, (0...(1 << 24)).contains(found) else { throw wrong(name) }
            return found
        }
        func list<T>(_ name: String, _ most: Int, _ read: (JSON) throws -> T) throws -> [T] {
            guard let value = raw[name] else { return [] }
            guard let items = value.array, items.count <= most else { throw wrong(name) }
            return try items.map(read)
        }
        func text(_ value: JSON?, _ name: String, _ most: Int = .max) throws -> Text {
            guard let found = value?.string?.scalars, found.count <= most else { throw wrong(name) }
            return found
        }
        let code = try text(raw["language"], "language", 3)
        guard code.count >= 2, code.allSatisfy({ ("a"..."z").contains($0) }) else { throw wrong("language") }
        language = code.string
        (words, senses, glosses) = (try count(raw["words"], "words"), try count(raw["senses"], "senses"), try count(raw["glosses"], "glosses"))
        sizes = try list("sizes", 6) { try count($0, "sizes") }
        guard sizes.count == 6 else { throw wrong("sizes") }
        rules = try list("rules", 256) { rule in
            guard rule.members?.count == 2 else { throw wrong("rules") }
            return (try text(rule["ending"], "rules", 8), try text(rule["base"], "rules", 8))
        }
        links = try list("links", 16) { try text($0, "links") }
        endings = try list("endings", 32) { try text($0, "endings", 8) }
        _ = try list("sources", 32) { try text($0, "sources") }
        guard let spaceless = raw["spaceless"].map(\.bool) ?? false else { throw wrong("spaceless") }
        isSpaceless = spaceless
    }
}
