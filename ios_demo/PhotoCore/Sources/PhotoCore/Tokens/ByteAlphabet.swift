/// GPT-2's letters for the 256 bytes: printable Latin-1 characters are used as they are, the other bytes are
/// numbered from U+0100 on.
enum ByteAlphabet {
    static let letters: [Unicode.Scalar] = {
        let plain = Set([33...126, 161...172, 174...255].flatMap { $0 })
        var next: UInt32 = 256
        return (0..<256).map { byte in
            if plain.contains(byte) { return Unicode.Scalar(UInt32(byte))! }
            defer { next += 1 }
            return Unicode.Scalar(next)!
        }
    }()

    static let bytes: [Unicode.Scalar: UInt8] = Dictionary(uniqueKeysWithValues: letters.enumerated().map { ($1, UInt8($0)) })

    /// The UTF-8 bytes of a text, written as letters.
    static func spell(_ text: Text) -> Text { text.utf8.map { letters[Int($0)] } }

    /// The bytes of the letters; nil if a character is not in the alphabet.
    static func unspell(_ token: Text) -> [UInt8]? {
        var out: [UInt8] = []
        for letter in token {
            guard let byte = bytes[letter] else { return nil }
            out.append(byte)
        }
        return out
    }
}
