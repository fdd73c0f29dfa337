package gamer.app

import android.content.Intent
import android.view.View
import android.widget.ImageView
import android.widget.ListView
import android.widget.TextView
import standin.Phone
import java.awt.image.BufferedImage
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertTrue

/** One photo, the timeline, the map, similar photos. */
class PhotoScreenTest : AppTest() {
    private fun opened(query: String): ImageView {
        main()
        val grid = search(query)
        grid.performItemClick(grid.viewOf(0), 0, 0)
        val view = phone.one(ImageView::class.java)
        phone.until("the picture is shown") { view.drawable != null }
        return view
    }

    @Test
    fun `a photo is shown whole, zoomed, and swiped away`() {
        haveIndexed()
        val view = opened("a cat")
        val whole = view.imageMatrix.values.scaleX
        assertEquals(Phone.WIDTH.toDouble() / bitmap(view)!!.width, whole, 1e-3)
        phone.spread(view, 500f, 900f, 3f)
        assertEquals(3 * whole, view.imageMatrix.values.scaleX, 0.05)
        val title = phone.screen().title
        phone.drag(view, 800f, 900f, 200f, 900f, 200)
        assertEquals(title, phone.screen().title, "a zoomed picture is moved, not turned over")
        phone.tap(view, 500f, 900f)
        phone.tapAgain(view, 500f, 900f)
        assertEquals(whole, view.imageMatrix.values.scaleX, 1e-3, "a double tap shows it whole")
        phone.drag(view, 800f, 900f, 200f, 900f, 200)
        assertFalse(title == phone.screen().title, "a swipe shows the next")
        phone.turn()
        assertFalse(title == phone.screen().title, "and it stays when the phone is turned")
    }

    @Test
    fun `a photo that is gone can be swiped past, and no gesture ends the app`() {
        haveIndexed()
        main()
        val grid = search("a cat")
        val gone = (grid.adapter.getItem(0) as FoundPhoto).path!!
        phone.gallery.delete(gone.substringAfterLast('/').toLong())
        grid.performItemClick(grid.viewOf(0), 0, 0)
        val view = phone.one(ImageView::class.java)
        phone.during(300)
        phone.spread(view, 500f, 900f, 3f)
        phone.tap(view, 500f, 900f)
        phone.tapAgain(view, 500f, 900f)
        assertEquals("Photo 1 of 6", phone.screen().title)
        phone.drag(view, 800f, 900f, 200f, 900f, 200)
        assertEquals("Photo 2 of 6", phone.screen().title)
        phone.until("the next picture is shown") { view.drawable != null }
    }

    @Test
    fun `sharing lets the receiver read that one photo`() {
        haveIndexed()
        opened("a cat")
        phone.choose("Share")
        assertEquals(Intent.ACTION_SEND, handed().action)
        assertEquals("cat.jpg", nameOf(handed().extra(Intent.EXTRA_STREAM).toString()))
        assertEquals(Intent.FLAG_GRANT_READ_URI_PERMISSION, handed().flags and Intent.FLAG_GRANT_READ_URI_PERMISSION)
        phone.choose("Open in the gallery")
        assertEquals("cat.jpg", nameOf(handed().data.toString()))
    }

    @Test
    fun `a photo that is deleted on the whole screen gives way to the next, and the grid has it no more`() {
        haveIndexed()
        opened("a cat")
        phone.choose("Delete")
        phone.answer(true)
        assertEquals("Photo 1 of 5", phone.screen().title)
        phone.turn()
        assertEquals("Photo 1 of 5", phone.screen().title)
        for (left in 4 downTo 0) {
            phone.choose("Delete")
            phone.answer(true)
            if (left > 0) assertEquals("Photo 1 of $left", phone.screen().title)
        }
        untilShown<MainActivity>()
        assertEquals(0, phone.one(android.widget.GridView::class.java).adapter.count)
    }

    @Test
    fun `of the timeline the photo that is touched opens, after another was deleted`() {
        haveIndexed()
        main()
        phone.choose("Timeline")
        untilListed()
        phone.battery = 10 // the album does not follow
        squares()[0].performClick()
        untilShown<PhotoActivity>()
        phone.choose("Delete")
        phone.answer(true)
        val second = bitmapOnceShown()
        phone.back()
        untilListed()
        squares()[1].performClick()
        untilShown<PhotoActivity>()
        assertEquals(second.width to second.height, bitmapOnceShown().let { it.width to it.height })
        assertEquals("Photo 1 of 5", phone.screen().title)
    }

    private fun bitmapOnceShown(): android.graphics.Bitmap {
        val view = phone.one(ImageView::class.java)
        phone.until("the picture is shown") { view.drawable != null }
        return bitmap(view)!!
    }

    @Test
    fun `deleted photos stay away when the app was out of sight, though the album has not followed`() {
        haveIndexed()
        main()
        val grid = search("a cat")
        phone.battery = 10 // no indexing
        grid.longPress(0)
        phone.choose("Delete")
        phone.answer(true)
        phone.leaveAndReturn()
        grid.longPress(0)
        phone.choose("Delete")
        phone.answer(true)
        assertEquals(4, grid.adapter.count)
    }

    @Test
    fun `the reasons of a photo, and photos like it`() {
        haveIndexed()
        opened("a cat")
        phone.choose("Why?")
        untilShown<TraceActivity>()
        assertContains(phone.said(), "likely")
        assertContains(phone.said(), "image")
        phone.back()
        phone.choose("Similar photos")
        untilListed()
        assertEquals(5, squares().size)
    }

    private fun untilListed() {
        untilShown<ShelfActivity>()
        phone.until("there are photos") { phone.all(ListView::class.java).any { it.adapter != null } }
    }

    private fun squares(): List<View> = phone.all(ImageView::class.java)

    @Test
    fun `the timeline has a title for each month, and its photos open`() {
        haveIndexed()
        main()
        phone.choose("Timeline")
        untilListed()
        val titles = phone.all(TextView::class.java).map { it.text.toString() }
        assertEquals(listOf("May 2024", "April 2024", "November 2023", "July 2023", "October 2022"), titles)
        assertEquals(6, squares().size)
        squares()[0].performClick()
        untilShown<PhotoActivity>()
    }

    @Test
    fun `the map has a dot in Berlin, behind which are two photos`() {
        haveIndexed()
        main()
        phone.choose("Map")
        untilShown<MapActivity>()
        phone.until("the map is there") { phone.all(View::class.java).any { it.contentDescription != null } }
        val map = phone.all(View::class.java).last()
        val drawn = BufferedImage(map.width, map.height, BufferedImage.TYPE_INT_ARGB)
        map.draw(android.graphics.Canvas(drawn))
        System.getProperty("gamer.pictures")?.let { javax.imageio.ImageIO.write(drawn, "png", java.io.File(it, "map.png")) }
        val (x, y) = point(map, 52.52, 13.405)
        val (r, g, b) = java.awt.Color(drawn.getRGB(x.toInt(), y.toInt())).let { Triple(it.red, it.green, it.blue) }
        assertTrue(r > 150 && g < 110 && b < 80, "a dot, and not $r $g $b")
        phone.tap(map, point(map, -30.0, 0.0).first, point(map, -30.0, 0.0).second)
        phone.during(400)
        assertTrue(phone.screen() is MapActivity, "nothing was photographed in the South Atlantic")
        phone.spread(map, x, y, 30f)
        phone.tap(map, x, y)
        untilListed()
        assertEquals("2 photos", phone.screen().title)
        assertEquals(2, squares().size)
    }

    /** Where a place is drawn, on a world that is as wide as the screen. */
    private fun point(map: View, lat: Double, lon: Double): Pair<Float, Float> {
        val at = gamer.browse.WorldMap.point(lat, lon)
        return at.x * map.width to (map.height - map.width) / 2f + at.y * map.width
    }
}
