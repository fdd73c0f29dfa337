/// The weights of the fused score (Ranking), in log-odds; a bundle may have its own.
///
/// text, image, dpe, title: per unit of cosine. words: per unit of BM25. coverage: when all of the query's words are
/// held. contextWords, contextCoverage: the same for the messages around a message. entity: for an entity
/// node as similar as possible, above δ, that the photo's own memory names; related: that the graph reaches
/// from it. cue: per nat of evidence. here…: the weights of the logistic for the probability that the album
/// holds what the query means.
public struct RankingWeights: Sendable, Equatable {
    public var text = 7.6
    public var image = 4.6
    public var dpe = 12.0
    public var title = 2.0
    public var words = 0.16
    public var coverage = 1.34
    public var contextWords = 0.063
    public var contextCoverage = 4.58
    public var entity = 1.51
    public var related = 0.5
    public var cue = 0.84
    public var here = -4.19
    public var hereCosine = 10.14
    public var hereCoverage = 2.93
    public var hereCue = 0.55

    public init() {}

    /// The manifest's names of the weights.
    public static let names: KeyValuePairs<String, WritableKeyPath<RankingWeights, Double> & Sendable> = [
        "text": \.text, "image": \.image, "dpe": \.dpe, "title": \.title, "words": \.words, "coverage": \.coverage,
        "context_words": \.contextWords, "context_coverage": \.contextCoverage, "entity": \.entity, "related": \.related, "cue": \.cue, "here": \.here,
        "here_cosine": \.hereCosine, "here_coverage": \.hereCoverage, "here_cue": \.hereCue,
    ]

    /// The weight of a feature of the ranking.
    public subscript(_ feature: String) -> Double { RankingWeights.names.first { $0.key == feature }.map { self[keyPath: $0.value] } ?? 0 }
}
