package gamer.app

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
import gamer.browse.Month
import gamer.browse.Square
import gamer.common.oneLine
import gamer.people.Person
import java.text.SimpleDateFormat
import java.util.Date
import java.util.Locale
import java.util.TimeZone

/** Photos without a query, by their months: the whole album, those of a place, those that are like another, or a person's. */
class ShelfActivity : AlbumActivity() {
    private lateinit var list: ListView
    private lateinit var shown: View

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
        else Sure.ask(this) { change({ forget(it, person) }) { failure -> if (failure == null) finish() else say(oneLine(failure)) } }
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
            setOnEditorActionListener { _, _, _ -> name(text.toString()); true }
        })
        addView(photos, LinearLayout.LayoutParams(LinearLayout.LayoutParams.MATCH_PARENT, 0, 1f))
    }

    private fun name(told: String) = change({ name(it, person, told) }) { failure ->
        if (failure == null) {
            title = told
            intent.putExtra(TITLE, told).putExtra(NAME, told) // for when the phone is turned
        }
        say(if (failure == null) getString(R.string.person_named) else oneLine(failure))
    }

    private fun say(words: String) {
        Toast.makeText(this, words, Toast.LENGTH_LONG).show()
        load()
    }

    override fun read(album: Browser): () -> Unit {
        val sections = sections(album)
        return { show(ShelfList(this, sections, album::addressed, ::open)) }
    }

    private fun show(photos: ShelfList) {
        val first = list.firstVisiblePosition
        content(shown)
        list.adapter = photos
        list.setSelection(first)
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
