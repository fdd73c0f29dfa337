/// The weights of the fused score (Ranking), in log-odds; a bundle may bring its own.
///
/// text, image: a unit of cosine. words: a unit of BM25. coverage: all of the query's words held. contextWords, contextCoverage: the same of the
/// messages around a message. entity: a node over δ as similar as can be. cue: a nat of evidence. here…: the logistic that says whether the album
/// holds what is meant at all.
public struct RankingWeights: Sendable, Equatable {
    public var text = 7.6
    public var image = 4.6
    public var words = 0.16
    public var coverage = 1.34
    public var contextWords = 0.063
    public var contextCoverage = 4.58
    public var entity = 1.51
    public var cue = 0.84
    public var here = -4.19
    public var hereCosine = 10.14
    public var hereCoverage = 2.93
    public var hereCue = 0.55

    public init() {}

    /// The manifest's names of the weights.
    public static let names: KeyValuePairs<String, WritableKeyPath<RankingWeights, Double> & Sendable> = [
        "text": \.text, "image": \.image, "words": \.words, "coverage": \.coverage, "context_words": \.contextWords,
        "context_coverage": \.contextCoverage, "entity": \.entity, "cue": \.cue, "here": \.here, "here_cosine": \.hereCosine,
        "here_coverage": \.hereCoverage, "here_cue": \.hereCue,
    ]

    /// The weight of a feature of the ranking.
    public subscript(_ feature: String) -> Double { RankingWeights.names.first { $0.key == feature }.map { self[keyPath: $0.value] } ?? 0 }
}
