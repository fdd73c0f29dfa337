import Foundation

/// Changes a text before it is split (tokenizer.json's `normalizer`).
indirect enum Normalizer: Sendable {
    case none
    case all([Normalizer])
    case nfc, nfd, nfkc, nfkd, lowercase, nmt
    case precompiled(Precompiled)
    case replace(Pattern, with: Text)
    case bert(clean: Bool, chinese: Bool, strip: Bool, lower: Bool)

    /// Raises Failure.value for a kind that is not supported.
    init(_ raw: JSON?) throws {
        guard let raw, let type = raw["type"]?.string else {
            self = .none
            return
        }
        switch type {
        case "Sequence": self = .all(try (raw["normalizers"]?.array ?? []).map { try Normalizer($0) })
        case "NFC": self = .nfc
        case "NFD": self = .nfd
        case "NFKC": self = .nfkc
        case "NFKD": self = .nfkd
        case "Lowercase": self = .lowercase
        case "Nmt": self = .nmt
        case "Precompiled": self = .precompiled(try Precompiled(base64: raw["precompiled_charsmap"]?.string ?? ""))
        case "Replace":
            self = .replace(try patternOf(raw["pattern"]), with: (raw["content"]?.string ?? "").scalars)
        case "BertNormalizer":
            let lower = raw["lowercase"]?.bool ?? true
            self = .bert(
                clean: raw["clean_text"]?.bool ?? true, chinese: raw["handle_chinese_chars"]?.bool ?? true, strip: raw["strip_accents"]?.bool ?? lower,
                lower: lower)
        default: throw Failure.value("a tokenizer with the normalizer \(type)")
        }
    }

    func callAsFunction(_ text: Text) -> Text {
        switch self {
        case .none: return text
        case .all(let steps): return steps.reduce(text) { $1($0) }
        case .nfc: return text.string.precomposedStringWithCanonicalMapping.scalars
        case .nfd: return text.string.decomposedStringWithCanonicalMapping.scalars
        // In two steps: Foundation on Linux leaves marks that only the compatibility mapping sets free uncomposed.
        case .nfkc: return text.string.decomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping.scalars
        case .nfkd: return text.string.decomposedStringWithCompatibilityMapping.scalars
        case .lowercase: return Normalizer.lower(text)
        case .nmt: return text.compactMap(Normalizer.nmt)
        case .precompiled(let map): return map(text)
        case .replace(let pattern, let other): return pattern.replacing(text) { _ in other }
        case .bert(let clean, let chinese, let strip, let lower):
            var text = text
            if clean { text = Normalizer.clean(text) }
            if chinese { text = text.flatMap { Normalizer.isChinese($0.value) ? [" ", $0, " "] : [$0] } }
            if strip {
                text = text.string.decomposedStringWithCanonicalMapping.scalars.filter { $0.properties.generalCategory != .nonspacingMark }
            }
            return lower ? Normalizer.lower(text) : text
        }
    }

    /// Lower case, letter by letter; unlike Python's, without the rule for a sigma at a word's end.
    private static func lower(_ text: Text) -> Text { text.flatMap { $0.properties.lowercaseMapping.unicodeScalars } }

    /// SentencePiece's "nmt" rules: some control characters are dropped, others and odd spaces become a space.
    private static func nmt(_ letter: Unicode.Scalar) -> Unicode.Scalar? {
        switch letter.value {
        case 1...8, 0xb, 0xe...0x1f, 0x7f, 0x8f, 0x9f: return nil
        case 9, 0xa, 0xc, 0xd, 0x1680, 0x200b...0x200f, 0x2028, 0x2029, 0x2581, 0xfeff, 0xfffd: return " "
        default: return letter
        }
    }

    private static func clean(_ text: Text) -> Text {
        text.compactMap { letter in
            if letter.value == 0 || letter.value == 0xfffd { return nil }
            if letter == "\t" || letter == "\n" || letter == "\r" { return " " }
            switch letter.properties.generalCategory {
            case .control, .format, .privateUse, .surrogate: return nil
            default: return letter.properties.isWhitespace ? " " : letter
            }
        }
    }

    private static func isChinese(_ value: UInt32) -> Bool {
        switch value {
        case 0x4e00...0x9fff, 0x3400...0x4dbf, 0x20000...0x2a6df, 0x2a700...0x2b73f, 0x2b740...0x2b81f, 0x2b920...0x2ceaf, 0xf900...0xfaff,
            0x2f800...0x2fa1f: return true
        default: return false
        }
    }
}

/// A pattern of tokenizer.json: {"Regex": …} or {"String": …}.
func patternOf(_ raw: JSON?) throws -> Pattern {
    if let regex = raw?["Regex"]?.string { return try Pattern(reading: regex, unicodeSpace: true) }
    let plain = (raw?["String"]?.string ?? "").scalars.map { "\\u" + String($0.value + 0x10000, radix: 16).suffix(4) }.joined()
    return try Pattern(reading: plain, unicodeSpace: true)
}
