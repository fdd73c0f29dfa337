package gamer.album

import gamer.common.AlbumError
import gamer.common.PyText
import java.io.File

/**
 * What an album knows of a video, or of a part of one, beyond a photo; all in ms from the file's begin.
 * [length]: of the whole file. [frames]: of each vector of the channel `image`, the time of its frame.
 */
class Clip(val start: Long, val end: Long, val length: Long, val frames: List<Long>)

/** Reads the optional table `clips` (FORMAT.md, Clips). Videos are not decoded here. */
internal object Clips {
    private const val LONGEST = 24L * 3_600_000
    private val FRAMES = Regex("(?:[0-9]{1,8}(?: [0-9]{1,8}){0,63})?")

    private const val COLUMNS = "photo, starts, ends, length, frames, crc"
    private const val OTHER_FRAMES = "SELECT count(*) FROM clips c JOIN photos p ON p.id = c.photo WHERE " +
        "(SELECT count(*) FROM vectors v WHERE v.channel = 'image' AND v.photo = p.row) NOT IN " +
        "(0, length(frames) - length(replace(frames, ' ', '')) + (frames <> ''))"

    fun exist(db: Database): Boolean = OptionalTables.isThere(db, "clips")

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
        val fits = 0 <= clip.start && clip.start < clip.end && clip.end <= clip.length && clip.length <= LONGEST
        return clip.takeIf { fits && clip.frames.all { it <= clip.length } }
    }
}
