package gamer.indexing

import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.common.GamerError
import gamer.glosses.Bundled
import gamer.glosses.Names
import gamer.glosses.Reader
import gamer.image.Pixels
import gamer.models.ImageCode
import gamer.models.LineReader
import gamer.models.Models
import gamer.models.photoVector

/**
 * Encodes photos: image and text vectors, labels, the text in them, place names and mentions. [large]: a photo's pixels with at
 * least [LineReader.PHOTO] on the shorter side, where text is read in it; null for those that it was given.
 */
class PhotoEncoder(private val models: Models, private val large: (Photo) -> Pixels? = { null }) {
    private val glosses: Reader? by lazy { Bundled.reader(models) { null } }

    /** What the image encoder says of a [look]. [labels]: by the mean of the frames' probabilities, the likeliest first. */
    private inner class Seen(val look: Look) {
        val codes: List<ImageCode> = look.frames.map(models::see)
        val labels: List<Pair<String, Float>>

        init {
            val sums = LinkedHashMap<String, Double>()
            for (code in codes) for ((name, probability) in code.labels) sums.merge(name, probability.toDouble(), Double::plus)
            labels = sums.map { (name, sum) -> name to (sum / codes.size).toFloat() }.sortedByDescending { it.second }
        }
    }

    /**
     * The encoded photo, or video or part of one; null if it has neither a picture nor memories. [look]: null if its picture
     * cannot be read.
     */
    fun encode(known: Photo, look: Look?): Encoded? {
        val seen = look?.let(::Seen)
        if (seen == null && known.memories.isEmpty()) return null
        return encoded(completed(known, seen), seen)
    }

    /** The memories of a photo, as they are; its picture is not read. */
    fun retold(photo: Photo): Encoded = encoded(photo, null)

    private fun encoded(photo: Photo, seen: Seen?): Encoded {
        val told = photo.memories.filter { it.source !in DERIVED && it != Memory.FAVOURITE }.asSequence()
        val chunks = told.flatMap { texts(it, models.text.chunks(it.text)) { glosses } }.take(MAX_CHUNKS).toList()
        val vectors = LinkedHashMap<String, Array<FloatArray>>()
        if (seen != null) {
            vectors["image"] = seen.codes.map { it.embedding }.toTypedArray()
            vectors.putAll(projected(seen.codes[seen.look.middle]))
        }
        if (chunks.isNotEmpty()) vectors["text"] = chunks.map { models.text.encode(it) }.toTypedArray()
        return Encoded(photo, vectors, mentions(photo), seen?.look?.clip)
    }

    /** The text in a picture; none where what reads it cannot be used: the picture is found all the same. */
    private fun words(photo: Photo, seen: Seen): String = try {
        val pixels = seen.look.run { frames[middle] }
        if (models.hasLines && Written.isWorthReading(pixels, seen.labels)) Written.text(models.lines.read(large(photo) ?: pixels)) else ""
    } catch (error: GamerError) {
        ""
    }

    /** v_I by channel, where the bundle's experts are trained. */
    private fun projected(code: ImageCode): Map<String, Array<FloatArray>> {
        val channels = models.manifest.channels
        if (channels.isEmpty()) return emptyMap()
        val vector = models.photoVector(code)
        return channels.associate { it.name to arrayOf(vector) }
    }

    /** The vectors of entity names, for the writer. */
    fun names(names: List<String>): List<FloatArray> = names.map { models.text.encode(it) }

    /**
     * Adds memories derived on the device: words and labels from the pixels, the place name from the position. Their
     * sources are "ocr", "label" and "place".
     */
    private fun completed(photo: Photo, seen: Seen?): Photo {
        val old = photo.memories.filter { it.source !in DERIVED || (it.source == "label" && seen == null) }
        val added = ArrayList<Memory>()
        val words = seen?.let { words(photo, it) }.orEmpty()
        if (words.isNotEmpty() && old.none { it.source == "ocr" }) added.add(Memory("ocr", words))
        val names = seen?.labels.orEmpty().filter { it.second >= LABEL_FLOOR }.map { it.first }
        if (names.isNotEmpty()) added.add(Memory("label", names.joinToString(", ")))
        if (photo.lat != null && photo.lon != null) {
            models.gazetteer.nearest(photo.lat, photo.lon)?.let { added.add(Memory("place", "${it.name}, ${it.countryCode}")) }
        }
        return photo.copy(memories = old + added)
    }

    private fun mentions(photo: Photo): List<Mention> {
        val found = LinkedHashMap<String, Mention>()
        for (memory in photo.memories - Memory.FAVOURITE) {
            if (found.size >= MAX_NAMES) break
            for (mention in of(memory)) found.getOrPut(Entities.canonical(mention.name)) { mention }
        }
        return found.values.take(MAX_NAMES)
    }

    private fun of(memory: Memory): List<Mention> = when (memory.source) {
        "label" -> memory.text.split(", ").map { Mention(it, "thing") }
        "people" -> memory.text.split(", ").map { Mention(it, "person") }
        "place" -> listOf(Mention(memory.text.substringBeforeLast(", "), "place"))
        else -> Entities.extract(memory.text)
    }

    internal companion object {
        /** The [windows] of a memory, and behind each that is in another language the same in English words. */
        fun texts(memory: Memory, windows: List<String>, glosses: () -> Reader?): Sequence<String> = sequence {
            val reader = if (memory.source == "people") null else glosses() // names alone are in no language
            for (window in windows) {
                yield(window)
                if (window.codePointCount(0, window.length) <= MAX_READ) reader?.read(window, NOBODY)?.let { yield(it.english) }
            }
        }

        // Sources of memories that are generated at each encoding; they get no text vectors.
        private val DERIVED = setOf("label", "place")
        // A label of lower probability is a guess: it counts in the image's vector, but gives no memory and
        // no entity.
        private const val LABEL_FLOOR = 0.10f
        // Chunks of one photo's memories that are encoded; longer text is matched by its words only.
        private const val MAX_CHUNKS = 1024
        // Entities of one photo, each of which is encoded, too.
        private const val MAX_NAMES = 1024
        // Characters of a chunk that is read in its language.
        private const val MAX_READ = 1_000
        private val NOBODY = Names(emptyList())
    }
}
