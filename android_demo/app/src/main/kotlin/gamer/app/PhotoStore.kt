package gamer.app

import android.content.ContentResolver
import android.content.ContentUris
import android.content.Context
import android.media.ExifInterface
import android.net.Uri
import android.os.Build
import android.provider.MediaStore
import android.provider.MediaStore.Images.Media
import gamer.indexing.Attempts
import gamer.indexing.Position
import java.io.InputStream

/**
 * A photo as MediaStore lists it. `takenAt`: ms UTC, or null; of a picture whose time nobody stored, when its file was made.
 * `turn`: degrees clockwise, as MediaStore knows them.
 */
class Shot(val id: Long, val uri: Uri, val takenAt: Long?, val modified: Long, val turn: Int = 0, val isFavourite: Boolean = false) {
    /**
     * The photo's id in the album. It includes the time of modification, because a picture may be edited in
     * place.
     */
    val key: String get() = "$SCHEME$id:$modified"

    companion object {
        const val SCHEME = "media:"
    }
}

/**
 * Position, orientation and time from a picture's EXIF header. [turn]: degrees clockwise by which it must be
 * rotated. [takenAt], [offset]: EXIF's texts, or null.
 */
class Particulars(val lat: Double?, val lon: Double?, val turn: Int, val takenAt: String? = null, val offset: String? = null)

/** The phone's photos in MediaStore, newest first. */
class PhotoStore(private val context: Context) {
    private val resolver: ContentResolver get() = context.contentResolver

    fun list(): List<Shot> {
        val always = arrayOf(Media._ID, Media.DATE_TAKEN, Media.DATE_MODIFIED, Media.ORIENTATION, Media.DATE_ADDED)
        val columns = if (Gallery.canAsk) always + FAVOURITE else always
        val out = ArrayList<Shot>()
        val found = resolver.query(Media.EXTERNAL_CONTENT_URI, columns, null, null, "${Media.DATE_TAKEN} DESC") ?: return out
        found.use {
            while (it.moveToNext()) {
                val id = it.getLong(0)
                val made = listOf(2, 4).map(it::getLong).filter { seconds -> seconds > 0 }.minOrNull()?.let { seconds -> seconds * 1_000 }
                val taken = if (it.isNull(1) || it.getLong(1) <= 0) made else it.getLong(1)
                val uri = ContentUris.withAppendedId(Media.EXTERNAL_CONTENT_URI, id)
                out.add(Shot(id, uri, taken, it.getLong(2), it.getInt(3), Gallery.canAsk && it.getInt(5) == 1))
            }
        }
        return out
    }

    /**
     * False if a volume, such as a card, is out whose photos were listed in the last month. To be asked at [now], ms UTC, with each
     * listing.
     */
    @Suppress("UNCHECKED_CAST")
    fun isWhole(now: Long): Boolean {
        if (Build.VERSION.SDK_INT < 29) return true
        // MediaStore.getExternalVolumeNames is newer than the platform that the app is compiled against.
        val here = MediaStore::class.java.getMethod("getExternalVolumeNames", Context::class.java).invoke(null, context) as Set<String>
        val kept = context.getSharedPreferences("volumes", Context.MODE_PRIVATE)
        val recent = kept.all.filterValues { it is Long && now - it < MONTH }.keys
        kept.edit().apply { for (name in here) putLong(name, now) }.apply()
        return here.containsAll(recent)
    }

    /**
     * Read from the original with its position, if the user allows it; else from the file without it. Vendors' codecs throw
     * various exceptions: then the rotation is MediaStore's.
     */
    fun particulars(shot: Shot): Particulars {
        val ways = listOf(::original, ::open).drop(if (Build.VERSION.SDK_INT < 29 || !Permissions.places(context)) 1 else 0)
        return Attempts.first(ways.map { way -> { way(shot).use(::read) } }, Particulars(null, null, shot.turn))
    }

    /** A photo by its address, with the rotation that MediaStore knows; null if it is gone. */
    fun shot(uri: Uri): Shot? = resolver.query(uri, arrayOf(Media._ID, Media.ORIENTATION), null, null, null)?.use {
        if (it.moveToFirst()) Shot(it.getLong(0), uri, null, 0, it.getInt(1)) else null
    }

    /** The name of a photo's file; its address if it is gone. */
    fun name(shot: Shot): String = resolver.query(shot.uri, arrayOf(Media.DISPLAY_NAME), null, null, null)?.use {
        if (it.moveToFirst()) it.getString(0) else null
    } ?: shot.uri.toString()

    fun open(shot: Shot): InputStream = resolver.openInputStream(shot.uri) ?: throw java.io.IOException("${shot.uri}: gone")

    private fun original(shot: Shot): InputStream {
        // MediaStore.setRequireOriginal is newer than the platform that the app is compiled against.
        val uri = shot.uri.buildUpon().appendQueryParameter("requireOriginal", "1").build()
        return resolver.openInputStream(uri) ?: throw java.io.IOException("$uri: gone")
    }

    // ExifInterface(InputStream) is newer than the platform that the app is compiled against.
    private fun read(picture: InputStream): Particulars = read(ExifInterface::class.java.getConstructor(InputStream::class.java).newInstance(picture))

    private fun read(exif: ExifInterface): Particulars {
        val place = FloatArray(2)
        val position = if (exif.getLatLong(place)) Position.plausible(place[0].toDouble(), place[1].toDouble()) else null
        val turn = when (exif.getAttributeInt(ExifInterface.TAG_ORIENTATION, ExifInterface.ORIENTATION_NORMAL)) {
            ExifInterface.ORIENTATION_ROTATE_90, ExifInterface.ORIENTATION_TRANSPOSE -> 90
            ExifInterface.ORIENTATION_ROTATE_180 -> 180
            ExifInterface.ORIENTATION_ROTATE_270, ExifInterface.ORIENTATION_TRANSVERSE -> 270
            else -> 0
        }
        // These names are newer than the platform that the app is compiled against, too.
        val (taken, offset) = listOf("DateTimeOriginal", "OffsetTimeOriginal").map { exif.getAttribute(it) }
        return Particulars(position?.lat, position?.lon, turn, taken, offset)
    }

    private companion object {
        const val FAVOURITE = "is_favorite" // newer than the platform that the app is compiled against
        const val MONTH = 30 * 24 * 3_600_000L
    }
}
