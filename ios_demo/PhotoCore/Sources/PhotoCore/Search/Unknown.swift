/// What a photo's memory would be expected to add to its score, for photos of which nobody has said anything
/// (runtime/search/stages/unknown.py): what the described photos' memories add for this query, more where the picture
/// fits better than the album's pictures do.
public enum Unknown {
    /// Summands of rows, and by row: `told`, whether somebody described the photo (it has a text vector);
    /// `seen`, whether it has an image vector.
    public struct Known: Sendable {
        public internal(set) var parts: Ranking.Parts
        public let told: [Bool]
        public let seen: [Bool]

        public init(parts: Ranking.Parts, told: [Bool], seen: [Bool]) { (self.parts, self.told, self.seen) = (parts, told, seen) }

        /// The values of a summand in the rows that `these` marks.
        fileprivate func values(_ name: String, _ these: [Bool]) -> [Double] {
            guard let part = parts.first(where: { $0.name == name }) else { return [] }
            var out: [Double] = []
            out.reserveCapacity(these.count)
            for (at, isOne) in these.enumerated() where isOne { out.append(Double(part.values[at])) }
            return out
        }
    }

    // Summands that a memory gives; labels and place names give some of them, too.
    private static let told = ["text", "words", "coverage", "context_words", "context_coverage", "entity", "related"]
    private static let spread = 0.5  // of the standard deviation of the described photos' evidence
    private static let picture = 2.26  // for each nat by which the image's summand exceeds that of the mean picture
    private static let most = 0.9  // of the meaning of the memory that fits best
    private static let few = 8.0  // photos whose memories add nothing, counted beside the described ones

    /// For each row of `of` the evidence expected if it is not told, else 0. At most the mean or, if that is
    /// more, `most` of what the best memory's meaning adds. `among`: rows that stand for the whole album.
    public static func expected(_ of: Known, among: Known) -> [Float] {
        var evidence = [Double](repeating: 0, count: among.told.filter { $0 }.count)
        for name in told { for (at, value) in among.values(name, among.told).enumerated() { evidence[at] += value } }
        let share = Double(evidence.count) / (Double(evidence.count) + few), middle = average(evidence)
        let mean = share * middle, deviation = share * average(evidence.map { ($0 - middle) * ($0 - middle) }).squareRoot()
        let bound = among.values("text", among.told).max().map { max(mean, most * $0) } ?? .infinity
        let pictures = among.values("image", among.seen), usual = average(pictures)
        let images = of.parts.first { $0.name == "image" }?.values
        return of.told.indices.map { row in
            if of.told[row] { return 0 }
            var better = 0.0
            if !pictures.isEmpty, of.seen[row], let images { better = Double(images[row]) - usual }
            return Float(min(mean + spread * deviation + picture * better, bound))
        }
    }

    private static func average(_ values: [Double]) -> Double { values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count) }
}
