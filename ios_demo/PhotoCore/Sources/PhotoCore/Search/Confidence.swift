import Foundation

/// How likely each hit is one of the photos that a query means, of which there may be one or many
/// (runtime/search/confidence.py, which tells how it was fitted). The engine shares one unit of probability out among all
/// photos: of seven cats the first then seems certain.
public enum Confidence {
    private static let share = 1.02, score = 0.11, behind = 0.12, none = 0.92
    // Share of the probability below which all are alike.
    private static let least = 1e-6

    /// For each hit, best first, its probability by itself, from its score and its share of `presence`.
    public static func judged(_ scores: [Double], _ probabilities: [Double], presence: Double) -> [Double] {
        let doubt = presence < 0.5 ? presence : 1
        return zip(scores, probabilities).map { own, probability in
            let share = min(max(probability / max(presence, 1e-9), least), 1 - least)
            let odds = Confidence.share * log(share / (1 - share)) + score * own + behind * (own - scores[0]) + none
            return rounded(doubt / (1 + exp(-odds)), 4)
        }
    }
}

extension Answer {
    /// For each hit the probability by itself.
    var likely: [Double] { Confidence.judged(hits.map(\.score), hits.map(\.probability), presence: presence) }
}
