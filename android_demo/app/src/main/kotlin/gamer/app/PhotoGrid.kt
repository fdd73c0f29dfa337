package gamer.app

import android.content.Context
import android.view.View
import android.view.ViewGroup
import android.widget.BaseAdapter
import android.widget.ImageView

/** Shows the pictures of the hits. */
class PhotoGrid(private val context: Context, private val photos: List<FoundPhoto>) : BaseAdapter() {
    private val thumbnails = Thumbnails(context)

    override fun getCount(): Int = photos.size

    override fun getItem(at: Int): Any = photos[at]

    override fun getItemId(at: Int): Long = at.toLong()

    override fun getView(at: Int, old: View?, parent: ViewGroup): View {
        val view = old as? ImageView ?: thumbnails.square().apply {
            layoutParams = ViewGroup.LayoutParams(ViewGroup.LayoutParams.MATCH_PARENT, Thumbnails.SIDE)
        }
        val photo = photos[at]
        view.contentDescription = photo.memory ?: context.getString(R.string.photo_of, at + 1, photos.size)
        thumbnails.show(view, photo.id) { Addressed(photo.id, photo.path) }
        return view
    }
}
