package gamer.app

import android.graphics.Bitmap
import android.graphics.BitmapFactory
import android.graphics.Matrix
import android.net.Uri
import gamer.album.ClipPart
import gamer.image.Pixels
import gamer.image.Sampling
import gamer.image.Scans
import gamer.indexing.ClipFrames

/**
 * Decodes photos, and the frames that stand for videos, in bounded memory: large pictures are decoded at 1/2, 1/4 … of their size
 * ([Sampling]).
 */
class Pictures(private val store: PhotoStore) {
    /** [id]: in the album, which may name a part of a video. [turn]: of a photo; a video's frames come upright. */
    fun bitmap(shot: Shot, id: String, least: Int, turn: () -> Int): Bitmap? =
        if (shot.isVideo) store.footage(shot)?.use { it.bitmap(ClipFrames.middle(it, ClipPart.named(id)), least) } else photo(shot, turn(), least)

    private fun photo(shot: Shot, turn: Int, least: Int): Bitmap? {
        val bounds = BitmapFactory.Options().apply { inJustDecodeBounds = true }
        store.open(shot).use { BitmapFactory.decodeStream(it, null, bounds) }
        if (minOf(bounds.outWidth, bounds.outHeight) < 1) return null
        if (!store.open(shot).use { Scans.mayBeDecoded(it, bounds.outWidth, bounds.outHeight) }) return null
        val options = BitmapFactory.Options().apply { inSampleSize = Sampling.factor(bounds.outWidth, bounds.outHeight, least) }
        val decoded = store.open(shot).use { BitmapFactory.decodeStream(it, null, options) } ?: return null
        if (turn == 0) return decoded
        return Bitmap.createBitmap(decoded, 0, 0, decoded.width, decoded.height, Matrix().apply { postRotate(turn.toFloat()) }, true)
    }

    /** A photo by its address, upright; null if it was deleted, is damaged, or too large for the memory. */
    fun shown(uri: Uri, id: String, least: Int): Bitmap? = try {
        store.shot(uri)?.let { bitmap(it, id, least) { store.particulars(it).turn } }
    } catch (error: Throwable) { // memory that ran out is an Error
        null
    }

    companion object {
        fun rgb(bitmap: Bitmap): Pixels {
            val row = IntArray(bitmap.width)
            val out = ByteArray(3 * bitmap.width * bitmap.height)
            for (y in 0 until bitmap.height) {
                bitmap.getPixels(row, 0, bitmap.width, 0, y, bitmap.width, 1)
                for (x in row.indices) {
                    val at = 3 * (y * row.size + x)
                    out[at] = (row[x] shr 16).toByte()
                    out[at + 1] = (row[x] shr 8).toByte()
                    out[at + 2] = row[x].toByte()
                }
            }
            return Pixels(bitmap.width, bitmap.height, out)
        }
    }
}
