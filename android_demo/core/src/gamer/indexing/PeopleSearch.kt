package gamer.indexing

import gamer.album.AlbumWriter
import gamer.album.ClipPart
import gamer.image.Pixels
import gamer.people.Face
import gamer.people.LookedAt
import gamer.people.People

/**
 * Searches the photos of an album for faces, and groups these into people, whom only the owner names (runtime/indexing/faces.py).
 * Photos that were searched before are left alone. [encoder]: the name of what makes the vectors of the faces that [find] finds.
 * [picture]: of a photo, or of the part of a video that an id names; null for pixels that cannot be read now.
 */
class PeopleSearch<S>(
    private val encoder: String, private val find: (Pixels) -> List<Face>, private val naming: Naming, private val skips: SkipList,
    private val picture: (S, String) -> Pixels?,
) {
    /** Returns false if [isStopped] ended it. [shots]: by their ids. [progress]: told how many photos are left, after each batch. */
    fun run(writer: AlbumWriter, shots: Map<String, S>, isStopped: () -> Boolean, progress: (Int) -> Unit): Boolean {
        val before = writer.people {
            begin(encoder)
            read() ?: People()
        }
        val wanted = writer.known().filter { ClipPart.whole(it) in shots && it !in before.lookedAt && !skips.isSkipped(KEY + it) }
        for ((at, batch) in wanted.chunked(BATCH).withIndex()) {
            progress(wanted.size - at * BATCH)
            if (at % GROUPED == GROUPED - 1) writer.people { regroup() } // a pass over many new faces takes long, and cannot be stopped
            val looked = ArrayList<LookedAt>()
            for (id in batch) if (!isStopped()) look(id, shots.getValue(ClipPart.whole(id)))?.let(looked::add)
            writer.people { store(looked) }
            if (isStopped()) return false
        }
        progress(0)
        writer.people { regroup() }
        return naming.follow(writer, isStopped)
    }

    /** Null for a photo that cannot be read now, and for one at which something failed: its try stays counted. */
    private fun look(id: String, shot: S): LookedAt? {
        skips.begin(KEY + id)
        val faces = try {
            picture(shot, id)?.let(find)
        } catch (error: Throwable) { // memory that ran out is an Error
            skips.blame(error) { find(it) }
            return null
        }
        skips.end()
        return faces?.let { LookedAt(id, null, it) }
    }

    private companion object {
        const val KEY = "people:" // before a photo's id in the list of tries: its picture alone did no harm
        const val BATCH = 16
        const val GROUPED = 128 // batches
    }
}
