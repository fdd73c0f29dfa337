/// What a query says about when and where (runtime/cues/parse.py).
///
/// `times`, `places`: the cues that narrow the search; negated ones are to be left out. `recurring`: evidence that no cube holds. `anchors`: events that a
/// time is counted from, until they are resolved. `cubes`: times × places; empty when the query names neither. `rest`: the query without the understood
/// words, never empty unless the query is. `query`: what was read.
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
