package gamer.app

import android.util.Log
import gamer.album.ClipPart
import gamer.album.Photo
import gamer.image.Pixels
import gamer.indexing.Footage
import gamer.indexing.Moment
import gamer.indexing.PhotoSource
import gamer.models.FaceReader
import gamer.models.LineReader
import java.util.TimeZone

/** MediaStore's photos and videos, as the indexing takes them. [least]: pixels of the shorter side that a decoded picture keeps. */
class PhoneSource(private val store: PhotoStore, private val least: Int) : PhotoSource<Shot> {
    private val pictures = Pictures(store)
    private var favourites: Set<String>? = null // as they were listed
    private var read: Pair<Shot, Particulars>? = null // of the last photo: its pixels need the rotation

    override fun list(): List<Shot> {
        isWhole = store.isWhole(System.currentTimeMillis())
        return store.list().also { shots -> favourites = if (Gallery.canAsk) shots.filter { it.isFavourite }.mapTo(HashSet()) { it.key } else null }
    }

    override fun favourites(): Set<String>? = favourites

    override var isWhole = true
        private set

    override fun key(shot: Shot): String = shot.key

    override fun name(shot: Shot): String = store.name(shot)

    override fun owns(id: String): Boolean = id.startsWith(Shot.SCHEME)

    override fun asset(key: String): String = key.substringBeforeLast(':')

    override fun photo(shot: Shot): Photo {
        val own = particulars(shot)
        val moment = Moment.of(own.takenAt, own.offset, shot.takenAt) { TimeZone.getDefault().getOffset(it) / 60_000 }
        return Photo(shot.key, shot.uri.toString(), moment.takenAt, moment.zone, own.lat, own.lon, utcOffset = moment.offset)
    }

    override fun footage(shot: Shot): Footage? = store.footage(shot)

    override fun picture(shot: Shot): Pixels? = if (shot.isVideo) null else pixels(shot, shot.key, least)

    /** More pixels of the photo that was read last, where there is text in it. */
    fun large(photo: Photo): Pixels? = read?.first?.takeIf { it.key == ClipPart.whole(photo.id) }?.let { pixels(it, photo.id, LineReader.PHOTO) }

    fun forFaces(shot: Shot, id: String): Pixels? = pixels(shot, id, FaceReader.PHOTO)

    private fun pixels(shot: Shot, id: String, least: Int): Pixels? = try {
        pictures.bitmap(shot, id, least) { particulars(shot).turn }?.let(Pictures::rgb)
    } catch (error: Exception) {
        // A picture that cannot be decoded must not end the run; it is tried again in the next one.
        Log.w("GAMER", "${shot.uri}: not read (${error.message})")
        null
    }

    private fun particulars(shot: Shot): Particulars =
        read?.takeIf { it.first === shot }?.second ?: store.particulars(shot).also { read = shot to it }
}
