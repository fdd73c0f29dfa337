package gamer.app

import android.content.Context
import android.graphics.drawable.ColorDrawable
import android.graphics.drawable.StateListDrawable
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
            foreground = StateListDrawable().apply { addState(intArrayOf(android.R.attr.state_activated), ColorDrawable(CHOSEN)) }
        }
        val photo = photos[at]
        view.contentDescription = photo.memory ?: context.getString(R.string.photo_of, at + 1, photos.size)
        thumbnails.show(view, photo.id) { Addressed(photo.id, photo.path) }
        return view
    }

    private companion object {
        const val CHOSEN = 0x993367D6.toInt()
    }
}
