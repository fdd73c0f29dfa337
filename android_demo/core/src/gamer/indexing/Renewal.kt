package gamer.indexing

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.ClipPart
import gamer.album.DatabaseOpener
import gamer.album.Encoded
import gamer.album.Photo
import gamer.album.Reencoding
import gamer.bundle.Bundle
import gamer.common.AlbumError
import gamer.common.BundleError
import java.io.File

/**
 * Encodes an album again, for a bundle with other encoders: pictures that are on the phone, and all memories. The old album is
 * searched until the new one is whole; a run that was stopped or killed goes on where it ended.
 */
class Renewal<S>(
    private val source: PhotoSource<S>, private val album: File, private val databases: DatabaseOpener, private val skips: SkipList,
    private val encode: (Photo, Look?) -> Encoded?,
) {
    /** Returns false if [isStopped] ended it. [progress] is called after each batch; [names]: as for [IndexRun.run]. */
    fun run(meta: AlbumMeta, isStopped: () -> Boolean, progress: (IndexReport) -> Unit, names: (List<String>) -> List<FloatArray>): Boolean {
        val shots = source.list().associateBy { source.key(it) }
        if (shots.isEmpty() && AlbumWriter.extend(album, databases).use { it.known() }.any(source::owns)) {
            throw AlbumError("$album: no photo can be seen now, and without their pictures they cannot be encoded again: allow the photos")
        }
        Reencoding.open(album, meta, databases).use { writer ->
            val wanted = writer.withoutVectors()
            val total = writer.known().size
            var report = IndexReport(total - wanted.size, total)
            progress(report)
            for (batch in wanted.chunked(BATCH)) {
                var left = batch.size
                writer.renew(writer.photos(batch).mapNotNull { photo -> if (isStopped()) null else encoded(photo, shots[ClipPart.whole(photo.id)]).also { left-- } })
                report = report.copy(done = report.done + batch.size - left)
                progress(report)
                if (left > 0) return false
            }
            writer.finish(isStopped, names)
        }
        Reencoding.publish(album, databases)
        return true
    }

    /** Of a picture at which something fails, the memories alone. */
    private fun encoded(photo: Photo, shot: S?): Encoded? {
        if (shot == null || skips.isSkipped(photo.id)) return encode(photo, null)
        skips.begin(photo.id)
        val look = try {
            source.look(shot, photo.id) { false }
        } catch (error: Throwable) { // memory that ran out is an Error
            null
        }
        return encode(photo, look).also { skips.end() }
    }

    companion object {
        private const val BATCH = 16

        /** The bundle whose vectors an album has: while it is encoded again for [bundle], that is the one [before], if it is kept. */
        fun searched(album: File, databases: DatabaseOpener, bundle: File, before: File): File {
            if (!before.exists() || !album.isFile) return bundle
            val meta = Album.open(album, databases).use { it.meta }
            val fits = listOf(bundle, before).firstOrNull {
                try {
                    Bundle.open(it).manifest.run { textEncoder == meta.textEncoder && imageEncoder == meta.imageEncoder }
                } catch (error: BundleError) {
                    false
                }
            }
            return fits ?: bundle
        }
    }
}
