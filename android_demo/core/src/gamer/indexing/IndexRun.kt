package gamer.indexing

import gamer.album.AlbumWriter
import gamer.album.ClipPart
import gamer.album.Encoded
import gamer.album.Photo
import gamer.image.Pixels

/**
 * The photos and videos of a phone. [picture] returns null for pixels that cannot be read now: in the cloud, damaged, deleted.
 * [name]: what a person calls the photo, such as its file's name. [owns]: whether a photo with this id came from here; the
 * album may hold others too, and of a long video parts, whose ids begin with its key ([ClipPart]).
 */
interface PhotoSource<S> {
    fun list(): List<S>
    fun key(shot: S): String
    fun name(shot: S): String
    fun photo(shot: S): Photo
    fun picture(shot: S): Pixels?
    fun owns(id: String): Boolean

    /** The video that this is, open; null for a photo, and for a video that cannot be decoded. */
    fun footage(shot: S): Footage? = null

    /** What is seen of a photo, or of the part of a video that [id] names; null for pixels that cannot be read now. */
    fun look(shot: S, id: String, isStopped: () -> Boolean): Look? {
        val footage = footage(shot) ?: return picture(shot)?.let(::Look)
        return footage.use { ClipFrames.look(it, ClipPart.named(id), isStopped) }
    }

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
    private val encode: (Photo, Look?) -> Encoded?,
) {
    /**
     * Returns false if [isStopped] ended it early. [progress] is called after each batch. A run that reaches its end also
     * does what an earlier one, which was killed, left to be finished.
     */
    fun run(isStopped: () -> Boolean, progress: (IndexReport) -> Unit, names: (List<String>) -> List<FloatArray>): Boolean {
        writer.erase() // what was forgotten by a program that was killed then
        val bare = writer.withoutVectors().filter(source::owns).toSet() // left so by a renewal that could not read them
        val all = writer.known().toSet()
        val left = bare.groupBy(ClipPart::whole)
        val here = all.mapTo(HashSet(), ClipPart::whole)
        val known = here - left.keys
        val kept = writer.removed().let { ids -> ids + ids.map(ClipPart::whole).filter { it !in here } } // all parts of a video
        val shots = source.list().filter { source.key(it) !in kept }
        val gone = gone(all, shots)
        val closed = writer.people { closed() }
        for (batch in gone.filter { it !in closed }.chunked(AT_ONCE)) writer.remove(batch)
        val missing = shots.filter { source.key(it) !in known }
        val (skipped, wanted) = missing.partition { skips.isSkipped(source.key(it)) }
        var report = IndexReport(shots.size - missing.size, shots.size, skipped = skipped.map { source.name(it) }, removed = gone.distinctBy(ClipPart::whole).size)
        progress(report)
        for (batch in wanted.chunked(BATCH)) {
            if (isStopped()) return false
            val tried = batch.mapNotNull { if (isStopped()) null else encoded(it, left[source.key(it)].orEmpty(), isStopped) }
            val made = tried.filter { it.isNotEmpty() }
            val (again, new) = made.flatten().partition { it.photo.id in bare }
            if (new.isNotEmpty()) writer.add(new)
            if (again.isNotEmpty()) writer.update(again)
            report = report.copy(done = report.done + made.size, unread = report.unread + tried.size - made.size)
            progress(report)
            if (tried.size < batch.size) return false
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
        val before = closed.mapTo(HashSet(), ClipPart::whole) // other parts of the same video stay as they are
        writer.people { close(known.filter { source.owns(it) && ClipPart.whole(it) !in before && source.asset(it) in assets }) }
        val here = known.mapTo(HashSet(), ClipPart::whole)
        val waiting = shots.map { source.key(it) }.filter { it !in here }.mapTo(HashSet(), source::asset)
        writer.remove(gone.filter { it in closed && source.asset(it) !in waiting })
    }

    /** Marks what the gallery marks, and takes off what it marked before and does not any more. Returns false if it was stopped. */
    private fun mark(here: Set<String>, isStopped: () -> Boolean): Boolean {
        val wanted = source.favourites()?.filterTo(HashSet()) { it in here } ?: return true
        val (marked, before) = writer.favourites() to marks.keys()
        val known = writer.known().map { it to ClipPart.whole(it) }.filter { it.second in here }
        val on = known.filter { (id, key) -> key in wanted && id !in marked }
        val off = known.filter { (id, key) -> key in before && id in marked && key !in wanted }
        marks.put(before + wanted) // before the album is marked: a run that is killed leaves no mark that it would not know
        for ((ids, isFavourite) in listOf(on to true, off to false)) for (batch in ids.map { it.first }.chunked(AT_ONCE)) {
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
        return known.filter { ClipPart.whole(it) !in here && source.owns(it) }
    }

    /**
     * A photo, or a video or all of its parts: those that the album has [already], or else where it is cut. None without pixels,
     * and where something failed: that try stays counted. A video of which parts cannot be read now is left to the next run, once.
     * Null where [isStopped] ended it.
     */
    private fun encoded(shot: S, already: List<String>, isStopped: () -> Boolean): List<Encoded>? {
        val number = skips.begin(source.key(shot))
        var stopped = false // heat, for example, may come and go
        val stop = {
            stopped = stopped || isStopped()
            stopped
        }
        var photo: Photo? = null
        var items = emptyList<Photo>()
        val made = try {
            photo = source.photo(shot)
            items = items(shot, photo, already, stop)
            items.mapNotNull { encode(it, source.look(shot, it.id, stop)) }
        } catch (error: Throwable) { // memory that ran out is an Error
            skips.blame(error) { grey -> photo?.let { encode(it, Look(grey)) } }
            return emptyList()
        }
        val wasStopped = stopped && (made.isEmpty() || made.any { it.clip != null }) // it may lack parts
        val isPartial = !wasStopped && made.isNotEmpty() && made.size < items.size && number < SkipList.TRIES
        if (!isPartial) skips.end()
        return if (wasStopped) null else if (isPartial) emptyList() else made
    }

    /** None for a video that cannot be read. */
    private fun items(shot: S, photo: Photo, already: List<String>, isStopped: () -> Boolean): List<Photo> {
        val parts = already.mapNotNull(ClipPart::named).ifEmpty {
            val footage = source.footage(shot) ?: return listOf(photo)
            footage.use { ClipFrames.parts(it, isStopped) } ?: return emptyList()
        }
        return if (parts.isEmpty()) listOf(photo) else parts.map { it.of(photo) }
    }

    private companion object {
        const val BATCH = 16
        const val AT_ONCE = 200 // photos that are removed, or marked
    }
}
