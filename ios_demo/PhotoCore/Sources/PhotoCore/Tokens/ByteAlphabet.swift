/// GPT-2's letters for the 256 bytes: printable Latin-1 stands for itself, the rest is numbered from U+0100 on.
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

    /// A text as the letters of its UTF-8.
    static func spell(_ text: Text) -> Text { text.utf8.map { letters[Int($0)] } }

    /// The bytes that letters stand for; nil if one is no letter of the alphabet.
    static func unspell(_ token: Text) -> [UInt8]? {
        var out: [UInt8] = []
        for letter in token {
            guard let byte = bytes[letter] else { return nil }
            out.append(byte)
        }
        return out
    }
}
