package gamer.indexing

import gamer.album.AlbumWriter
import gamer.album.Encoded
import gamer.album.Photo
import gamer.image.Pixels

/** The photos of a phone. [picture] returns null for pixels that cannot be read now: in the cloud, damaged, deleted. */
interface PhotoSource<S> {
    fun list(): List<S>
    fun key(shot: S): String
    fun photo(shot: S): Photo
    fun picture(shot: S): Pixels?
}

/**
 * [done]: photos in the album. [total]: photos on the phone. [unread]: those of this run whose pixels could not be read; the
 * next run tries them again. [skipped]: those that ended the process [SkipList.TRIES] times.
 */
data class IndexReport(val done: Int, val total: Int, val unread: Int = 0, val skipped: Int = 0)

/**
 * Adds the photos that the album lacks, a batch in each transaction. Nothing is stored for a photo without pixels and
 * memories: it would be taken for an indexed one for ever.
 */
class IndexRun<S>(
    private val source: PhotoSource<S>,
    private val writer: AlbumWriter,
    private val skips: SkipList,
    private val encode: (Photo, Pixels?) -> Encoded?,
) {
    /** Returns false if [isStopped] ended it early. [progress] is called after each batch. */
    fun run(isStopped: () -> Boolean, progress: (IndexReport) -> Unit, names: (List<String>) -> List<FloatArray>): Boolean {
        val known = writer.known().toSet()
        val shots = source.list()
        val missing = shots.filter { source.key(it) !in known }
        val wanted = missing.filter { !skips.isSkipped(source.key(it)) }
        var report = IndexReport(shots.size - missing.size, shots.size, skipped = missing.size - wanted.size)
        progress(report)
        for (batch in wanted.chunked(BATCH)) {
            if (isStopped()) return false
            val made = batch.mapNotNull { encoded(it) }
            if (made.isNotEmpty()) writer.add(made)
            report = report.copy(done = report.done + made.size, unread = report.unread + batch.size - made.size)
            progress(report)
        }
        if (wanted.isNotEmpty()) writer.finish(names)
        return true
    }

    private fun encoded(shot: S): Encoded? {
        skips.begin(source.key(shot))
        try {
            return encode(source.photo(shot), source.picture(shot))
        } finally {
            skips.end()
        }
    }

    private companion object {
        const val BATCH = 16
    }
}
