import Foundation

/// A text as its code points, in which the Python reference counts, slices and compares. A Swift `String`
/// counts grapheme clusters and treats canonically equivalent texts as equal, so spans and dictionary keys
/// would differ.
public typealias Text = [Unicode.Scalar]

extension Array where Element == Unicode.Scalar {
    public init(_ string: String) { self = Array(string.unicodeScalars) }

    public var string: String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: self)
        return String(view)
    }

    public var utf8: [UInt8] { Array<UInt8>(string.utf8) }

    /// The code points of `range`, clipped to the text.
    public func slice(_ low: Int, _ high: Int) -> Text {
        let a = Swift.max(0, Swift.min(low, count)), b = Swift.max(a, Swift.min(high, count))
        return Array(self[a..<b])
    }

    /// Python's `strip`: the text without the characters for which `drop` is true, at both ends.
    public func stripped(_ drop: (Unicode.Scalar) -> Bool = { $0.isSpace }) -> Text {
        guard let first = firstIndex(where: { !drop($0) }), let last = lastIndex(where: { !drop($0) }) else { return [] }
        return Array(self[first...last])
    }

    public func strippedEnd(_ drop: (Unicode.Scalar) -> Bool = { $0.isSpace }) -> Text {
        guard let last = lastIndex(where: { !drop($0) }) else { return [] }
        return Array(self[...last])
    }

    public func strippedStart(_ drop: (Unicode.Scalar) -> Bool = { $0.isSpace }) -> Text {
        guard let first = firstIndex(where: { !drop($0) }) else { return [] }
        return Array(self[first...])
    }

    /// The words between white space.
    public func words() -> [Text] { split { $0.isSpace }.map { Array($0) } }

    /// The words, joined by single spaces.
    public func tidied() -> Text { Text.join(words(), " ") }

    public static func join(_ parts: [Text], _ between: Unicode.Scalar) -> Text { Array(parts.joined(separator: [between])) }

    public func has(prefix: String) -> Bool { starts(with: prefix.unicodeScalars) }

    public func has(suffix: String) -> Bool {
        let end = Array(suffix.unicodeScalars)
        return count >= end.count && self[(count - end.count)...].elementsEqual(end)
    }

    /// The first position of `part` at or after `start`; nil if there is none.
    public func find(_ part: Text, from start: Int = 0) -> Int? {
        guard part.count <= count else { return nil }
        if part.isEmpty { return start <= count ? start : nil }
        var at = start
        while at + part.count <= count {
            if self[at] == part[0], self[at..<(at + part.count)].elementsEqual(part) { return at }
            at += 1
        }
        return nil
    }

    /// Python's `str.lower`: full mappings; a sigma at a word's end becomes a final sigma.
    public func lowered() -> Text {
        var out = Text()
        out.reserveCapacity(count)
        for (at, letter) in enumerated() {
            if letter.isASCII {
                out.append((65...90).contains(letter.value) ? Unicode.Scalar(letter.value + 32)! : letter)
            } else if letter == "\u{3A3}" {
                out.append(isFinalSigma(at) ? "\u{3C2}" : "\u{3C3}")
            } else {
                out.append(contentsOf: letter.properties.lowercaseMapping.unicodeScalars)
            }
        }
        return out
    }

    private func isFinalSigma(_ at: Int) -> Bool {
        var before = at - 1
        while before >= 0, self[before].properties.isCaseIgnorable { before -= 1 }
        guard before >= 0, self[before].properties.isCased else { return false }
        var after = at + 1
        while after < count, self[after].properties.isCaseIgnorable { after += 1 }
        return !(after < count && self[after].properties.isCased)
    }

    /// Python's `str.casefold`.
    public func casefolded() -> Text {
        if allSatisfy({ $0.isASCII }) { return lowered() }
        return flatMap { $0.casefold }
    }

    /// Python's `str.title`: a letter after a letter in lower case, other letters in title case.
    public func titled() -> Text {
        var out = Text(), inWord = false
        for letter in self {
            let mapped = inWord ? letter.properties.lowercaseMapping : letter.properties.titlecaseMapping
            out.append(contentsOf: mapped.unicodeScalars)
            inWord = letter.properties.isCased
        }
        return out
    }

    /// Python's `str.isupper`: at least one character with case, and none in lower or title case.
    public var isUpper: Bool {
        var cased = false
        for letter in self {
            if letter.properties.isLowercase || letter.properties.generalCategory == .titlecaseLetter { return false }
            cased = cased || letter.properties.isUppercase
        }
        return cased
    }

    /// Python's `str.isprintable`.
    public var isPrintable: Bool { allSatisfy(\.isPrintable) }

    /// Python's `repr`, with which a trace quotes a text.
    public var quoted: String {
        let quote: Unicode.Scalar = contains("'") && !contains("\"") ? "\"" : "'"
        var out = String(quote)
        for letter in self {
            switch letter {
            case quote, "\\": out += "\\" + String(letter)
            case "\n": out += "\\n"
            case "\r": out += "\\r"
            case "\t": out += "\\t"
            case _ where letter.isPrintable: out.unicodeScalars.append(letter)
            case _ where letter.value < 0x100: out += String(format: "\\x%02x", letter.value)
            case _ where letter.value < 0x10000: out += String(format: "\\u%04x", letter.value)
            default: out += String(format: "\\U%08x", letter.value)
            }
        }
        return out + String(quote)
    }
}

extension String {
    public var scalars: Text { Array(unicodeScalars) }
}
