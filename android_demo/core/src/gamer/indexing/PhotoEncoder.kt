package gamer.indexing

import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.image.Pixels
import gamer.models.ImageCode
import gamer.models.Models

/** Photos → what the models say of them: image and text vectors, labels, place, mentions. Writes nothing. */
class PhotoEncoder(private val models: Models) {
    /** [pixels]: upright RGB, null where they cannot be read. Null for a photo that nothing can be said of: no pixels and no memories. */
    fun encode(known: Photo, pixels: Pixels?): Encoded? {
        val code = pixels?.let { models.see(it) }
        if (code == null && known.memories.isEmpty()) return null
        val photo = completed(known, code)
        val chunks = photo.memories.filter { it.source !in DERIVED }.flatMap { models.text.chunks(it.text) }.take(MAX_CHUNKS)
        val vectors = LinkedHashMap<String, Array<FloatArray>>()
        if (code != null) vectors["image"] = arrayOf(code.embedding)
        if (chunks.isNotEmpty()) vectors["text"] = chunks.map { models.text.encode(it) }.toTypedArray()
        return Encoded(photo, vectors, mentions(photo))
    }

    /** Vectors of entity names. */
    fun names(names: List<String>): List<FloatArray> = names.map { models.text.encode(it) }

    /** Adds what the device itself knows: labels from the pixels, the place from the position. Each is marked as such. */
    private fun completed(photo: Photo, code: ImageCode?): Photo {
        val old = photo.memories.filter { it.source !in DERIVED || (it.source == "label" && code == null) }
        val added = ArrayList<Memory>()
        val names = code?.labels.orEmpty().filter { it.second >= LABEL_FLOOR }.map { it.first }
        if (names.isNotEmpty()) added.add(Memory("label", names.joinToString(", ")))
        if (photo.lat != null && photo.lon != null) {
            models.gazetteer.nearest(photo.lat, photo.lon)?.let { added.add(Memory("place", "${it.name}, ${it.countryCode}")) }
        }
        return photo.copy(memories = old + added)
    }

    private fun mentions(photo: Photo): List<Mention> {
        val found = LinkedHashMap<String, Mention>()
        for (memory in photo.memories) for (mention in of(memory)) found.getOrPut(Entities.canonical(mention.name)) { mention }
        return found.values.toList()
    }

    private fun of(memory: Memory): List<Mention> = when (memory.source) {
        "label" -> memory.text.split(", ").map { Mention(it, "thing") }
        "people" -> memory.text.split(", ").map { Mention(it, "person") }
        "place" -> listOf(Mention(memory.text.substringBeforeLast(", "), "place"))
        else -> Entities.extract(memory.text)
    }

    private companion object {
        val DERIVED = setOf("label", "place") // memories that the device writes itself; they are no text to search by meaning
        const val LABEL_FLOOR = 0.10f // below this probability a label is a guess; it stays in the vector and makes no entity
        const val MAX_CHUNKS = 1024 // of one photo's memories; those of a longer one are found by word only
    }
}
