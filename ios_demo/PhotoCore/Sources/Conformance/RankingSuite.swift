import PhotoCore

/// Suite `ranking`: the features of each photo → log-odds, order and probabilities.
enum RankingSuite {
    static func ready(_ suite: Suite) throws -> Replayed {
        { one in
            let given = one.given
            switch try given.text("op") {
            case "rank": return try rank(given)
            case "evidence":
                let clues = try given.list("clues").map { Clue(known: try bools($0, "known"), inside: try bools($0, "inside"), trust: try $0.need("trust").double ?? 0) }
                return .object(["values": .floats(Clue.evidence(clues, try given.integers("rows")))])
            case "unknown":
                return .object(["values": .floats(Unknown.expected(try known(try given.need("of")), among: try known(try given.need("among"))))])
            case "context":
                let times = try given.integers("times")
                let words = try given.list("words").map {
                    Word(text: try $0.text("text"), rows: try $0.integers("rows"), bm25: try $0.floats("bm25"), rarity: try $0.need("rarity").double ?? 0)
                }
                let talk = Conversations(times: times, said: try bools(given, "said"))
                let found = talk.context(WordScores(words: words, photos: times.count), try given.integers("rows"))
                return .object(["words": .floats(found.words), "coverage": .floats(found.coverage)])
            case "presence":
                func said(_ name: String) throws -> Double { try given.need(name).double ?? 0 }
                let here = Ranking.presence(try weights(given), cosine: try said("cosine"), coverage: try said("coverage"), cue: try said("cue"))
                return .object(["here": .number(here)])
            case "judged":
                let presence = try given.need("presence").double ?? .nan
                let found = Confidence.judged(try given.numbers("scores"), try given.numbers("probabilities"), presence: presence)
                return .object(["values": .array(found.map(JSON.number))])
            case "reorder":
                let linked = try given.list("linked").map { (row: $0[0]?.int ?? 0, names: Set($0[1]?.array?.compactMap(\.int) ?? [])) }
                let pairs = try pairs(given, "photos") + Preferences.betweenPhotos(try self.pairs(given, "entities"), linked)
                return .object(["rows": .ints(Preferences.reorder(try given.integers("ranked"), pairs))])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    private static func rank(_ given: JSON) throws -> JSON {
        let parts = Ranking.weighted(try values(given.need("features")), try weights(given)), total = Ranking.total(parts)
        return .object([
            "order": .ints(Array(descending(total).prefix(try given.whole("k")))), "scores": .floats(total), "probabilities": .floats(Ranking.likelihoods(parts)),
        ])
    }

    private static func values(_ raw: JSON) -> Ranking.Parts {
        (raw.members ?? []).map { (name: $0.name, values: ($0.value.array ?? []).map { Float($0.double ?? .nan) }) }
    }

    private static func known(_ raw: JSON) throws -> Unknown.Known {
        Unknown.Known(parts: values(try raw.need("parts")), told: try bools(raw, "told"), seen: try bools(raw, "seen"))
    }

    private static func weights(_ given: JSON) throws -> RankingWeights {
        var out = RankingWeights()
        for (name, path) in RankingWeights.names { if let value = given["weights"]?[name]?.double { out[keyPath: path] = value } }
        return out
    }

    private static func bools(_ raw: JSON, _ name: String) throws -> [Bool] { try raw.list(name).map { $0.bool ?? false } }

    private static func pairs(_ raw: JSON, _ name: String) throws -> [Preferences.Pair] {
        try raw.list(name).map { (better: $0[0]?.int ?? 0, worse: $0[1]?.int ?? 0) }
    }
}
