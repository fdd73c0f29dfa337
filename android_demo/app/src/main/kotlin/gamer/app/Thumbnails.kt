package gamer.app

import android.content.ContentResolver
import android.content.Context
import android.graphics.Bitmap
import android.graphics.Canvas
import android.graphics.Matrix
import android.graphics.Paint
import android.graphics.Path
import android.net.Uri
import android.os.Build
import android.os.CancellationSignal
import android.os.Handler
import android.os.Looper
import android.util.LruCache
import android.util.Size
import android.widget.ImageView
import gamer.album.ClipPart
import gamer.models.FaceReader
import gamer.people.FaceBox
import java.util.concurrent.Executors

/** A photo by its id, which is another one after an edit, and the address of its picture, null for none. [face]: what of it is shown. */
class Addressed(val id: String, val address: String?, val face: FaceBox? = null)

/** Squares with pictures that are loaded on background threads. A photo without a picture is an empty square. */
class Thumbnails(private val context: Context) {
    private val pictures = Pictures(PhotoStore(context))

    fun square(): ImageView = ImageView(context).apply {
        scaleType = ImageView.ScaleType.CENTER_CROP
        setBackgroundColor(EMPTY)
    }

    /** Shows a photo; [photo] is asked on a background thread. [key]: what tells it from other photos. */
    fun show(view: ImageView, key: Any, photo: () -> Addressed?) {
        view.tag = key
        view.setImageBitmap(null)
        READER.execute {
            if (view.tag != key) return@execute // scrolled away meanwhile
            val bitmap = photo()?.let(::picture) ?: return@execute
            SCREEN.post { if (view.tag == key) view.setImageBitmap(bitmap) }
        }
    }

    private fun picture(photo: Addressed): Bitmap? {
        val key = photo.id + photo.face.toString()
        KEPT[key]?.let { return it }
        val uri = photo.address?.takeIf { it.startsWith("content:") }?.let(Uri::parse) ?: return null
        val shown = if (photo.face != null) pictures.shown(uri, photo.id, FaceReader.PHOTO)?.let { cut(it, photo.face) } else whole(uri, photo.id)
        return shown?.also { KEPT.put(key, it) }
    }

    /** A video has a mark, and each of its parts a picture of its own. */
    private fun whole(uri: Uri, id: String): Bitmap? {
        val kept = if (ClipPart.named(id) == null) ofThePlatform(uri) else null
        val shown = kept ?: pictures.shown(uri, id, SIDE / 2)
        return if (Shot.isVideo("$uri")) shown?.let(::marked) else shown
    }

    private fun marked(frame: Bitmap): Bitmap = frame.copy(Bitmap.Config.ARGB_8888, true).also { out ->
        val side = minOf(out.width, out.height) / 6f
        val (left, top) = out.width / 2f - side / 2 to out.height / 2f - side / 2
        val triangle = Path().apply { moveTo(left, top); lineTo(left, top + side); lineTo(left + side, top + side / 2); close() }
        Canvas(out).drawPath(triangle, Paint().apply { color = MARK })
    }

    /** A face with some of what is around it. */
    private fun cut(whole: Bitmap, face: FaceBox): Bitmap {
        val side = (AROUND * maxOf(face.width * whole.width, face.height * whole.height)).toInt().coerceIn(1, minOf(whole.width, whole.height))
        val left = ((face.left + face.width / 2) * whole.width - side / 2).toInt().coerceIn(0, whole.width - side)
        val top = ((face.top + face.height / 2) * whole.height - side / 2).toInt().coerceIn(0, whole.height - side)
        val scale = minOf(1f, SIDE.toFloat() / side)
        return Bitmap.createBitmap(whole, left, top, side, side, Matrix().apply { setScale(scale, scale) }, true)
    }

    /** The thumbnail that the media provider keeps, upright, from Android 10 on; null where it has none. */
    private fun ofThePlatform(uri: Uri): Bitmap? = if (Build.VERSION.SDK_INT < 29) null else try {
        // ContentResolver.loadThumbnail is newer than the platform that the app is compiled against.
        val load = ContentResolver::class.java.getMethod("loadThumbnail", Uri::class.java, Size::class.java, CancellationSignal::class.java)
        load.invoke(context.contentResolver, uri, Size(SIDE, SIDE), null) as Bitmap?
    } catch (error: ReflectiveOperationException) {
        null
    }

    companion object {
        const val SIDE = 360 // pixels
        private const val AROUND = 1.4 // sides of a face
        private const val EMPTY = 0x40808080
        private const val MARK = 0xCCFFFFFF.toInt()
        private val READER = Executors.newFixedThreadPool(2)!!
        private val SCREEN = Handler(Looper.getMainLooper())
        private val KEPT = object : LruCache<String, Bitmap>((Runtime.getRuntime().maxMemory() / 16).toInt()) { // bytes
            override fun sizeOf(id: String, picture: Bitmap): Int = picture.byteCount
        }

        /** Gives back the memory of the pictures that are not on the screen. */
        fun forget() = KEPT.evictAll()
    }
}
