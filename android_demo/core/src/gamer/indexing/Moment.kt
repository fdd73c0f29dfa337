package gamer.indexing

import java.util.GregorianCalendar
import java.util.TimeZone

/**
 * When a photo was taken, as the album stores it (FORMAT.md, `taken_at`). [zone]: "offset" with the photo's own offset, or
 * "local" for a wall time whose offset nobody stored.
 */
data class Moment(val takenAt: Long?, val zone: String, val offset: Int?) {
    companion object {
        // As in index/ingest/metadata/exif.py. The classes are spelled out: what `\s` and `\d` match differs between a phone and a JVM.
        private const val SPACE = "[ \\t\\n\\u000B\\f\\r]*"
        private val DATE = Regex("^$SPACE([0-9]{4})[-:/.]([0-9]{1,2})[-:/.]([0-9]{1,2})[ T]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})")
        private val OFFSET = Regex("^$SPACE([+-])([0-9]{2}):?([0-9]{2})")
        private const val FIRST_PHOTOGRAPH = 1826 // a year; an earlier one comes from a clock that was never set
        private const val FARTHEST = 14 // hours: no zone is farther from UTC
        private const val MINUTE = 60_000L

        /**
         * [exif]: EXIF's DateTimeOriginal, the wall time at the place of the photo; [exifOffset]: its OffsetTimeOriginal. [library]:
         * the moment in ms UTC that the phone's library has; [phone]: minutes by which the phone's own clock was ahead then, which
         * is where that moment's wall time comes from if nothing else is known.
         */
        fun of(exif: String?, exifOffset: String?, library: Long?, phone: (Long) -> Int): Moment {
            val wall = exif?.let(::wall)
            val offset = exifOffset?.let(::minutes)
            return when {
                wall != null && offset != null -> Moment(wall - MINUTE * offset, "offset", offset)
                wall != null -> Moment(wall, "local", null)
                library != null -> Moment(library + MINUTE * phone(library), "local", null)
                else -> Moment(null, "local", null)
            }
        }

        private fun wall(exif: String): Long? {
            val parts = DATE.find(bare(exif))?.groupValues?.drop(1)?.map { it.toInt() } ?: return null
            if (parts[0] < FIRST_PHOTOGRAPH) return null
            val clock = GregorianCalendar(TimeZone.getTimeZone("UTC")).apply { isLenient = false; clear() }
            clock.set(parts[0], parts[1] - 1, parts[2], parts[3], parts[4], parts[5])
            return try {
                clock.timeInMillis
            } catch (error: IllegalArgumentException) {
                null // cameras write 0000:00:00 where the clock was never set
            }
        }

        private fun minutes(offset: String): Int? {
            val (sign, hours, rest) = OFFSET.find(bare(offset))?.destructured ?: return null
            if (hours.toInt() > FARTHEST || rest.toInt() > 59) return null
            return (if (sign == "-") -1 else 1) * (hours.toInt() * 60 + rest.toInt())
        }

        private fun bare(text: String): String = text.trim('\u0000', ' ')
    }
}
