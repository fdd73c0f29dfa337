package gamer

import gamer.indexing.IndexReport
import gamer.screen.Access
import gamer.screen.English
import gamer.screen.Pace
import gamer.screen.Pause
import gamer.screen.Screen
import gamer.screen.Situation
import gamer.screen.Zoom
import gamer.screen.Zoom.Size
import kotlin.math.abs
import kotlin.random.Random
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** What the screens decide: how long indexing takes, when it pauses, how a photo is zoomed. */
class ScreenTest {
    @Test
    fun `the time left follows a phone that becomes slower`() {
        val pace = Pace()
        assertNull(pace.left(0, 100, 1_000))
        assertNull(pace.left(5_000, 110, 1_000)) // too few to tell
        assertEquals(440, pace.left(10_000, 120, 1_000)) // two photos a second
        assertEquals(440, pace.left(12_000, 120, 1_000)) // nothing new
        var left = 0L
        for (second in 11..900) left = pace.left(second * 1_000L, 120 + (second - 10) / 5, 1_000) ?: left // one in five seconds
        assertTrue(abs(left - 5 * (1_000 - 298)) < 30, "$left")
        assertNull(pace.left(901_000, 0, 1_000)) // another run
        assertEquals(490, pace.left(911_000, 20, 1_000))
        assertNull(pace.left(4_000_000, 36, 1_000)) // it paused for an hour
    }

    @Test
    fun `a time left is said roughly`() {
        val said = listOf(5L, 70, 600, 5_000, 10_800).map { Pace.said(it, English) }
        assertEquals(listOf("less than a minute left", "about a minute left", "about 10 minutes left", "about 83 minutes left", "about 3 hours left"), said)
    }

    @Test
    fun `indexing spares a low battery and a hot phone`() {
        assertEquals(Pause.BATTERY, Pause.of(29, false, 0))
        assertNull(Pause.of(29, true, 2))
        assertNull(Pause.of(30, false, null))
        assertNull(Pause.of(null, false, null))
        assertEquals(Pause.HEAT, Pause.of(90, true, 3))
    }

    @Test
    fun `the screen says what indexing waits for and how long it takes`() {
        val screen = Screen("/phone")
        val now = Situation(bundle = true, album = true, access = Access.ALL, report = IndexReport(100, 1_000), isIndexing = true)
        assertEquals("Indexing: 100 of 1000 photos", screen.headline(now).text)
        val later = now.copy(report = IndexReport(120, 1_000), time = 10_000)
        assertEquals("Indexing: 120 of 1000 photos, about 7 minutes left", screen.headline(later).text)
        val paused = later.copy(isIndexing = false, pause = Pause.BATTERY)
        assertTrue("paused to spare the battery" in screen.headline(paused).text && "120 of 1000" in screen.headline(paused).text)
        val first = paused.copy(album = false, report = IndexReport(0, 0))
        assertTrue(screen.headline(first).text.endsWith("goes on when the phone charges"), "a pause before the first photo")
        val whole = paused.copy(report = IndexReport(1_000, 1_000))
        assertEquals("1000 of 1000 photos indexed", screen.headline(whole).text)
    }

    @Test
    fun `a picture is shown whole, in the middle`() {
        val zoom = Zoom.whole(Size(1_000f, 2_000f), Size(4_000f, 2_000f))
        assertEquals(Zoom(Size(1_000f, 2_000f), Size(4_000f, 2_000f), 0.25f, 0f, 750f), zoom)
        assertTrue(zoom.isWhole && !zoom.by(2f, 500f, 1_000f).isWhole)
    }

    @Test
    fun `what is between the fingers stays there, and the picture stays on the screen`() {
        val random = Random(7)
        val screen = Size(1_080f, 1_920f)
        var zoom = Zoom.whole(screen, Size(3_000f, 2_000f))
        val near = zoom.by(4f, 540f, 960f)
        assertEquals((540f - zoom.x) / zoom.scale, (540f - near.x) / near.scale, 0.5f)
        repeat(2_000) {
            zoom = if (random.nextBoolean()) zoom.by(random.nextFloat() * 2 + 0.2f, random.nextFloat() * 1_080, random.nextFloat() * 1_920)
            else zoom.moved(random.nextFloat() * 4_000 - 2_000, random.nextFloat() * 4_000 - 2_000)
            for ((at, room, length) in listOf(Triple(zoom.x, screen.width, 3_000 * zoom.scale), Triple(zoom.y, screen.height, 2_000 * zoom.scale))) {
                if (length > room) assertTrue(at <= 0.01f && at >= room - length - 0.01f) else assertEquals((room - length) / 2, at, 0.01f)
            }
            assertTrue(zoom.scale in 0.35f..0.36f * 8.1f)
        }
    }
}
