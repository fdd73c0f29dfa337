package gamer.cues

import gamer.album.Cube

/**
 * What a query says about time and place. [times], [places]: the cues that narrow the search. [negatedTimes],
 * [negatedPlaces]: the cues to exclude ("not in Paris"). [recurring]: evidence that a cube cannot express
 * ("at night", "on Sundays"). [anchors]: events from which a time is counted and that have not yet been
 * looked up. [cubes]: times × places; empty if the query names neither. [rest]: the query without the
 * understood words, empty only if the query is.
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
