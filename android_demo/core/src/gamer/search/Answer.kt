package gamer.search

import gamer.album.Cube
import gamer.album.EntityMatch
import gamer.common.PyText

/** Of a hit that is a clip, in seconds from its file's begin. [second]: where what is meant is seen best. */
class ClipMoment(val start: Double, val end: Double, val second: Double)

/**
 * One photo of an answer. [takenAt]: ms of wall time, as if UTC; show it without converting. [score]:
 * comparable within one answer only; [parts] are its summands by name. [probability]: that the photo is one
 * of those meant. [clip]: null for a photo. [copies]: the ids of the copies that it stands for.
 */
data class Hit(
    val row: Int,
    val id: String,
    val path: String?,
    val takenAt: Long?,
    val lat: Double?,
    val lon: Double?,
    val score: Double,
    val probability: Double,
    val parts: Map<String, Double>,
    val memory: String?,
    val matched: List<String>,
    val clip: ClipMoment?,
    val copies: List<String> = emptyList(),
)

/**
 * What happened between the query and the hits. [cues]: one line for each cue understood. [cubes]: the boxes
 * given to the K-D tree; empty: all photos. [left]: number of photos after each layer, the album's size
 * first. [linked]: how many of them are linked to a chosen entity node. [milliseconds]: by layer. [loadMs]:
 * opening what this query was the first to need. [widened]: no photo of known time and place fits the cues,
 * so all were ranked.
 */
data class Trace(
    val query: String,
    val cues: List<String>,
    val cubeLines: List<String>,
    val cubes: List<Cube>,
    val refined: String,
    val refinedBy: String,
    val delta: Double,
    val entities: List<EntityMatch>,
    val left: Map<String, Int>,
    val linked: Int,
    val widened: Boolean,
    val loadMs: Double,
    val milliseconds: Map<String, Double>,
    val plan: String,
    val mode: String,
    val models: String,
)

/**
 * What a search remarks on besides its cues (runtime/search/remarks.py). [text]: words of the query. [n]: how many photos, of
 * "searched" searches. [name]: of the album or the gazetteer.
 */
data class Remark(val code: String, val text: String = "", val n: Int = 0, val name: String = "") {
    /** Whether it says that the album has no photo of a kind that is asked for. */
    val isLacking: Boolean get() = n == 0 && (code == "favourites" || code.startsWith("facet."))

    /** As the trace has it. */
    override fun toString(): String {
        val number = if (isLacking) "none in this album" else "$n"
        return when (code) {
            "anchor" -> "in relation to $name"
            "anchor.absent" -> "the album does not seem to have ${PyText.repr(text)}"
            "anchor.none" -> "no such photo in relation to $name"
            "anchor.undated" -> "the album does not know when ${PyText.repr(text)} was"
            "first" -> "$name came first"
            "elsewhere" -> "no photo in $name"
            "empty" -> "no photos in this album"
            "facet.alone" -> "$name alone: $number"
            "facet.camera" -> "by $name: $number"
            "facet.fact" -> "with $name: $number"
            "facet.medium" -> "${name}s: $number"
            "facet.orientation" -> "in $name: $number"
            "facet.together" -> "$name together: $number"
            "favourites" -> "favourites only: $number"
            "line" -> text
            "none" -> "none ${if (text.firstOrNull()?.isLowerCase() == true) "" else "of "}$text" // "none of May 2019"
            "searched" -> "searched $n times for all that show ${PyText.repr(text)}"
            "spelt" -> "spelt ${PyText.repr(text)}"
            "unpictured" -> "pictures cannot be searched for $text with this model; memories were"
            "unpictured.foreign" -> "pictures cannot be searched for $text with this model; memories were; words of other languages than English " +
                "need a bundle with dictionaries (docs/languages.md)"
            else -> "without ${PyText.repr(text)}: $n left out"
        }
    }

    companion object {
        /** Who is there where no name is asked for, by the kind of facet. */
        val ANYBODY = mapOf("alone" to "somebody", "together" to "people")
    }
}

/**
 * The hits, best first, and the trace. [presence]: the probability that the album holds what is meant at all;
 * tell the user when it is low. Of [Engine.find] also [remarks]: what the query asked for besides resemblance; [count]: how many
 * photos belong to what is meant, copies counted once, where the query asks "how many"; [note]: what to tell beside the hits.
 */
data class Answer(
    val hits: List<Hit>, val trace: Trace, val presence: Double, val remarks: List<Remark> = emptyList(), val count: Int? = null, val note: Remark? = null,
) {
    /** Whether the album more likely does not hold what is meant. */
    val isDoubtful: Boolean get() = presence < 0.5
}
