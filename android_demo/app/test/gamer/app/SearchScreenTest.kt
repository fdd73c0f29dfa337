package gamer.app

import android.content.Intent
import android.database.sqlite.SQLiteDatabase
import android.os.Build
import android.widget.ImageView
import java.io.File
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertNotNull
import kotlin.test.assertTrue

/** From a phone without anything to a photo that was found. */
class SearchScreenTest : AppTest() {
    @Test
    fun `several photos are chosen, and shared as they are`() {
        haveIndexed()
        main()
        val grid = search("a cat")
        grid.longPress(0)
        grid.performItemClick(grid.viewOf(1), 1, 1)
        grid.performItemClick(grid.viewOf(2), 2, 2)
        grid.performItemClick(grid.viewOf(1), 1, 1)
        assertEquals("Chosen: 2", phone.bar().title)
        assertEquals(listOf(true, false, true), (0..2).map { grid.viewOf(it).isActivated })
        val names = listOf(0, 2).map { name(grid, it) }
        phone.choose("Share")
        assertEquals(Intent.ACTION_SEND_MULTIPLE, handed().action)
        assertEquals(names, (handed().extra(Intent.EXTRA_STREAM) as List<*>).map { nameOf(it.toString()) })
        assertEquals(Intent.FLAG_GRANT_READ_URI_PERMISSION, handed().flags and Intent.FLAG_GRANT_READ_URI_PERMISSION)
        assertEquals(null, phone.bar())
        assertTrue(phone.screen() is MainActivity, "choosing opens no photo")
        grid.longPress(0)
        search("a cup of coffee") // an answer while some are chosen
        assertEquals(null, phone.bar())
    }

    @Test
    fun `photos are deleted once the person has let the gallery do it, and leave the album`() {
        haveIndexed()
        main()
        val grid = search("a cat")
        val (first, second) = (0..1).map { name(grid, it) }
        fun names() = (0 until grid.adapter.count).map { name(grid, it) }
        grid.longPress(0)
        phone.choose("Delete")
        assertTrue(phone.isAsking)
        phone.answer(false)
        assertEquals(6, grid.adapter.count)
        grid.longPress(0)
        grid.performItemClick(grid.viewOf(1), 1, 1)
        phone.choose("Delete")
        phone.answer(true)
        assertEquals(4, grid.adapter.count)
        assertFalse(first in names() || second in names())
        untilIndexed()
        phone.until("they have left the album") { photosInAlbum() == 4 }
    }

    @Test
    fun `the language model rewords searches once that is chosen, if there is one`() {
        haveIndexed()
        main()
        phone.choose("Reword searches with the language model")
        assertEquals("This model has no language model", phone.toasts.last())
        File(System.getProperty("gamer.packed.whole")).inputStream().use { gamer.bundle.PackedBundle.unpack(it, "whole.zip", files.bundle) }
        phone.choose("Reword searches with the language model")
        assertEquals("Searches are reworded by the language model", phone.toasts.last())
        assertEquals("cat.jpg", name(search("a cat that I like so much"), 0))
        phone.choose("What was done")
        assertContains((untilShown<TraceActivity>()).let { phone.said() }.toString(), "llm")
        phone.back()
        phone.choose("Reword searches with the language model")
        assertEquals("Searches are no longer reworded", phone.toasts.last())
    }

    @Test
    fun `a favourite of the gallery is one of the album, until it is none`() {
        haveIndexed()
        main()
        val grid = search("a cat")
        val first = name(grid, 0)
        fun marked() = gamer.album.Album.open(files.album, AndroidDatabase).use { it.memoriesOf("social").size }
        grid.longPress(0)
        phone.choose("Mark as favourite")
        phone.answer(true)
        phone.until("the album knows") { marked() == 1 && !IndexJob.isRunning }
        search("my favourites")
        assertEquals(listOf(first), (0 until grid.adapter.count).map { name(grid, it) })
        grid.longPress(0)
        phone.choose("No longer a favourite")
        phone.answer(true)
        phone.until("the album knows") { marked() == 0 && !IndexJob.isRunning }
    }

    @Test
    fun `before Android 11 photos are chosen and shared, and the gallery is asked nothing`() {
        Build.VERSION.SDK_INT = 29
        haveIndexed()
        main()
        val grid = search("a cat")
        grid.longPress(0)
        assertEquals(1, phone.bar().menu.items.size)
        phone.choose("Share")
        assertEquals(Intent.ACTION_SEND, handed().action)
    }

    @Test
    fun `a new phone is led to a model, to the photos, and to an answer`() {
        takePhotographs()
        phone.willAllow.addAll(listOf(IMAGES, PLACES))
        main()
        assertContains(phone.said(), "No model yet")
        phone.press("Choose a model")
        assertEquals(Intent.ACTION_OPEN_DOCUMENT, phone.handed.last().action)
        phone.pick(phone.gallery.document(packed))
        assertContains(phone.said(), "Unpacking")
        phone.until("the model is unpacked") { phone.said().contains("No photo may be seen yet") }
        phone.press("Allow photos")
        phone.until("the photos are indexed") { phone.said().contains("6 of 6 photos indexed") }
        val grid = search("a cat")
        assertContains(phone.said(), "6 found")
        assertEquals("cat.jpg", name(grid, 0))
        assertEquals("coffee.jpg", name(search("a cup of coffee"), 0))
        assertEquals("rocket.jpg", name(search("a rocket"), 0))
        assertEquals(0, search("photos without a date").adapter.count) // each has that of its file
        assertContains(phone.said(), "without “date”: 6 left out")
        assertEquals(0, search("my favourites").adapter.count)
        assertContains(phone.said(), "favourites only: 0\n0 found")
        assertEquals("1", android.system.Os.SET["ORT_DISABLE_TELEMETRY"])
    }

    @Test
    fun `a question with an anchor names it, and one for a time tells it`() {
        haveIndexed()
        main()
        val grid = search("the photo before the rocket")
        assertEquals(1, grid.adapter.count)
        assertContains(phone.said(), "in relation to the rocket (")
        val before = name(grid, 0)
        assertEquals(listOf(before), search("which photo did I take right before the rocket").let { found -> (0 until found.adapter.count).map { name(found, it) } })
        search("when did I see the rocket")
        assertContains(phone.said(), Regex("20\\d\\d-\\d\\d-\\d\\d\n"))
    }

    @Test
    fun `a file that is no model is refused in one line, and another one can be chosen`() {
        main()
        phone.press("Choose a model")
        phone.pick(phone.gallery.document(photograph("cat.jpg")))
        phone.until("the file is refused") { phone.said().contains("not a packed bundle") }
        assertFalse(files.hasBundle())
        phone.press("Choose a model")
        phone.pick(null) // the person goes back without a choice
        assertContains(phone.said(), "not a packed bundle")
    }

    @Test
    fun `the model stays where another one is refused`() {
        haveIndexed()
        main()
        phone.choose("Choose a model")
        phone.pick(phone.gallery.document(photograph("cat.jpg")))
        phone.until("the file is refused") { phone.said().contains("not a packed bundle") }
        assertEquals("cat.jpg", name(search("a cat"), 0))
    }

    @Test
    fun `the same model again changes nothing, and nothing is left over`() {
        haveIndexed()
        main()
        assertEquals("cat.jpg", name(search("a cat"), 0))
        phone.choose("Choose a model")
        phone.pick(phone.gallery.document(packed))
        phone.until("it is unpacked") { !phone.said().contains("Unpacking") }
        untilIndexed()
        assertEquals("cat.jpg", name(search("a cat"), 0))
        assertFalse(files.before.exists())
    }

    @Test
    fun `pictures are shown upright, each in its own square`() {
        haveIndexed()
        main()
        val grid = search("a cup of coffee")
        val square = grid.viewOf(0) as ImageView
        phone.until("the picture is shown") { bitmap(square) != null }
        assertTrue(bitmap(square)!!.width > bitmap(square)!!.height, "coffee.jpg lies on its side in the file")
        assertNotNull(square.contentDescription)
    }

    @Test
    fun `squares show the thumbnails that the phone keeps, and ask for each once`() {
        haveIndexed()
        Thumbnails.forget() // what the screens of the test before were still reading
        main()
        shown(search("a cat"))
        assertEquals(6, phone.gallery.thumbnails.toSet().size)
        phone.gallery.thumbnails.clear()
        phone.gallery.edit(1, photograph("cat.jpg"))
        untilIndexed()
        shown(search("a cat"))
        shown(search("a cat"))
        assertEquals(listOf("cat.jpg"), phone.gallery.thumbnails, "the others, and this one the second time, are still in memory")
    }

    @Test
    fun `a phone that gives no thumbnails has its pictures decoded`() {
        Build.VERSION.SDK_INT = 28
        haveIndexed()
        main()
        shown(search("a cat"))
        assertTrue(phone.gallery.thumbnails.isEmpty())
    }

    private fun shown(grid: android.widget.GridView) =
        phone.until("the pictures are shown") { (0 until 6).all { at -> (grid.viewOf(at) as ImageView?)?.let(::bitmap) != null } }

    @Test
    fun `another search takes the place of the pictures that are still being read`() {
        haveIndexed()
        main()
        search("a cat")
        val grid = search("a rocket")
        phone.during(500)
        for (at in 0 until 6) {
            val shown = bitmap(grid.viewOf(at) as ImageView)!!
            val file = javax.imageio.ImageIO.read(photograph(name(grid, at)))
            val ratio = if (name(grid, at) == "coffee.jpg") file.height.toDouble() / file.width else file.width.toDouble() / file.height
            assertEquals(ratio, shown.width.toDouble() / shown.height, 0.02, name(grid, at))
        }
    }

    @Test
    fun `what was found stays when the phone is turned, and comes back when the app was ended`() {
        haveIndexed()
        main()
        assertEquals("cat.jpg", name(search("a cat"), 0))
        assertFalse(phone.isKeyboardShown)
        phone.turn()
        assertEquals("cat.jpg", name(phone.one(android.widget.GridView::class.java), 0))
        phone.remake()
        phone.until("it is searched again") { phone.said().contains("6 found") }
        assertContains(phone.said(), "a cat")
        assertEquals("cat.jpg", name(phone.one(android.widget.GridView::class.java), 0))
    }

    @Test
    fun `refusals end in the settings`() {
        haveModel()
        main()
        phone.press("Allow photos")
        phone.during(50)
        phone.press("Allow photos")
        phone.during(50)
        phone.press("Allow photos in the settings")
        assertEquals("package:gamer.app", handed().data.toString())
        phone.grant(IMAGES)
        phone.leaveAndReturn()
        assertContains(phone.said(), "No photos indexed yet")
    }

    @Test
    fun `the album stays open behind a photo, and is let go of with the app`() {
        haveIndexed()
        main()
        untilIndexed() // a search beside the job lets go of the album
        val grid = search("a cat")
        grid.performItemClick(grid.viewOf(0), 0, 0)
        untilShown<PhotoActivity>()
        phone.until("the photo is drawn") { bitmap(phone.one(ImageView::class.java)) != null }
        assertTrue(SQLiteDatabase.open("album.gamer") > 0)
        phone.leaveAndReturn()
        phone.until("the album is let go of") { SQLiteDatabase.open("album.gamer") == 0L }
        phone.back()
        assertEquals("cat.jpg", name(search("a cat"), 0))
    }

    @Test
    fun `before Android 11 the album is where no other app reads it`() {
        for (version in listOf(26, 29, 30)) {
            Build.VERSION.SDK_INT = version
            assertEquals(if (version < 30) "files" else "external", files.album.parentFile.name, "API $version")
        }
    }

    @Test
    fun `what the screen says is in the phone's language`() {
        haveIndexed()
        speak("de")
        main()
        assertContains(phone.said(), "6 von 6 Fotos")
        phone.choose("Zeitleiste")
        untilShown<ShelfActivity>()
    }

    @Test
    fun `older systems ask for the storage`() {
        for (version in listOf(26, 28, 29, 32)) {
            Build.VERSION.SDK_INT = version
            phone.revoke(STORAGE)
            phone.willAllow.addAll(listOf(STORAGE, PLACES))
            haveModel()
            main()
            phone.press("Allow photos")
            phone.during(20)
            assertContains(phone.said(), "No photos indexed yet", message = "API $version")
            phone.back()
            phone.scheduler.cancel(7)
        }
    }
}
