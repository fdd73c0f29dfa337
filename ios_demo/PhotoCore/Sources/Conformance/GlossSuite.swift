import PhotoCore

/// Suite `glosses`: queries in other languages, read word by word.
enum GlossSuite {
    static func ready(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch(), shared = suite.shared
        func table(_ bytes: [UInt8]) throws -> GlossTable { try GlossTable(try scratch.write(bytes)) }
        let tables = try ["de", "fr", "es", "ru", "ja"].map { try shared.need("tables").base64($0) }
        let vocabulary = try shared.text("vocabulary").split(separator: " ").enumerated().map { (token: String($1).scalars, id: $0) }
        let cues = try CueReader(rules: CueSuite.rules(suite))
        let reader = GlossReader(try tables.map(table), vocabulary: vocabulary, told: cues.language(of:))
        let names = NameWords(try shared.strings("names").map(\.scalars))
        return { one in
            let given = one.given
            switch try given.text("op") {
            case "read":
                guard let reading = try reader.read(try given.text("query").scalars, names) else { return .null }
                return told(reading, held: try (given["held"] == nil ? shared : given).strings("held"))
            case "album":
                let album = try Album(try scratch.copy(suite.path(try given.text("file"))))
                return try told(album, reader, try given.text("query").scalars)
            case "letters":
                let words = try given.text("text").split(separator: " ").map { GlossLetters.latin(String($0).scalars) }
                let spoken = words.map(GlossLetters.spoken)
                return .object([
                    "latin": line(words.map(\.string), " "), "spoken": line(spoken.map { String(decoding: $0, as: UTF8.self) }, " "),
                    "sound": line(spoken.map { String(decoding: GlossLetters.sound($0), as: UTF8.self) }, " "),
                ])
            case "latin": return .object(["text": .string(GlossLetters.latin(try given.text("text").scalars).string)])
            case "folded": return .object(["text": .string(GlossTable.folded(try given.text("text").scalars).string)])
            case "like":
                let least = try given.need("least").double ?? 0
                return .object(["names": .array(try given.strings("words").map { .optional(names.like($0.scalars, least)?.string) })])
            case "damaged":
                var bytes = tables[0]
                Scratch.edit(&bytes, try given.list("edits"), given["length"]?.int)
                let damaged = try table(bytes)
                return .object(["glosses": line(try shared.strings("asked").map { told(try damaged.lookup(GlossTable.folded($0.scalars))) }, "|")])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    private static func line(_ parts: [String], _ between: String) -> JSON { .string(parts.joined(separator: between)) }

    private static func told(_ reading: GlossReading, held: [String]) -> JSON {
        let held = Set(held.map(\.scalars))
        let out: [JSON.Member] = [.init("language", .string(reading.language)), .init("pieces", line(reading.pieces.map(told), "|"))]
        guard let glossed = GlossChoice.chosen(reading, held.contains) else { return .object(out) }
        let forms = glossed.forms.map { $0.map(\.string).joined(separator: "/") }
        return .object(out + [.init("text", .string(glossed.text.string)), .init("forms", line(forms, "|")), .init("lines", line(glossed.lines, "|"))])
    }

    private static func told(_ piece: GlossPiece) -> String {
        if piece.options.isEmpty { return piece.said.string }
        let word = piece.word == piece.said ? "" : "=\(piece.word.string)"
        return "\(piece.said.string)\(word)\(piece.isEnglish ? "*" : ""):\(told(piece.options))"
    }

    private static func told(_ glosses: [Gloss]) -> String {
        glosses.map { "\($0.text.string) \(Int((255 * $0.weight).rounded()))" }.joined(separator: "/")
    }

    private static func told(_ album: Album, _ reader: GlossReader, _ query: Text) throws -> JSON {
        guard let reading = try reader.read(query, NameWords(try album.listedEntities())), let glossed = try GlossChoice.chosen(reading, album.holds) else {
            return .null
        }
        let words = try album.words(glossed.text, forms: glossed.forms).words
        return .object([
            "text": .string(glossed.text.string),
            "words": .array(words.map { .object(["text": .string($0.text), "rows": .ints($0.rows), "bm25": .floats($0.bm25)]) }),
        ])
    }
}
