package gamer.app

import android.content.Context
import android.net.Uri
import android.os.Handler
import android.os.Looper
import android.widget.ImageView
import java.util.concurrent.Executors

/** Squares with pictures that are loaded on background threads. A photo without a picture is an empty square. */
class Thumbnails(private val context: Context) {
    private val pictures = Pictures(PhotoStore(context))

    fun square(): ImageView = ImageView(context).apply {
        scaleType = ImageView.ScaleType.CENTER_CROP
        setBackgroundColor(EMPTY)
    }

    /** Shows the photo with this address; [path] is asked on a background thread. [key]: what tells it from other photos. */
    fun show(view: ImageView, key: Any, path: () -> String?) {
        view.tag = key
        view.setImageBitmap(null)
        READER.execute {
            if (view.tag != key) return@execute // scrolled away meanwhile
            val uri = path()?.takeIf { it.startsWith("content:") } ?: return@execute
            val bitmap = pictures.shown(Uri.parse(uri), SIDE / 2)
            SCREEN.post { if (view.tag == key) view.setImageBitmap(bitmap) }
        }
    }

    companion object {
        const val SIDE = 360 // pixels
        private const val EMPTY = 0x40808080
        private val READER = Executors.newFixedThreadPool(2)!!
        private val SCREEN = Handler(Looper.getMainLooper())
    }
}
