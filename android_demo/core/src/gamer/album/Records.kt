package gamer.album

/**
 * A sentence attached to a photo. [source]: chat, social, ocr, caption, note, people, label or place.
 * [sharing], [sensitivity]: low, high or null.
 */
data class Memory(val source: String, val text: String, val sharing: String? = null, val sensitivity: String? = null) {
    companion object {
        /** A person's mark: a word that any reader of albums finds, and that says nothing of the picture (index/records.py). */
        val FAVOURITE = Memory("social", "favourite")
    }
}

/**
 * One photo. [takenAt]: ms since 1970 UTC, or wall time stored as if UTC where [tzSource] is "local".
 * [utcOffset]: whole minutes by which the clock on the wall was ahead of UTC. [lat], [lon]: degrees (WGS 84),
 * both or neither. [path]: the picture file, or null for a memory without a file.
 */
data class Photo(
    val id: String,
    val path: String? = null,
    val takenAt: Long? = null,
    val tzSource: String = "local",
    val lat: Double? = null,
    val lon: Double? = null,
    val memories: List<Memory> = emptyList(),
    val sharing: String? = null,
    val sensitivity: String? = null,
    val sha256: String? = null,
    val utcOffset: Int? = null,
) {
    /** Local wall-clock time in ms, as if UTC. */
    val wall: Long? get() = takenAt?.let { it + 60_000L * (utcOffset ?: 0) }
}

/**
 * An entity found in a memory. [kind]: person, place, thing, price or date. [parent]: what it describes (119
 * → chair). [relation]: how it is related to its parent ("costs", "at"); empty where nothing says.
 */
data class Mention(val name: String, val kind: String, val parent: String? = null, val relation: String = "")

/**
 * A box in space-time, in wall time (ms). A side that is null is unbounded; [west] > [east] means that the
 * box crosses the antimeridian. [border]: of the positions in the box, only those inside of it.
 */
data class Cube(
    val start: Long? = null,
    val end: Long? = null,
    val south: Double? = null,
    val north: Double? = null,
    val west: Double? = null,
    val east: Double? = null,
    val border: Border? = null,
) {
    val hasTime: Boolean get() = start != null || end != null
    val hasPlace: Boolean get() = south != null || north != null || west != null || east != null
}

/**
 * An entity node chosen in layer 2. [photos]: rows of the photos whose own memories name it; [reached]: of
 * those that hang on an entity above it in the graph, because another photo's memory says that it describes
 * that one. Both ascending.
 */
class EntityMatch(val row: Int, val name: String, val kind: String, val similarity: Float, val photos: IntArray, val reached: IntArray) {
    /** Whether a photo is among [photos] or [reached]. */
    operator fun contains(photo: Int): Boolean = photos.binarySearch(photo) >= 0 || reached.binarySearch(photo) >= 0
}

/**
 * A photo with its vectors and mentions, as [AlbumWriter.add] takes it. [vectors]: channel → float32 [n][d]
 * of length 1. [clip]: of a video, the times of the frames whose vectors are those of the channel `image`.
 */
class Encoded(
    val photo: Photo, val vectors: Map<String, Array<FloatArray>> = emptyMap(), val mentions: List<Mention> = emptyList(), val clip: Clip? = null,
)

/**
 * The encoders that an album was built with. [dim]: entity vectors' length; [delta]: the entity similarity
 * threshold of layer 2.
 */
data class AlbumMeta(val textEncoder: String, val imageEncoder: String, val dim: Int, val delta: Double)

/**
 * [rows]: ascending, inside some cube or not excluded for an unknown field. [inside]: ascending, surely
 * inside. [visited]: the number of comparisons of a point with a box.
 */
class CubeResult(val rows: IntArray, val inside: IntArray, val visited: Int)

/**
 * Photos, best first, with the cosine of each one's best chunk. [plan]: the plan that was executed, "exact"
 * or "hnsw".
 */
class VectorResult(val rows: IntArray, val scores: FloatArray, val plan: String)

/** Photos, best first, with BM25 of each one's best memory (positive). */
class TextResult(val rows: IntArray, val scores: FloatArray)
