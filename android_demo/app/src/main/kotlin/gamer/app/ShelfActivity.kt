package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.os.Bundle
import android.text.format.DateFormat
import android.widget.ListView
import android.widget.TextView
import gamer.browse.Month
import gamer.common.oneLine
import java.text.SimpleDateFormat
import java.util.Date
import java.util.Locale
import java.util.TimeZone
import java.util.concurrent.Executors

/** Photos without a query, by their months: the whole album, those of a place, or those that are like another. */
class ShelfActivity : Activity() {
    private val work = Executors.newSingleThreadExecutor()
    private var browser: Browser? = null // used on the thread of `work`, and for reading addresses

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        title = intent.getStringExtra(TITLE)
        val list = ListView(this).apply {
            divider = null
            isFastScrollEnabled = true
        }
        content(list)
        work.execute {
            try {
                val opened = Browser.open(this).also { browser = it }
                val sections = sections(opened)
                runOnUiThread { list.adapter = ShelfList(this, sections, opened::address, ::open) }
            } catch (error: Throwable) {
                runOnUiThread { content(TextView(this).apply { setPadding(32, 32, 32, 32); text = oneLine(error) }) }
            }
        }
    }

    override fun onDestroy() {
        work.execute { browser?.close() }
        work.shutdown()
        super.onDestroy()
    }

    private fun sections(album: Browser): List<Section> {
        val id = intent.getStringExtra(LIKE)
        if (id != null) return listOf(Section(null, album.similar(id)))
        val rows = intent.getIntArrayExtra(ROWS)
        // After a change of the album the rows may be other photos': all are shown.
        val isOf = rows != null && intent.getLongExtra(GENERATION, -1) == album.generation
        return (if (isOf) album.months(rows!!) else album.months()).map { Section(name(it), it.rows) }
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
        private const val ROWS = "rows"
        private const val GENERATION = "generation"
        private const val AROUND = 40 // photos before and after one that is opened
        private const val MOST_ROWS = 5_000 // that fit into an intent

        fun timeline(context: Context): Intent = to(context, context.getString(R.string.timeline))

        fun place(context: Context, title: String, rows: IntArray, generation: Long): Intent =
            to(context, title).putExtra(ROWS, rows.take(MOST_ROWS).toIntArray()).putExtra(GENERATION, generation)

        fun like(context: Context, id: String): Intent = to(context, context.getString(R.string.similar)).putExtra(LIKE, id)

        private fun to(context: Context, title: String): Intent = Intent(context, ShelfActivity::class.java).putExtra(TITLE, title)
    }
}
