package gamer.album

import gamer.common.AlbumError
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

    fun exist(db: Database): Boolean = db.query("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name='clips'").isNotEmpty()

    /** The clip with this id, null for a photo. Raises [AlbumError] if its row does not fit its checksum. */
    fun of(db: Database, path: File, photoId: String): Clip? {
        val row = db.query("SELECT photo, starts, ends, length, frames, crc FROM clips WHERE photo=?", photoId).firstOrNull() ?: return null
        val clip = if (row[5] == Crc.of(*row.copyOf(5))) clip(row) else null
        return clip ?: throw AlbumError("$path: the clip '$photoId' is damaged (its checksum differs); run verify and index it again")
    }

    private fun clip(row: Array<Any?>): Clip? {
        val told = row[4].asText()
        if (!FRAMES.matches(told)) return null
        val clip = Clip(row[1].asLong(), row[2].asLong(), row[3].asLong(), told.split(' ').filter { it.isNotEmpty() }.map { it.toLong() })
        val fits = 0 <= clip.start && clip.start < clip.end && clip.end <= clip.length && clip.length <= LONGEST
        return clip.takeIf { fits && clip.frames.all { it <= clip.length } }
    }
}
