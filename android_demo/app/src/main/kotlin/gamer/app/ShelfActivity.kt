package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.os.Bundle
import android.text.format.DateFormat
import android.widget.ListView
import gamer.browse.Month
import gamer.browse.Square
import gamer.common.oneLine
import java.text.SimpleDateFormat
import java.util.Date
import java.util.Locale
import java.util.TimeZone
import java.util.concurrent.Executors

/** Photos without a query, by their months: the whole album, those of a place, or those that are like another. */
class ShelfActivity : Activity() {
    private val work = Executors.newSingleThreadExecutor()
    private var browser: Browser? = null // used on the thread of `work`, and for what squares show
    private lateinit var list: ListView

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        title = intent.getStringExtra(TITLE)
        list = ListView(this).apply {
            divider = null
            isFastScrollEnabled = true
        }
        content(list)
    }

    /** The album is read anew, as it is now: rows of an older state may be other photos'. */
    override fun onStart() {
        super.onStart()
        work.execute {
            try {
                val opened = Browser.open(this).also { browser = it }
                val sections = sections(opened)
                runOnUiThread { show(ShelfList(this, sections, opened::addressed, ::open)) }
            } catch (error: Throwable) {
                runOnUiThread { content(error) }
            }
        }
    }

    private fun show(photos: ShelfList) {
        val first = list.firstVisiblePosition
        content(list)
        list.adapter = photos
        list.setSelection(first)
    }

    /** While a reader is open the log of the album grows, and no copy takes its place. */
    override fun onStop() {
        work.execute { browser?.close() }
        super.onStop()
    }

    override fun onDestroy() {
        work.shutdown()
        super.onDestroy()
    }

    private fun sections(album: Browser): List<Section> {
        val id = intent.getStringExtra(LIKE)
        if (id != null) return listOf(Section(null, album.similar(id)))
        val squares = intent.getDoubleArrayExtra(SQUARES)?.toList()?.chunked(3) { (south, west, side) -> Square(south, west, side) }?.toSet()
        return (if (squares != null) album.months(squares) else album.months()).map { Section(name(it), it.rows) }
    }

    private fun name(month: Month): String {
        val start = month.start ?: return getString(R.string.undated)
        val pattern = DateFormat.getBestDateTimePattern(Locale.getDefault(), "yMMMM")
        return SimpleDateFormat(pattern, Locale.getDefault()).apply { timeZone = TimeZone.getTimeZone("UTC") }.format(Date(start))
    }

    /** Shows the photo at [at] of [rows], which can be swiped through. */
    private fun open(rows: IntArray, at: Int) = work.execute {
        val first = maxOf(0, at - AROUND)
        val shown = rows.slice(first until minOf(rows.size, at + AROUND)).map(::photo)
        runOnUiThread { startActivity(PhotoActivity.intent(this, shown, at - first)) }
    }

    private fun photo(row: Int): FoundPhoto = try {
        browser!!.photo(row)
    } catch (error: RuntimeException) { // its row is damaged
        FoundPhoto(oneLine(error), null, null, "")
    }

    companion object {
        private const val TITLE = "title"
        private const val LIKE = "like"
        private const val SQUARES = "squares"
        private const val AROUND = 40 // photos before and after one that is opened

        fun timeline(context: Context): Intent = to(context, context.getString(R.string.timeline))

        fun place(context: Context, title: String, squares: List<Square>): Intent =
            to(context, title).putExtra(SQUARES, squares.flatMap { listOf(it.south, it.west, it.side) }.toDoubleArray())

        fun like(context: Context, id: String): Intent = to(context, context.getString(R.string.similar)).putExtra(LIKE, id)

        private fun to(context: Context, title: String): Intent = Intent(context, ShelfActivity::class.java).putExtra(TITLE, title)
    }
}
