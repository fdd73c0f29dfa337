package gamer.indexing

import gamer.album.AlbumWriter
import gamer.album.Encoded
import gamer.album.Photo
import gamer.image.Pixels

/**
 * The photos of a phone. [picture] returns null for pixels that cannot be read now: in the cloud, damaged, deleted.
 * [name]: what a person calls the photo, such as its file's name. [owns]: whether a photo with this id came from here; the
 * album may hold others too.
 */
interface PhotoSource<S> {
    fun list(): List<S>
    fun key(shot: S): String
    fun name(shot: S): String
    fun photo(shot: S): Photo
    fun picture(shot: S): Pixels?
    fun owns(id: String): Boolean

    /** What stays the same of a photo's key when the photo is edited. */
    fun asset(key: String): String = key

    /** Keys of the listed photos that the gallery marks as favourites; null if it has no such marks. */
    fun favourites(): Set<String>? = null

    /** False while photos may be missing that have not been deleted, such as those of a card that was taken out. */
    val isWhole: Boolean get() = true
}

/**
 * [done]: photos in the album. [total]: photos on the phone. [unread]: those of this run that could not be read or encoded;
 * the next run tries them again. [skipped]: names of those that ended the process, or failed, [SkipList.TRIES] times.
 * [removed]: photos that are no longer on the phone, or were edited and have another key now. [unsearched]: photos in which people
 * are still to be searched.
 */
data class IndexReport(
    val done: Int, val total: Int, val unread: Int = 0, val skipped: List<String> = emptyList(), val removed: Int = 0, val unsearched: Int = 0,
)

/**
 * Removes the photos that left the phone and adds those that the album lacks, a batch in each transaction. Nothing is stored for a photo without pixels and
 * memories: it would be taken for an indexed one for ever.
 */
class IndexRun<S>(
    private val source: PhotoSource<S>,
    private val writer: AlbumWriter,
    private val skips: SkipList,
    private val marks: MarkList,
    private val people: PeopleSearch<S>? = null,
    private val encode: (Photo, Pixels?) -> Encoded?,
) {
    /**
     * Returns false if [isStopped] ended it early. [progress] is called after each batch. A run that reaches its end also
     * does what an earlier one, which was killed, left to be finished.
     */
    fun run(isStopped: () -> Boolean, progress: (IndexReport) -> Unit, names: (List<String>) -> List<FloatArray>): Boolean {
        writer.erase() // what was forgotten by a program that was killed then
        val bare = writer.withoutVectors().filter(source::owns).toSet() // left so by a renewal that could not read them
        val all = writer.known().toSet()
        val known = all - bare
        val kept = writer.removed()
        val shots = source.list().filter { source.key(it) !in kept }
        val gone = gone(all, shots)
        val closed = writer.people { closed() }
        for (batch in gone.filter { it !in closed }.chunked(AT_ONCE)) writer.remove(batch)
        val missing = shots.filter { source.key(it) !in known }
        val (skipped, wanted) = missing.partition { skips.isSkipped(source.key(it)) }
        var report = IndexReport(shots.size - missing.size, shots.size, skipped = skipped.map { source.name(it) }, removed = gone.size)
        progress(report)
        for (batch in wanted.chunked(BATCH)) {
            if (isStopped()) return false
            val made = batch.mapNotNull { encoded(it) }
            val (again, new) = made.partition { it.photo.id in bare }
            if (new.isNotEmpty()) writer.add(new)
            if (again.isNotEmpty()) writer.update(again)
            report = report.copy(done = report.done + made.size, unread = report.unread + batch.size - made.size)
            progress(report)
        }
        keepClosed(closed, shots, gone)
        if (!mark(shots.mapTo(HashSet()) { source.key(it) }, isStopped)) return false
        if (people?.run(writer, shots.associateBy { source.key(it) }, isStopped) { progress(report.copy(unsearched = it)) } == false) return false
        writer.finish(isStopped, names)
        return true
    }

    /** In photos that were edited after somebody in them was forgotten nobody is searched either; those before go once that is noted. */
    private fun keepClosed(closed: Set<String>, shots: List<S>, gone: List<String>) {
        val assets = closed.filter(source::owns).mapTo(HashSet(), source::asset)
        if (assets.isEmpty()) return
        val known = writer.known().toSet()
        writer.people { close(known.filter { source.owns(it) && it !in closed && source.asset(it) in assets }) }
        val waiting = shots.map { source.key(it) }.filter { it !in known }.mapTo(HashSet(), source::asset)
        writer.remove(gone.filter { it in closed && source.asset(it) !in waiting })
    }

    /** Marks what the gallery marks, and takes off what it marked before and does not any more. Returns false if it was stopped. */
    private fun mark(here: Set<String>, isStopped: () -> Boolean): Boolean {
        val wanted = source.favourites()?.filterTo(HashSet()) { it in here } ?: return true
        val (marked, before) = writer.favourites() to marks.keys()
        val known = writer.known().filter { it in here }
        val on = known.filter { it in wanted && it !in marked }
        val off = known.filter { it in before && it in marked && it !in wanted }
        marks.put(before + wanted) // before the album is marked: a run that is killed leaves no mark that it would not know
        for ((ids, isFavourite) in listOf(on to true, off to false)) for (batch in ids.chunked(AT_ONCE)) {
            if (isStopped()) return false
            writer.mark(batch, isFavourite)
        }
        marks.put(wanted + (before - here)) // photos of a card that is out stay known
        return true
    }

    /** Ids of photos that this source no longer has. A gallery that lists nothing may be one that cannot be read now. */
    private fun gone(known: Set<String>, shots: List<S>): List<String> {
        if (shots.isEmpty() || !source.isWhole) return emptyList()
        val here = shots.mapTo(HashSet()) { source.key(it) }
        return known.filter { it !in here && source.owns(it) }
    }

    /** Null for a photo without pixels, and for one at which something failed: its try stays counted. */
    private fun encoded(shot: S): Encoded? {
        skips.begin(source.key(shot))
        var photo: Photo? = null
        val made = try {
            photo = source.photo(shot)
            encode(photo, source.picture(shot))
        } catch (error: Throwable) { // memory that ran out is an Error
            skips.blame(error) { grey -> photo?.let { encode(it, grey) } }
            return null
        }
        skips.end()
        return made
    }

    private companion object {
        const val BATCH = 16
        const val AT_ONCE = 200 // photos that are removed, or marked
    }
}
