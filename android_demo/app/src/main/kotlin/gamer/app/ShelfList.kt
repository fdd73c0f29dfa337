package gamer.app

import android.content.Context
import android.view.View
import android.view.ViewGroup
import android.widget.BaseAdapter
import android.widget.ImageView
import android.widget.LinearLayout
import android.widget.TextView

/** [title]: above the photos; null for none. */
class Section(val title: String?, val rows: IntArray)

/**
 * Sections of photos, three in a line. [photo]: of a row, asked on a background thread. [open]: called with the rows of
 * all sections, and the position of the one that was tapped.
 */
class ShelfList(
    private val context: Context, sections: List<Section>, private val photo: (Int) -> Addressed?, private val open: (IntArray, Int) -> Unit,
) : BaseAdapter() {
    /** A title, or the positions of photos in [rows]. */
    private class Line(val title: String?, val photos: IntRange)

    private val rows = sections.flatMap { it.rows.asIterable() }.toIntArray()
    private val lines = ArrayList<Line>()
    private val thumbnails = Thumbnails(context)

    init {
        var begin = 0
        for (section in sections) {
            section.title?.let { lines.add(Line(it, IntRange.EMPTY)) }
            val end = begin + section.rows.size
            for (at in begin until end step WIDE) lines.add(Line(null, at until minOf(at + WIDE, end)))
            begin = end
        }
    }

    override fun getCount(): Int = lines.size

    override fun getItem(at: Int): Any = lines[at]

    override fun getItemId(at: Int): Long = at.toLong()

    override fun getViewTypeCount(): Int = 2

    override fun getItemViewType(at: Int): Int = if (lines[at].title != null) 0 else 1

    override fun isEnabled(at: Int): Boolean = false

    override fun getView(at: Int, old: View?, parent: ViewGroup): View {
        val line = lines[at]
        if (line.title != null) return (old as? TextView ?: TextView(context).apply { setPadding(24, 32, 24, 12) }).apply { text = line.title }
        val view = old as? LinearLayout ?: LinearLayout(context).apply {
            repeat(WIDE) { addView(thumbnails.square(), LinearLayout.LayoutParams(0, Thumbnails.SIDE, 1f).apply { setMargins(2, 2, 2, 2) }) }
        }
        for (n in 0 until WIDE) show(view.getChildAt(n) as ImageView, line.photos.first + n, line.photos)
        return view
    }

    private fun show(square: ImageView, at: Int, shown: IntRange) {
        square.visibility = if (at in shown) View.VISIBLE else View.INVISIBLE
        if (at !in shown) return
        square.contentDescription = context.getString(R.string.photo_of, at + 1, rows.size)
        square.setOnClickListener { open(rows, at) }
        thumbnails.show(square, rows[at]) { photo(rows[at]) }
    }

    private companion object {
        const val WIDE = 3
    }
}
