import Foundation

/// The features of all layers as weighted summands of one score per photo (runtime/search/stages/ranking.py). A
/// score is a log-odds: among the ranked photos, softmax(score) is the probability that a photo is meant.
public struct Ranking: Sendable {
    /// The summands by name, in the order in which they are added; one value for each ranked row.
    public typealias Parts = [(name: String, values: [Float])]

    public static func weighted(_ features: Parts, _ weights: RankingWeights) -> Parts {
        features.map { feature in
            let weight = Float(weights[feature.name])
            return (feature.name, feature.values.map { $0 * weight })
        }
    }

    /// The summands for a query of cues only: all but "cue" are zeroed. They would only measure how much a
    /// photo resembles the word "photo".
    public static func byCues(_ parts: Parts) -> Parts {
        parts.map { part in (part.name, part.name == "cue" ? part.values : [Float](repeating: 0, count: part.values.count)) }
    }

    public static func total(_ parts: Parts) -> [Float] {
        guard var sum = parts.first?.values else { return [] }
        for part in parts.dropFirst() { for at in sum.indices { sum[at] += part.values[at] } }
        return sum
    }

    /// Softmax of the scores: each photo's probability given that one of them is meant.
    public static func likelihoods(_ parts: Parts) -> [Float] {
        var total = [Double](repeating: 0, count: parts.first?.values.count ?? 0)
        for part in parts { for at in total.indices { total[at] += Double(part.values[at]) } }
        guard let most = total.max() else { return [] }
        let odds = total.map { exp($0 - most) }, sum = max(odds.reduce(0, +), 1e-300)
        return odds.map { Float($0 / sum) }
    }

    /// What the best cosine among so many photos lacks of the best among 600, where neither is meant (runtime/search/hits.py).
    static func ofFewer(_ photos: Int) -> Double { 0.022 * log(600 / Double(min(max(photos, 20), 600))) }

    /// The probability that the album holds what is meant, by logistic regression. From the best hit's
    /// cosine, word coverage and cue evidence.
    public static func presence(_ weights: RankingWeights, cosine: Double, coverage: Double, cue: Double) -> Double {
        1 / (1 + exp(-(weights.here + weights.hereCosine * cosine + weights.hereCoverage * coverage + weights.hereCue * cue)))
    }
}
