package gamer.album

import gamer.common.AlbumError
import gamer.common.PyText
import java.io.File
import java.util.Locale

/**
 * What an album knows of a video, or of a part of one, beyond a photo; all in ms from the file's begin.
 * [length]: of the whole file. [frames]: of each vector of the channel `image`, the time of its frame.
 */
class Clip(val start: Long, val end: Long, val length: Long, val frames: List<Long>) {
    companion object {
        const val LONGEST = 24L * 3_600_000 // ms; a longer video is cut off here
    }
}

/** A part of a video: its begin and end, in ms. The id of a photo that is one names it: `beach.mp4#t=12.5,30` (index/clips.py). */
data class ClipPart(val start: Long, val end: Long) {
    /** What the part is in the album, taken when it begins; [photo]: the whole video. */
    fun of(photo: Photo): Photo = photo.copy(id = "${whole(photo.id)}#t=${seconds(start)},${seconds(end)}", takenAt = photo.takenAt?.plus(start))

    companion object {
        private const val SECONDS = "([0-9]{1,7}(?:\\.[0-9]{1,3})?)"
        private val FRAGMENT = Regex("#t=$SECONDS,$SECONDS$")

        /** The part that an id names; null if it names none. */
        fun named(id: String): ClipPart? {
            val (start, end) = FRAGMENT.find(id)?.destructured ?: return null
            return ClipPart(ms(start), ms(end)).takeIf { it.start < it.end }
        }

        /** An id without the part that it names. */
        fun whole(id: String): String = if (named(id) == null) id else id.substringBeforeLast("#t=")

        private fun ms(seconds: String): Long = Math.round(1_000 * seconds.toDouble())

        private fun seconds(ms: Long): String = "%.3f".format(Locale.ROOT, ms / 1_000.0).trimEnd('0').trimEnd('.')
    }
}

/** The optional table `clips` (FORMAT.md, Clips). */
internal object Clips {
    private const val DDL = "CREATE TABLE clips(photo TEXT PRIMARY KEY, starts INTEGER NOT NULL, ends INTEGER NOT NULL, length INTEGER NOT NULL, " +
        "frames TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID"
    private val FRAMES = Regex("(?:[0-9]{1,8}(?: [0-9]{1,8}){0,63})?")

    private const val COLUMNS = "photo, starts, ends, length, frames, crc"
    private const val OTHER_FRAMES = "SELECT count(*) FROM clips c JOIN photos p ON p.id = c.photo WHERE " +
        "(SELECT count(*) FROM vectors v WHERE v.channel = 'image' AND v.photo = p.row) NOT IN " +
        "(0, length(frames) - length(replace(frames, ' ', '')) + (frames <> ''))"

    fun exist(db: Database): Boolean = OptionalTables.isThere(db, "clips")

    /** Stores what is known of a clip, and forgets it for null; in the caller's transaction. Raises [AlbumError]. */
    fun write(db: Database, photoId: String, clip: Clip?) {
        OptionalTables.drop(db, photoId, listOf("clips"))
        if (clip == null) return
        val row = arrayOf<Any?>(photoId, clip.start, clip.end, clip.length, clip.frames.joinToString(" "))
        if (clip(row) == null) throw AlbumError("$photoId: not the times of a clip: ${clip.start} to ${clip.end} of ${clip.length}; check the decoder")
        if (!exist(db)) db.execute(DDL)
        db.execute("INSERT INTO clips VALUES(?,?,?,?,?,?)", *row, Crc.of(*row))
    }

    /** The clip with this id, null for a photo. Raises [AlbumError] if its row does not fit its checksum. */
    fun of(db: Database, path: File, photoId: String): Clip? {
        val row = db.query("SELECT $COLUMNS FROM clips WHERE photo=?", photoId).firstOrNull() ?: return null
        val clip = if (row[5] == Crc.of(*row.copyOf(5))) clip(row) else null
        return clip ?: throw AlbumError("$path: the clip '$photoId' is damaged (its checksum differs); run verify and index it again")
    }

    /** What is wrong in the table, which exists; one line each. */
    fun problems(db: Database): List<String> {
        val other = db.query(OTHER_FRAMES)[0][0].asLong()
        val out = if (other > 0) arrayListOf("clips with another number of vectors than of frames: $other") else ArrayList()
        for (row in db.query("SELECT $COLUMNS FROM clips")) {
            val name = "clip ${PyText.repr(row[0].asText())}"
            if (row[5] != Crc.of(*row.copyOf(5))) out.add("$name: its row does not match its checksum")
            else if (clip(row) == null) out.add("$name: its times are those of no clip")
        }
        return out
    }

    private fun clip(row: Array<Any?>): Clip? {
        val told = row[4].asText()
        if (!FRAMES.matches(told)) return null
        val clip = Clip(row[1].asLong(), row[2].asLong(), row[3].asLong(), told.split(' ').filter { it.isNotEmpty() }.map { it.toLong() })
        val fits = 0 <= clip.start && clip.start < clip.end && clip.end <= clip.length && clip.length <= Clip.LONGEST
        return clip.takeIf { fits && clip.frames.all { it <= clip.length } }
    }
}
