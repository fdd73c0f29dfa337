package gamer.app

import android.content.Context
import android.net.Uri
import android.os.Handler
import android.os.Looper
import android.view.View
import android.view.ViewGroup
import android.widget.BaseAdapter
import android.widget.ImageView
import java.util.concurrent.Executors

/**
 * Shows the pictures of the hits, which are loaded on a background thread. A hit without a picture is an
 * empty square.
 */
class PhotoGrid(private val context: Context, private val photos: List<FoundPhoto>) : BaseAdapter() {
    private val pictures = Pictures(PhotoStore(context))

    override fun getCount(): Int = photos.size

    override fun getItem(at: Int): Any = photos[at]

    override fun getItemId(at: Int): Long = at.toLong()

    override fun getView(at: Int, old: View?, parent: ViewGroup): View {
        val view = old as? ImageView ?: ImageView(context).apply {
            scaleType = ImageView.ScaleType.CENTER_CROP
            layoutParams = ViewGroup.LayoutParams(ViewGroup.LayoutParams.MATCH_PARENT, SIDE)
            setBackgroundColor(0xFFDDDDDD.toInt())
        }
        val photo = photos[at]
        view.contentDescription = photo.memory ?: photo.id
        view.tag = photo.id
        view.setImageBitmap(null)
        READER.execute { load(photo, view) }
        return view
    }

    private fun load(photo: FoundPhoto, view: ImageView) {
        val uri = photo.path?.takeIf { it.startsWith("content:") } ?: return
        val bitmap = pictures.shown(Uri.parse(uri), SIDE / 2)
        SCREEN.post { if (view.tag == photo.id) view.setImageBitmap(bitmap) }
    }

    private companion object {
        const val SIDE = 360
        val READER = Executors.newFixedThreadPool(2)!!
        val SCREEN = Handler(Looper.getMainLooper())
    }
}
