/// What a query says about time and place (runtime/cues/parse.py).
///
/// `times`, `places`: the cues that narrow the search; the negated ones are to be excluded ("not in Paris").
/// `recurring`: evidence that a cube cannot express ("at night", "on Sundays"). `anchors`: events from which
/// a time is counted and that have not yet been looked up. `cubes`: times × places; empty if the query names
/// neither. `rest`: the query without the understood words, empty only if the query is. `query`: the text
/// that was read.
public struct Cues: Sendable {
    public internal(set) var times: [TimeCue] = []
    public internal(set) var places: [PlaceCue] = []
    public internal(set) var cubes: [Cube] = []
    public internal(set) var rest = ""
    public internal(set) var negatedTimes: [TimeCue] = []
    public internal(set) var negatedPlaces: [PlaceCue] = []
    public internal(set) var recurring: [RecurringCue] = []
    public internal(set) var anchors: [Anchor] = []
    var query = Text()
    var keep: [Range<Int>] = []
    var extent: (low: Int, high: Int)?

    public var hasNegated: Bool { !negatedTimes.isEmpty || !negatedPlaces.isEmpty }
}
