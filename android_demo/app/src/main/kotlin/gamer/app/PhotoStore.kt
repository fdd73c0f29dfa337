package gamer.app

import android.content.ContentResolver
import android.content.ContentUris
import android.content.Context
import android.media.ExifInterface
import android.net.Uri
import android.os.Build
import android.provider.MediaStore
import android.provider.MediaStore.Images.Media
import android.provider.MediaStore.Video.Media as Video
import gamer.indexing.Attempts
import gamer.indexing.Position
import java.io.InputStream

/**
 * A photo or video as MediaStore lists it. `takenAt`: ms UTC, or null; of a picture whose time nobody stored, when its file was made.
 * `turn`: degrees clockwise, as MediaStore knows them.
 */
class Shot(val id: Long, val uri: Uri, val takenAt: Long?, val modified: Long, val turn: Int = 0, val isFavourite: Boolean = false) {
    /**
     * The photo's id in the album. It includes the time of modification, because a picture may be edited in
     * place.
     */
    val key: String get() = "$SCHEME$id:$modified"

    val isVideo: Boolean get() = isVideo(uri.toString())

    companion object {
        const val SCHEME = "media:"

        /** Whether MediaStore's address is a video's. */
        fun isVideo(address: String): Boolean = address.startsWith(Video.EXTERNAL_CONTENT_URI.toString())
    }
}

/**
 * Position, orientation and time from a picture's EXIF header. [turn]: degrees clockwise by which it must be
 * rotated. [takenAt], [offset]: EXIF's texts, or null.
 */
class Particulars(val lat: Double?, val lon: Double?, val turn: Int, val takenAt: String? = null, val offset: String? = null)

/** The phone's photos in MediaStore, newest first, and its videos behind them, as each takes as long as many photos. */
class PhotoStore(private val context: Context) {
    private val resolver: ContentResolver get() = context.contentResolver

    fun list(): List<Shot> = listed(Media.EXTERNAL_CONTENT_URI, Media.ORIENTATION) + listed(Video.EXTERNAL_CONTENT_URI, null)

    /** [turn]: the column that has it; the platform hands out frames upright. */
    private fun listed(all: Uri, turn: String?): List<Shot> {
        val always = listOf(Media._ID, Media.DATE_TAKEN, Media.DATE_MODIFIED, Media.DATE_ADDED)
        val columns = (always + listOfNotNull(turn, FAVOURITE.takeIf { Gallery.canAsk })).toTypedArray()
        val out = ArrayList<Shot>()
        val found = resolver.query(all, columns, null, null, "${Media.DATE_TAKEN} DESC") ?: return out
        found.use {
            while (it.moveToNext()) {
                val id = it.getLong(0)
                val made = listOf(2, 3).map(it::getLong).filter { seconds -> seconds > 0 }.minOrNull()?.let { seconds -> seconds * 1_000 }
                val taken = if (it.isNull(1) || it.getLong(1) <= 0) made else it.getLong(1)
                val (turned, isFavourite) = listOf(turn, FAVOURITE).map { name -> columns.indexOf(name).takeIf { at -> at >= 0 }?.let(it::getInt) ?: 0 }
                out.add(Shot(id, ContentUris.withAppendedId(all, id), taken, it.getLong(2), turned, isFavourite == 1))
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
        val ways = listOf(original(shot.uri), shot.uri).drop(if (Build.VERSION.SDK_INT < 29 || !Permissions.places(context)) 1 else 0)
        return Attempts.first(ways.map { way -> { if (shot.isVideo) recorded(way) else opened(way).use(::read) } }, Particulars(null, null, shot.turn))
    }

    /** A photo by its address, with the rotation that MediaStore knows, or a video; null if it is gone. */
    fun shot(uri: Uri): Shot? = resolver.query(uri, listOfNotNull(Media._ID, Media.ORIENTATION.takeUnless { Shot.isVideo("$uri") }).toTypedArray(), null, null, null)?.use {
        if (it.moveToFirst()) Shot(it.getLong(0), uri, null, 0, if (Shot.isVideo("$uri")) 0 else it.getInt(1)) else null
    }

    /** Null for a photo, and for a video that cannot be decoded. */
    fun footage(shot: Shot): VideoFootage? = if (shot.isVideo) VideoFootage.open(context, shot.uri) else null

    /** The name of a photo's file; its address if it is gone. */
    fun name(shot: Shot): String = resolver.query(shot.uri, arrayOf(Media.DISPLAY_NAME), null, null, null)?.use {
        if (it.moveToFirst()) it.getString(0) else null
    } ?: shot.uri.toString()

    fun open(shot: Shot): InputStream = opened(shot.uri)

    private fun opened(uri: Uri): InputStream = resolver.openInputStream(uri) ?: throw java.io.IOException("$uri: gone")

    // MediaStore.setRequireOriginal is newer than the platform that the app is compiled against.
    private fun original(uri: Uri): Uri = uri.buildUpon().appendQueryParameter("requireOriginal", "1").build()

    private fun recorded(video: Uri): Particulars = VideoFootage.open(context, video)?.use { it.place }.let { Particulars(it?.lat, it?.lon, 0) }

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
