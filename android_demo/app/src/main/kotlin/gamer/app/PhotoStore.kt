package gamer.app

import android.content.ContentResolver
import android.content.ContentUris
import android.content.Context
import android.media.ExifInterface
import android.net.Uri
import android.os.Build
import android.provider.MediaStore.Images.Media
import java.io.InputStream
import java.util.TimeZone

/** A photo as MediaStore lists it. `takenAt`: ms UTC, or null. */
class Shot(val id: Long, val uri: Uri, val takenAt: Long?, val modified: Long) {
    /**
     * The photo's id in the album. It includes the time of modification, because a picture may be edited in
     * place.
     */
    val key: String get() = "media:$id:$modified"
}

/**
 * Position and orientation from a picture's EXIF header. [turn]: degrees clockwise by which it must be
 * rotated.
 */
class Particulars(val lat: Double?, val lon: Double?, val turn: Int)

/** The phone's photos in MediaStore, newest first. */
class PhotoStore(private val context: Context) {
    private val resolver: ContentResolver get() = context.contentResolver

    fun list(): List<Shot> {
        val columns = arrayOf(Media._ID, Media.DATE_TAKEN, Media.DATE_MODIFIED)
        val out = ArrayList<Shot>()
        val found = resolver.query(Media.EXTERNAL_CONTENT_URI, columns, null, null, "${Media.DATE_TAKEN} DESC") ?: return out
        found.use {
            while (it.moveToNext()) {
                val id = it.getLong(0)
                val taken = if (it.isNull(1) || it.getLong(1) <= 0) null else it.getLong(1)
                out.add(Shot(id, ContentUris.withAppendedId(Media.EXTERNAL_CONTENT_URI, id), taken, it.getLong(2)))
            }
        }
        return out
    }

    /**
     * Minutes by which the phone's clock was ahead of UTC at that moment. MediaStore stores no zone, and most
     * photos are taken at home.
     */
    fun offsetMinutes(at: Long): Int = TimeZone.getDefault().getOffset(at) / 60_000

    fun particulars(shot: Shot): Particulars = try {
        // ExifInterface(InputStream) is newer than the platform that the app is compiled against.
        original(shot).use { read(ExifInterface::class.java.getConstructor(InputStream::class.java).newInstance(it)) }
    } catch (error: Exception) {
        // Vendors' codecs throw various exceptions; the photo is indexed without these details.
        Particulars(null, null, 0)
    }

    fun open(shot: Shot): InputStream = resolver.openInputStream(shot.uri) ?: throw java.io.IOException("${shot.uri}: gone")

    /** The file with its position, if the user allows it. */
    private fun original(shot: Shot): InputStream {
        if (Build.VERSION.SDK_INT < 29 || !Access.places(context)) return open(shot)
        // MediaStore.setRequireOriginal is newer than the platform that the app is compiled against.
        val uri = shot.uri.buildUpon().appendQueryParameter("requireOriginal", "1").build()
        return resolver.openInputStream(uri) ?: open(shot)
    }

    private fun read(exif: ExifInterface): Particulars {
        val place = FloatArray(2)
        val known = exif.getLatLong(place) && !(place[0] == 0f && place[1] == 0f)
        val turn = when (exif.getAttributeInt(ExifInterface.TAG_ORIENTATION, ExifInterface.ORIENTATION_NORMAL)) {
            ExifInterface.ORIENTATION_ROTATE_90, ExifInterface.ORIENTATION_TRANSPOSE -> 90
            ExifInterface.ORIENTATION_ROTATE_180 -> 180
            ExifInterface.ORIENTATION_ROTATE_270, ExifInterface.ORIENTATION_TRANSVERSE -> 270
            else -> 0
        }
        return Particulars(if (known) place[0].toDouble() else null, if (known) place[1].toDouble() else null, turn)
    }
}
