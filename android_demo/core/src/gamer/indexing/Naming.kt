package gamer.indexing

import gamer.album.AlbumWriter
import gamer.album.Encoded
import gamer.album.FaceRows
import gamer.album.Memory
import gamer.album.Photo
import gamer.people.People

/**
 * Names people, makes several one and forgets them; and keeps the photos' memories in step (runtime/indexing/people.py). A name is
 * written to the photos of a person as a memory of source "people", by which every search finds them. [retold]: a photo's memories,
 * encoded; [names]: as for [AlbumWriter.embed].
 */
class Naming(private val retold: (Photo) -> Encoded, private val names: (List<String>) -> List<FloatArray>) {
    /** Gives a person a name. Raises AlbumError for one that cannot be given, or that somebody else has. */
    fun name(writer: AlbumWriter, person: Long, text: String) = change(writer) { told ->
        name(told.person(person), People.checkedName(text))
    }

    /** Makes [other] the same person as [into], who keeps the name. */
    fun merge(writer: AlbumWriter, into: Long, other: Long) = change(writer) { told -> merge(told.person(into), listOf(told.person(other))) }

    /** Deletes a person with their faces and their name, and the bytes of these; closes [writer]. The photos stay, and are not searched again. */
    fun forget(writer: AlbumWriter, person: Long) {
        val people = writer.people { read() } ?: People()
        val gone = people.person(person)
        forget(writer, people.without(gone), listOfNotNull(gone.name)) { forget(listOf(gone)) }
    }

    /** Deletes all that is known of people, and the bytes of it; closes [writer]. */
    fun forgetAll(writer: AlbumWriter) {
        val people = writer.people { read() } ?: People()
        forget(writer, People(written = people.written), people.names.values.toList()) { forgetAll() }
    }

    private fun forget(writer: AlbumWriter, left: People, names: List<String>, forget: FaceRows.() -> Unit) {
        val changes = unlike(left).chunked(BATCH).map { changes(writer, left, it) }
        writer.forget(changes.flatMap { it.photos }, changes.flatMap { it.named.entries }.associate { it.key to it.value }, names, forget)
    }

    private fun change(writer: AlbumWriter, change: FaceRows.(People) -> Unit) {
        writer.people { change(read() ?: People()) }
        follow(writer) { false }
    }

    /** Brings the memories in step with the names of those whom the photos show. Returns false if [isStopped] ended it. */
    fun follow(writer: AlbumWriter, isStopped: () -> Boolean): Boolean {
        val people = writer.people { read() } ?: return true
        val todo = unlike(people)
        for (batch in todo.chunked(BATCH)) {
            if (isStopped()) return false
            changes(writer, people, batch).run { writer.retell(photos, named) }
        }
        if (todo.isNotEmpty()) writer.embed(names)
        return true
    }

    /** The photos whose memories do not say who they show. */
    private fun unlike(people: People): List<String> {
        val wanted = people.namedIn
        return (wanted.keys + people.written.keys).sorted().filter { wanted[it].orEmpty().toSet() != people.written[it].orEmpty() }
    }

    /** [photos]: those whose memories change. [named]: id → the names that nobody else gave it. */
    private class Changes(val photos: List<Encoded>, val named: Map<String, List<String>>)

    private fun changes(writer: AlbumWriter, people: People, ids: List<String>): Changes {
        val (wanted, old) = people.namedIn to writer.photos(ids)
        val told = old.map { named(it, wanted[it.id].orEmpty(), people.written[it.id].orEmpty()) }
        val changed = told.indices.filter { told[it].first.memories != old[it].memories }.map { told[it].first }
        return Changes(changed.map(retold), told.associate { (photo, added) -> photo.id to added })
    }

    private companion object {
        const val BATCH = 64

        /** The photo with the names that it should have, and those of them that nobody else gave it. */
        fun named(photo: Photo, wanted: List<String>, written: Set<String>): Pair<Photo, List<String>> {
            val others = photo.memories.filter { it.source != "people" || it.text !in written }
            val known = others.filter { it.source == "people" }.flatMap { it.text.split(',') }.map { it.trim() }
            val added = wanted.filter { it !in known }
            return photo.copy(memories = others + added.map { Memory("people", it) }) to added
        }
    }
}
