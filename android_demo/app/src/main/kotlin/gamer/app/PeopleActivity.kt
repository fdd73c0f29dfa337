package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.os.Bundle
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.view.ViewGroup
import android.widget.BaseAdapter
import android.widget.Button
import android.widget.GridView
import android.widget.ImageView
import android.widget.LinearLayout
import android.widget.TextView
import gamer.album.AlbumWriter
import gamer.indexing.Naming
import gamer.people.Person

/** Who is in the photos: a face of each, the named first. One that is tapped shows their photos, or is made the same as [SAME]. */
class PeopleActivity : AlbumActivity() {
    private val same: Long get() = intent.getLongExtra(SAME, 0)

    override fun read(album: Browser): () -> Unit {
        val people = album.people().filter { it.row != same }.take(MOST)
        return { if (people.isEmpty()) ask() else show(people, album) }
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        if (same == 0L) menu.add(0, 0, 0, R.string.people_forget)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        Sure.ask(this) {
            Wish.PEOPLE.choose(this, false) // before: an indexing must not find them again
            change { forgetAll(it) }
        }
        return true
    }

    /** Nobody was found yet. */
    private fun ask() {
        val isPossible = Wish.PEOPLE.isPossible(Files(this).bundle)
        val isWaiting = isPossible && Wish.PEOPLE.isChosen(this)
        val text = TextView(this).apply {
            setPadding(32, 32, 32, 32)
            setText(if (!isPossible) R.string.people_none else if (isWaiting) R.string.people_waits else R.string.people_about)
        }
        val find = Button(this).apply {
            setText(R.string.people_find)
            setOnClickListener {
                Wish.PEOPLE.choose(this@PeopleActivity, true)
                IndexJob.schedule(this@PeopleActivity)
                ask()
            }
        }
        content(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            addView(text)
            if (isPossible && !isWaiting) addView(find)
        })
    }

    private fun show(people: List<Person>, browser: Browser) = content(GridView(this).apply {
        numColumns = 3
        adapter = Faces(this@PeopleActivity, people, browser)
        setOnItemClickListener { _, _, at, _ ->
            if (same == 0L) startActivity(ShelfActivity.person(context, people[at])) else change({ merge(it, people[at].row, same) }) { failure -> if (failure == null) finish() else content(failure) }
        }
    })

    private fun change(change: Naming.(AlbumWriter) -> Unit) = change(change) { failure -> if (failure == null) load() else content(failure) }

    companion object {
        private const val SAME = "same"
        private const val MOST = 200

        fun same(context: Context, person: Long): Intent = Intent(context, PeopleActivity::class.java).putExtra(SAME, person)
    }
}

/** A face of each person, with the name and the number of photos. */
private class Faces(private val context: Context, private val people: List<Person>, private val browser: Browser) : BaseAdapter() {
    private val thumbnails = Thumbnails(context)

    override fun getCount(): Int = people.size

    override fun getItem(at: Int): Any = people[at]

    override fun getItemId(at: Int): Long = people[at].row

    override fun getView(at: Int, old: View?, parent: ViewGroup): View {
        val person = people[at]
        val view = old as? LinearLayout ?: LinearLayout(context).apply {
            orientation = LinearLayout.VERTICAL
            addView(thumbnails.square(), LinearLayout.LayoutParams(LinearLayout.LayoutParams.MATCH_PARENT, Thumbnails.SIDE))
            addView(TextView(context).apply { setPadding(8, 4, 8, 16) })
        }
        val face = view.getChildAt(0) as ImageView
        face.contentDescription = ShelfActivity.title(context, person)
        (view.getChildAt(1) as TextView).text = context.getString(R.string.people_count, face.contentDescription, person.photos.size)
        thumbnails.show(face, person.row) {
            try {
                browser.face(person)
            } catch (error: RuntimeException) { // also of a screen that was closed meanwhile
                null
            }
        }
        return view
    }
}

/** Asks before people are forgotten: what is deleted does not come back. */
object Sure {
    fun ask(of: Activity, deed: () -> Unit) = of.content(LinearLayout(of).apply {
        orientation = LinearLayout.VERTICAL
        addView(TextView(of).apply { setText(R.string.person_sure); setPadding(32, 32, 32, 32) })
        addView(Button(of).apply { setText(R.string.forget_yes); setOnClickListener { isEnabled = false; deed() } })
    })
}
