import Foundation

/// Which of a search's hits belong to the set that a query means ("cherry blossoms", "every cat"): a ranking says what comes
/// first, a set needs an end (runtime/search/membership.py, which tells how it was fitted).
enum Membership {
    static let present = 0.47  // probability below which nothing in the album is said to fit
    private static let allWords = 0.99  // share of the query's words that a member's memories hold

    /// The probability that an album of so many photos holds what is meant; the search's own if the best hit has no text.
    static func presence(_ answer: Answer, _ weights: RankingWeights, photos: Int) -> Double {
        guard let best = answer.hits.first else { return 0 }
        func feature(_ name: String) -> Double { weights[name] == 0 ? 0 : best.part(name) / weights[name] }
        if feature("text") == 0 { return answer.presence }
        let told = 1.43 * feature("coverage") + 1.31 * feature("context_coverage")
        let cosine = max(feature("text"), feature("image")) + Ranking.ofFewer(photos)
        return 1 / (1 + exp(-(11.4 * cosine + told + 0.45 * feature("cue") - 5.5)))
    }

    /// The rows of the hits that belong to the set, best first; the best one does, and whatever holds all the words.
    static func members(_ album: Album, _ answer: Answer, _ weights: RankingWeights) throws -> [Int] {
        let trace = answer.trace, isFree = trace.cubes.isEmpty || trace.widened
        let fits = isFree ? [] : Set(try album.inCubes(trace.cubes).rows), hits = answer.hits.filter { isFree || fits.contains($0.row) }
        guard let best = hits.first?.score else { return answer.hits.prefix(1).map(\.row) }
        let words = Words.queryTerms(trace.refined.scalars).count
        let least = 1.6 + 0.4 * Double(max(words - 1, 0))  // chance grows with the query's words
        return hits.enumerated().filter { at, hit in
            if at == 0 || 0.8 * hit.score + (hit.score - best) >= least { return true }
            return weights["coverage"] != 0 && hit.part("coverage") / weights["coverage"] >= allWords
        }.map(\.element.row)
    }
}
