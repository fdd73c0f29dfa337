package gamer.app

import android.widget.Button
import android.widget.GridView
import android.widget.ImageView
import android.widget.ListView
import android.widget.TextView
import gamer.album.Album
import gamer.album.AlbumWriter
import gamer.people.Face
import gamer.people.FaceBox
import gamer.people.LookedAt
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue

/** Who is in the photos: found where that is asked, named, made one, forgotten. */
class PeopleScreenTest : AppTest() {
    /** The cat and the flower show one person, the rocket another, as if they had been found. */
    private fun haveFound() {
        haveIndexed()
        AlbumWriter.extend(files.album, AndroidDatabase).use { writer ->
            val ids = Album.open(files.album, AndroidDatabase).use { album -> (0 until album.size).map { album.photo(it) }.associate { nameOf(it.path!!) to it.id } }
            val shown = listOf("cat.jpg" to 1, "flower.jpg" to 1, "rocket.jpg" to 2).map { (name, who) ->
                LookedAt(ids.getValue(name), null, listOf(Face(FaceBox(0.25, 0.25, 0.25, 0.25), 1.0, FloatArray(128) { if (it == who) 0.5f else 0f })))
            }
            writer.people {
                begin("faces 1")
                store(shown)
                regroup()
            }
        }
        main()
        phone.choose("People")
        phone.until("they are listed") { phone.all(GridView::class.java).any { it.adapter.count == 2 } }
    }

    private fun opened(at: Int) {
        val grid = phone.one(GridView::class.java)
        grid.performItemClick(grid.viewOf(at), at, at.toLong())
        untilShown<ShelfActivity>()
        phone.until("their photos are listed") { (phone.one(ListView::class.java).adapter?.count ?: 0) > 0 }
    }

    private fun name(text: String) {
        phone.type(text)
        phone.until("it is named, or not") { phone.toasts.isNotEmpty() }
    }

    @Test
    fun `a person has a face, is named above their photos, and searches find the name`() {
        haveFound()
        val first = phone.one(GridView::class.java).viewOf(0)
        phone.until("a face is shown") { bitmap((first as android.widget.LinearLayout).getChildAt(0) as ImageView) != null }
        opened(0)
        name("Daisy Robin")
        assertEquals("Named; searches find it." to "Daisy Robin", phone.toasts.last() to phone.screen().title)
        phone.back()
        phone.until("the name is listed") { phone.said().contains("Daisy Robin: 2") }
        phone.back()
        val grid = search("Daisy Robin alone")
        assertEquals(setOf("cat.jpg", "flower.jpg"), (0 until 2).map { name(grid, it) }.toSet())
        assertContains(phone.said(), "Daisy Robin alone: 2")
    }

    @Test
    fun `a name that somebody has is refused, and the two can be made one`() {
        haveFound()
        opened(0)
        name("Daisy")
        phone.back()
        phone.toasts.clear()
        opened(1)
        name("daisy")
        assertContains(phone.toasts.last(), "is called Daisy already")
        phone.choose("Same as…")
        untilShown<PeopleActivity>()
        phone.until("the others are listed") { phone.all(GridView::class.java).any { it.adapter.count == 1 } }
        val grid = phone.one(GridView::class.java)
        grid.performItemClick(grid.viewOf(0), 0, 0)
        phone.until("one is left") { Album.open(files.album, AndroidDatabase).use { it.people()!!.people.map { one -> one.name to one.photos.size } } == listOf("Daisy" to 3) }
    }

    @Test
    fun `who is forgotten leaves the list after a question, and all can be`() {
        haveFound()
        opened(0)
        phone.choose("Forget…")
        assertContains(phone.said(), "go for good")
        phone.one(Button::class.java).performClick()
        untilShown<PeopleActivity>()
        phone.until("one is left") { phone.all(GridView::class.java).any { it.adapter.count == 1 } }
        phone.choose("Forget everybody")
        phone.one(Button::class.java).performClick()
        phone.until("nobody is left") { Album.open(files.album, AndroidDatabase).use { it.people() } == null && phone.all(Button::class.java).none { "Forget" in it.text } }
        assertFalse(Wish.PEOPLE.isChosen(Here))
    }

    @Test
    fun `people are searched for only where that is asked, and the model can`() {
        haveIndexed()
        main()
        phone.choose("People")
        val says = { phone.said() }
        phone.until("it is said how") { Regex("people|Faces") in says() }
        if (!Wish.PEOPLE.isPossible(files.bundle)) return assertContains(says(), "--parts faces")
        assertEquals(null, Album.open(files.album, AndroidDatabase).use { it.people() })
        phone.one(Button::class.java).performClick()
        assertContains(says(), "Nobody found yet")
        phone.until("all are searched") { Album.open(files.album, AndroidDatabase).use { it.people()?.lookedAt?.size } == 6 }
        assertTrue(phone.all(TextView::class.java).isNotEmpty())
    }
}
