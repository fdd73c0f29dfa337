/// A set of characters in a pattern: ranges and properties, optionally negated or case-insensitive.
struct CharacterClass: Sendable {
    enum Property: Sendable { case word, space, digit, letter, number, whiteSpace, notWord, notSpace, notDigit, notLetter, notNumber, notWhiteSpace }

    var ranges: [ClosedRange<UInt32>] = []
    var properties: [Property] = []
    var negated = false
    var ignoresCase = false
    private var ascii: (UInt64, UInt64) = (0, 0)

    /// Fills the lookup table for ASCII; to be called once the set is complete.
    mutating func prepare() {
        ascii = (0, 0)
        for range in ranges where range.lowerBound < 128 { for value in range.lowerBound...min(range.upperBound, 127) { add(value) } }
        if !properties.isEmpty { for value in UInt32(0)..<128 where listed(Unicode.Scalar(value)!) { add(value) } }
        if ignoresCase {
            // Of the upper half, A to Z are bits 1 to 26, and a to z those 32 above.
            let either = (ascii.1 | ascii.1 >> 32) & 0x07ff_fffe
            ascii.1 |= either | either << 32
        }
        if negated { ascii = (~ascii.0, ~ascii.1) }
    }

    private mutating func add(_ value: UInt32) {
        if value < 64 { ascii.0 |= 1 << UInt64(value) } else { ascii.1 |= 1 << UInt64(value - 64) }
    }

    @inline(__always) func contains(_ letter: Unicode.Scalar) -> Bool {
        let value = letter.value
        if value < 64 { return ascii.0 >> UInt64(value) & 1 == 1 }
        if value < 128 { return ascii.1 >> UInt64(value - 64) & 1 == 1 }
        return holds(letter)
    }

    private func holds(_ letter: Unicode.Scalar) -> Bool {
        var found = listed(letter)
        if !found && ignoresCase {
            var low = letter.simpleLower
            // Python also treats these two as s and i when it ignores case.
            if low == "\u{17F}" { low = "s" }
            if low == "\u{131}" { low = "i" }
            found = listed(low) || [letter, low].contains { one in
                let high = one.properties.uppercaseMapping.unicodeScalars
                return high.count == 1 && listed(high.first!)
            }
        }
        return found != negated
    }

    private func listed(_ letter: Unicode.Scalar) -> Bool {
        if ranges.contains(where: { $0.contains(letter.value) }) { return true }
        return properties.contains { property in
            switch property {
            case .word: return letter.isWord
            case .space: return letter.isSpace
            case .digit: return letter.isDecimal
            case .letter: return letter.isAlpha
            case .number: return letter.isNumber
            case .whiteSpace: return letter.properties.isWhitespace
            case .notWord: return !letter.isWord
            case .notSpace: return !letter.isSpace
            case .notDigit: return !letter.isDecimal
            case .notLetter: return !letter.isAlpha
            case .notNumber: return !letter.isNumber
            case .notWhiteSpace: return !letter.properties.isWhitespace
            }
        }
    }
}
