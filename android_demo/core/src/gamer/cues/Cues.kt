package gamer.cues

import gamer.album.Cube

/**
 * What a query says about when and where. [times], [places] narrow the search; [negatedTimes], [negatedPlaces] are to be left out ("not in
 * Paris"). [recurring]: evidence that no cube holds. [anchors]: events that a time is counted from, until they are resolved. [cubes]: times ×
 * places; empty when the query names neither. [rest]: the query without the understood words, never empty unless the query is.
 */
data class Cues(
    val times: List<TimeCue> = emptyList(),
    val places: List<PlaceCue> = emptyList(),
    val cubes: List<Cube> = emptyList(),
    val rest: String = "",
    val negatedTimes: List<TimeCue> = emptyList(),
    val negatedPlaces: List<PlaceCue> = emptyList(),
    val recurring: List<RecurringCue> = emptyList(),
    val anchors: List<Anchor> = emptyList(),
    val query: String = "",
    val keep: List<Span> = emptyList(),
    val extent: LongRange? = null,
) {
    val isNegated: Boolean get() = negatedTimes.isNotEmpty() || negatedPlaces.isNotEmpty()
}
