import Foundation

/// SentencePiece's map of characters: a double-array trie (Darts) from UTF-8 bytes to places in a list of
/// replacements. A character with its marks is looked up as one if it has fewer than six bytes, then each of its
/// code points.
struct Precompiled: Sendable {
    private let units: [UInt32]
    private let replacements: [UInt8]

    private static let mostBytes = 6

    init(base64: String) throws {
        guard let data = Data(base64Encoded: base64), data.count >= 4 else { throw Failure.value("a map of characters that is not base64") }
        let map = [UInt8](data)
        func unit(_ at: Int) -> UInt32 { (0..<4).reduce(0) { $0 | UInt32(map[at + $1]) << (8 * UInt32($1)) } }
        let size = Int(unit(0))
        guard size >= 4, size % 4 == 0, size <= map.count - 4 else { throw Failure.value("a map of characters that is damaged") }
        units = stride(from: 4, to: 4 + size, by: 4).map(unit)
        replacements = Array(map[(4 + size)...])
    }

    func callAsFunction(_ text: Text) -> Text {
        var out = Text()
        for grapheme in text.string {
            let scalars = Text(grapheme.unicodeScalars), whole = scalars.utf8
            if whole.count < Precompiled.mostBytes, let found = replacement(whole) {
                out += found
            } else {
                for letter in scalars { out += replacement([letter].utf8) ?? [letter] }
            }
        }
        return out
    }

    /// What the shortest known beginning of the bytes is replaced by; nil if none is known.
    private func replacement(_ text: [UInt8]) -> Text? {
        var node = Precompiled.offset(units[0])
        for byte in text {
            if byte == 0 { return nil }
            node ^= Int(byte)
            guard node < units.count, units[node] & 0x8000_00ff == UInt32(byte) else { return nil }
            let unit = units[node]
            node ^= Precompiled.offset(unit)
            if unit >> 8 & 1 == 1 {
                guard node < units.count else { return nil }
                let begin = Int(units[node] & 0x7fff_ffff)
                guard begin <= replacements.count else { return nil }
                return String(decoding: replacements[begin...].prefix { $0 != 0 }, as: UTF8.self).scalars
            }
        }
        return nil
    }

    private static func offset(_ unit: UInt32) -> Int { Int(unit >> 10) << Int((unit & (1 << 9)) >> 6) }
}
