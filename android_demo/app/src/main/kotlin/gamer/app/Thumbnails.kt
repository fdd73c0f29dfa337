package gamer.app

import android.content.ContentResolver
import android.content.Context
import android.graphics.Bitmap
import android.net.Uri
import android.os.Build
import android.os.CancellationSignal
import android.os.Handler
import android.os.Looper
import android.util.LruCache
import android.util.Size
import android.widget.ImageView
import java.util.concurrent.Executors

/** A photo by its id, which is another one after an edit, and the address of its picture, null for none. */
class Addressed(val id: String, val address: String?)

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
        KEPT[photo.id]?.let { return it }
        val uri = photo.address?.takeIf { it.startsWith("content:") }?.let(Uri::parse) ?: return null
        return (ofThePlatform(uri) ?: pictures.shown(uri, SIDE / 2))?.also { KEPT.put(photo.id, it) }
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
        private const val EMPTY = 0x40808080
        private val READER = Executors.newFixedThreadPool(2)!!
        private val SCREEN = Handler(Looper.getMainLooper())
        private val KEPT = object : LruCache<String, Bitmap>((Runtime.getRuntime().maxMemory() / 16).toInt()) { // bytes
            override fun sizeOf(id: String, picture: Bitmap): Int = picture.byteCount
        }

        /** Gives back the memory of the pictures that are not on the screen. */
        fun forget() = KEPT.evictAll()
    }
}
