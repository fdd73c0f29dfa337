package gamer.app

import android.content.Context
import android.graphics.Bitmap
import android.media.MediaMetadataRetriever
import android.media.MediaMetadataRetriever.METADATA_KEY_DURATION
import android.media.MediaMetadataRetriever.METADATA_KEY_LOCATION
import android.media.MediaMetadataRetriever.METADATA_KEY_VIDEO_HEIGHT
import android.media.MediaMetadataRetriever.METADATA_KEY_VIDEO_ROTATION
import android.media.MediaMetadataRetriever.METADATA_KEY_VIDEO_WIDTH
import android.net.Uri
import android.os.Build
import gamer.image.Sampling
import gamer.indexing.Footage
import gamer.indexing.Frame
import gamer.indexing.Position

/** A video in MediaStore, whose frames the platform decodes in processes of its own, and hands out upright. */
class VideoFootage private constructor(private val video: MediaMetadataRetriever, private val width: Int, private val height: Int, override val length: Long) : Footage {
    override fun frame(at: Long, side: Int, isRough: Boolean): Frame? = bitmap(at, side, isRough)?.let { Frame(at, Pictures.rgb(it)) }

    fun bitmap(at: Long, side: Int, isRough: Boolean = false): Bitmap? = try {
        val how = if (isRough) MediaMetadataRetriever.OPTION_CLOSEST_SYNC else MediaMetadataRetriever.OPTION_CLOSEST
        val (wide, high) = Sampling.framed(width, height, side)
        if (Build.VERSION.SDK_INT < 27) video.getFrameAtTime(MICRO * at, how)?.let { Bitmap.createScaledBitmap(it, wide, high, true) }
        else SCALED.invoke(video, MICRO * at, how, wide, high) as Bitmap?
    } catch (error: Exception) { // a decoder that gave up
        null
    }

    /** Where it was taken, as its header says. */
    val place: Position? get() = video.extractMetadata(METADATA_KEY_LOCATION)?.let(Position::iso6709)

    override fun close() = video.release()

    companion object {
        private const val MICRO = 1_000L // microseconds of a millisecond
        private const val MOST_PIXELS = 36_000_000L // of a frame: 8K video has 33 million

        // MediaMetadataRetriever.getScaledFrameAtTime is newer than the platform that the app is compiled against.
        private val SCALED by lazy {
            val number = Int::class.javaPrimitiveType
            MediaMetadataRetriever::class.java.getMethod("getScaledFrameAtTime", Long::class.javaPrimitiveType, number, number, number)
        }

        /** Null for a video that cannot be decoded. */
        fun open(context: Context, uri: Uri): VideoFootage? {
            val video = MediaMetadataRetriever()
            val found = try {
                video.setDataSource(context, uri)
                read(video)
            } catch (error: RuntimeException) { // what is no video, or is gone
                null
            }
            if (found == null) video.release()
            return found
        }

        private fun read(video: MediaMetadataRetriever): VideoFootage? {
            val (width, height, length) = listOf(METADATA_KEY_VIDEO_WIDTH, METADATA_KEY_VIDEO_HEIGHT, METADATA_KEY_DURATION).map { video.extractMetadata(it)?.toLongOrNull() ?: 0 }
            val isTurned = video.extractMetadata(METADATA_KEY_VIDEO_ROTATION) in listOf("90", "270")
            if (minOf(width, height, length) < 1 || width * height > MOST_PIXELS) return null
            return VideoFootage(video, (if (isTurned) height else width).toInt(), (if (isTurned) width else height).toInt(), length)
        }
    }
}
