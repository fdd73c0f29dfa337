package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.os.Bundle
import android.text.format.DateFormat
import android.text.InputType
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.view.inputmethod.EditorInfo
import android.widget.EditText
import android.widget.LinearLayout
import android.widget.ListView
import android.widget.Toast
import gamer.album.AlbumWriter
import gamer.browse.Month
import gamer.browse.Square
import gamer.common.oneLine
import gamer.indexing.Naming
import gamer.people.Person
import java.text.SimpleDateFormat
import java.util.Date
import java.util.Locale
import java.util.TimeZone
import java.util.concurrent.Executors

/** Photos without a query, by their months: the whole album, those of a place, those that are like another, or a person's. */
class ShelfActivity : Activity() {
    private val work = Executors.newSingleThreadExecutor()
    private var browser: Browser? = null // used on the thread of `work`, and for what squares show
    private lateinit var list: ListView
    private lateinit var shown: View
    @Volatile private var isShown = false

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        title = intent.getStringExtra(TITLE)
        list = ListView(this).apply {
            divider = null
            isFastScrollEnabled = true
        }
        shown = if (person != 0L) named(list) else list
        content(shown)
    }

    private val person: Long get() = intent.getLongExtra(PERSON, 0)

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        if (person != 0L) for ((at, name) in listOf(R.string.person_same, R.string.forget).withIndex()) menu.add(0, at, at, name)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        if (item.itemId == 0) startActivity(PeopleActivity.same(this, person)).also { finish() }
        else Sure.ask(this) { change(null) { forget(it, person) } }
        return true
    }

    /** A line for the name of the person, above their photos. */
    private fun named(photos: View): View = LinearLayout(this).apply {
        orientation = LinearLayout.VERTICAL
        addView(EditText(context).apply {
            setHint(R.string.person_who)
            setText(intent.getStringExtra(NAME).orEmpty())
            inputType = InputType.TYPE_CLASS_TEXT
            imeOptions = EditorInfo.IME_ACTION_DONE
            setOnEditorActionListener { _, _, _ -> text.toString().let { told -> change(told) { name(it, person, told) } }; true }
        })
        addView(photos, LinearLayout.LayoutParams(LinearLayout.LayoutParams.MATCH_PARENT, 0, 1f))
    }

    /** Gives the person a name, or null where they are forgotten; says why not where that fails. The album's reader is closed meanwhile. */
    private fun change(name: String?, change: Naming.(AlbumWriter) -> Unit) = work.execute {
        val says = try {
            browser?.close()
            Cores.naming(this, change)
            if (name != null) onScreen { called(name) }
            name?.let { getString(R.string.person_named) }
        } catch (error: Throwable) {
            oneLine(error)
        }
        onScreen {
            if (says == null) return@onScreen finish()
            Toast.makeText(this, says, Toast.LENGTH_LONG).show()
            load()
        }
    }

    private fun called(name: String) {
        title = name
        intent.putExtra(TITLE, name).putExtra(NAME, name) // for when the phone is turned
    }

    /** The album is read anew, as it is now: rows of an older state may be other photos'. */
    override fun onStart() {
        super.onStart()
        isShown = true
        load()
    }

    private fun load() {
        work.execute {
            browser?.close()
            if (!isShown) return@execute
            try {
                val opened = Browser.open(this).also { browser = it }
                val sections = sections(opened)
                onScreen { show(ShelfList(this, sections, opened::addressed, ::open)) }
            } catch (error: Throwable) {
                onScreen { content(error) }
            }
        }
    }

    private fun show(photos: ShelfList) {
        val first = list.firstVisiblePosition
        content(shown)
        list.adapter = photos
        list.setSelection(first)
    }

    /** While a reader is open the log of the album grows, and no copy takes its place. */
    override fun onStop() {
        isShown = false
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
        if (person != 0L) return listOf(Section(null, album.photos(person)))
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
        private const val PERSON = "person"
        private const val NAME = "name"
        private const val AROUND = 40 // photos before and after one that is opened

        fun timeline(context: Context): Intent = to(context, context.getString(R.string.timeline))

        fun place(context: Context, title: String, squares: List<Square>): Intent =
            to(context, title).putExtra(SQUARES, squares.flatMap { listOf(it.south, it.west, it.side) }.toDoubleArray())

        fun like(context: Context, id: String): Intent = to(context, context.getString(R.string.similar)).putExtra(LIKE, id)

        fun person(context: Context, person: Person): Intent = to(context, title(context, person)).putExtra(PERSON, person.row).putExtra(NAME, person.name)

        fun title(context: Context, person: Person): String = person.name ?: context.getString(R.string.person_who)

        private fun to(context: Context, title: String): Intent = Intent(context, ShelfActivity::class.java).putExtra(TITLE, title)
    }
}
