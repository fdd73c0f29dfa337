/// A query's vectors. `plain`: the text tower's of the refined query. `aligned`: by the query adapter, else its
/// blend with that of a sentence that contains it. `projected`: v_Q by channel of the bundle's trained experts.
struct QueryVectors {
    let plain: [Float]
    let aligned: [Float]
    let projected: [Channels.Vector]

    /// The vector of each channel. `shared`: the one of the text tower's channels.
    func by(_ shared: [Float]) -> [Channels.Vector] { Channels.shared.map { ($0, shared) } + projected }

    /// The vectors that the default mode ranks by, titles' among them.
    func ranking() -> [Channels.Vector] { by(aligned) + [(Channels.title, aligned)] }
}

/// Layer 3's channels of an album.
enum Channels {
    /// A channel's name and the query's vector in it.
    typealias Vector = (channel: String, query: [Float])

    /// The channels whose queries are the text tower's vector.
    static let shared = ["text", "image"]

    /// What its owner might call a photo, written from its memories where a person has had it learned.
    static let title = "title"

    /// The channels that both the album and the query have, in the query's order.
    static func searched(_ album: Album, _ vectors: [Vector]) throws -> [Vector] {
        let have = try album.channels()
        return vectors.filter { have.contains($0.channel) }
    }

    /// By feature, which is called as its channel up to the first ":": the cosine with each row's best
    /// vector, minus infinity where a row has no vector. `isRough`: as of `Album.scores`.
    static func scores(_ album: Album, _ vectors: [Vector], _ rows: [Int], isRough: Bool = false) throws -> Ranking.Parts {
        var out: Ranking.Parts = []
        for (channel, query) in try searched(album, vectors) {
            let name = String(channel.prefix { $0 != ":" }), values = try album.scores(channel, query, rows, isRough: isRough)
            // Of several channels of one feature the last counts, as in the Python reference.
            if let at = out.firstIndex(where: { $0.name == name }) { out[at].values = values } else { out.append((name, values)) }
        }
        return out
    }

    /// As `scores`, but 0 where a row has no vector.
    static func cosines(_ album: Album, _ vectors: [Vector], _ rows: [Int]) throws -> Ranking.Parts { finite(try scores(album, vectors, rows)) }

    static func finite(_ scores: Ranking.Parts) -> Ranking.Parts {
        scores.map { score in (score.name, score.values.map { $0.isFinite ? $0 : 0 }) }
    }
}
