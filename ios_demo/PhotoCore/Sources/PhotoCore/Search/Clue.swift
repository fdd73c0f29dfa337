import Foundation

/// A cue and the photos of one album that fit it: by row whether the field is known, and whether the photo
/// fits. `trust`: the share of meant photos that lie inside such a cue.
public struct Clue: Sendable {
    public let known: [Bool]
    public let inside: [Bool]
    public let trust: Double

    public init(known: [Bool], inside: [Bool], trust: Double) { (self.known, self.inside, self.trust) = (known, inside, trust) }

    /// For each of `rows` the log likelihood ratio. 0 where the field is unknown, and for all rows if `trust`
    /// is not above the cue's share of the album.
    public func evidence(_ rows: [Int]) -> [Float] {
        let count = known.reduce(0) { $1 ? $0 + 1 : $0 }
        if count == 0 { return rows.map { _ in 0 } }
        let one = Double(count + 1), base = min(Double(max(inside.reduce(0) { $1 ? $0 + 1 : $0 }, 1)) / one, 1 - 1 / one), trust = min(self.trust, 0.98)
        if trust <= base { return rows.map { _ in 0 } }
        let (fits, misses) = (Float(log(trust / base)), Float(log((1 - trust) / (1 - base))))
        return rows.map { known[$0] ? (inside[$0] ? fits : misses) : 0 }
    }

    /// For each of `rows` the sum of all clues, as if independent, clipped so that cues cannot outweigh all
    /// other features.
    public static func evidence(_ clues: [Clue], _ rows: [Int]) -> [Float] {
        var total = [Float](repeating: 0, count: rows.count)
        for clue in clues { for (at, worth) in clue.evidence(rows).enumerated() { total[at] += worth } }
        return total.map { min(max($0, -4), 6) }
    }
}
