/// Python's classification of single characters.
extension Unicode.Scalar {
    /// `str.isspace`, and `\s` of its regular expressions.
    public var isSpace: Bool {
        switch value {
        case 9...13, 28...32, 0x85, 0xa0, 0x1680, 0x2000...0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000: return true
        default: return false
        }
    }

    /// `str.isalpha`: any letter.
    public var isAlpha: Bool {
        if isASCII { return (65...90).contains(value) || (97...122).contains(value) }
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: return true
        default: return false
        }
    }

    /// A number of any kind: Unicode's class N.
    public var isNumber: Bool {
        if isASCII { return (48...57).contains(value) }
        switch properties.generalCategory {
        case .decimalNumber, .letterNumber, .otherNumber: return true
        default: return false
        }
    }

    /// `\d`: a digit of a decimal system.
    public var isDecimal: Bool { isASCII ? (48...57).contains(value) : properties.generalCategory == .decimalNumber }

    /// `str.isdigit` of one character: decimal digits, and superscripts and such.
    public var isDigit: Bool {
        if isASCII { return (48...57).contains(value) }
        return properties.numericType == .decimal || properties.numericType == .digit
    }

    /// `\w`: letters, numbers, the underscore.
    public var isWord: Bool { isAlpha || isNumber || value == 95 }

    public var isUpper: Bool { isASCII ? (65...90).contains(value) : properties.isUppercase }
    public var isLower: Bool { isASCII ? (97...122).contains(value) : properties.isLowercase }

    public var isPrintable: Bool {
        if isASCII { return (32...126).contains(value) }
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: return false
        default: return true
        }
    }

    /// Control, format, unassigned (class C) or a separator (class Z).
    public var isOtherOrSeparator: Bool { !isPrintable || value == 32 }

    /// Full case folding, which the standard library lacks. Lower-casing, upper-casing and lower-casing again
    /// gives the same, except for dotless i and for Cherokee, whose small letters fold to the capital ones.
    public var casefold: Text {
        if isASCII { return [isUpper ? Unicode.Scalar(value + 32)! : self] }
        switch value {
        case 0x131, 0x13a0...0x13f5: return [self]
        case 0x13f8...0x13fd: return [Unicode.Scalar(value - 8)!]
        case 0xab70...0xabbf: return [Unicode.Scalar(value - 0xab70 + 0x13a0)!]
        default: break
        }
        return properties.lowercaseMapping.unicodeScalars
            .flatMap { $0.properties.uppercaseMapping.unicodeScalars }
            .flatMap { $0.properties.lowercaseMapping.unicodeScalars }
    }

    /// The character's lower case if that is a single character, else the character itself.
    var simpleLower: Unicode.Scalar {
        if isASCII { return isUpper ? Unicode.Scalar(value + 32)! : self }
        let mapped = properties.lowercaseMapping.unicodeScalars
        return mapped.count == 1 ? mapped.first! : value == 0x130 ? "i" : self
    }
}
