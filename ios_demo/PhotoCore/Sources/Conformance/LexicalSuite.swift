import PhotoCore

/// Suite `lexical`: the query's words in memories, and the word rules.
enum LexicalSuite {
    static func ready(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch()
        var opened: [String: Album] = [:]
        return { one in
            let given = one.given
            switch try given.text("op") {
            case "words":
                let name = try given.text("file")
                let album = try opened[name] ?? Album(try scratch.copy(suite.path(name)))
                opened[name] = album
                return json(try album.words(try given.text("query").scalars))
            case "spellings": return .object(["forms": .array(Words.spellings(try given.text("text").scalars).map { .strings($0.map(\.string)) })])
            case "query_terms": return .object(["words": .strings(Words.queryTerms(try given.text("text").scalars).map(\.string))])
            case "canonical": return .object(["text": .string(Entities.canonical(try given.text("text").scalars).string)])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    private static func json(_ found: WordScores) -> JSON {
        let words = found.words.map { word -> JSON in
            .object(["text": .string(word.text), "rows": .ints(word.rows), "bm25": .floats(word.bm25), "rarity": .number(word.rarity)])
        }
        return .object(["words": .array(words), "bm25": .floats(found.bm25()), "coverage": .floats(found.coverage())])
    }
}
