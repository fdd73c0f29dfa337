package gamer.app

import android.content.Intent
import android.os.Build
import android.view.View
import android.widget.GridView
import android.widget.ImageView
import android.widget.VideoView
import gamer.album.Album
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Videos: indexed, found, and played from where the search found what is meant. */
class VideoScreenTest : AppTest() {
    private val walked = 1_720_000_000_000

    private fun haveVideos() {
        haveModel()
        takePhotographs()
        phone.gallery.add(photograph("walk.mp4"), walked)
        phone.gallery.add(photograph("trip.mp4"), walked + 60_000)
        allowAll()
        IndexJob.schedule(Here)
        untilIndexed()
    }

    private fun <T> album(read: (Album) -> T): T = Album.open(files.album, AndroidDatabase).use(read)

    private fun GridView.found(name: String): Int = (0 until adapter.count).first { nameOf((adapter.getItem(it) as FoundPhoto).path!!) == name }

    private val player: VideoView get() = phone.one(VideoView::class.java)

    @Test
    fun `videos are in the album with their frames, a long one in the parts in which its picture changes`() {
        haveVideos()
        assertEquals(6 + 1 + 2, photosInAlbum())
        val (ids, times) = album { album -> (6 until 9).map { album.photo(it) }.let { videos -> videos.map { it.id.substringAfter('#', "") } to videos.map { it.takenAt } } }
        assertEquals(listOf("t=0,20", "t=20,40", ""), ids)
        assertEquals(20_000, times[1]!! - times[0]!!)
        assertEquals(52.52, album { it.photo(8).lat!! }, 1e-3)
        assertNull(album { it.photo(6).lat })
        assertEquals(listOf(15, 15, 6), album { album -> (6 until 9).map { album.clip(album.photo(it).id)!!.frames.size } })
        assertEquals(emptyList(), gamer.album.Check.problems(files.album, AndroidDatabase))
    }

    @Test
    fun `the second that a search found opens playing`() {
        haveVideos()
        main()
        val grid = search("videos of a rocket")
        assertContains(phone.said(), "videos: 3")
        assertEquals("walk.mp4", name(grid, 0))
        grid.performItemClick(grid.viewOf(0), 0, 0)
        untilShown<PhotoActivity>()
        assertTrue(player.isPlaying)
        assertEquals("walk.mp4", nameOf(player.playing.toString()))
        assertTrue(player.from in 3_000 until 6_000, "the rocket comes after three seconds, and not at ${player.from}")
        phone.choose("Share")
        assertEquals("video/*", handed().type)
        phone.choose("Why?")
        untilShown<TraceActivity>()
        assertContains(phone.said(), "seen at")
        phone.back()
        assertFalse(player.isPlaying, "it waits where it was left")
    }

    @Test
    fun `a swipe goes from a video to a photo and back`() {
        haveVideos()
        main()
        val grid = search("a temple")
        val (video, photo) = listOf("trip.mp4", "temple.jpg").map { grid.found(it) }
        grid.performItemClick(grid.viewOf(video), video, 0)
        untilShown<PhotoActivity>()
        val player = player
        assertTrue(player.isPlaying && player.from >= 20_000)
        val steps = if (photo > video) 1 else -1
        repeat(kotlin.math.abs(photo - video)) {
            val shown = if (player.visibility == View.VISIBLE) player else phone.one(ImageView::class.java)
            phone.drag(shown, 500f - 300 * steps, 900f, 500f + 300 * -steps * 2, 900f, 200)
        }
        phone.until("the temple is shown") { phone.one(ImageView::class.java).drawable != null }
        assertEquals(View.GONE, player.visibility)
        assertNull(player.playing)
    }

    @Test
    fun `the timeline plays a part from its begin, and its square has a mark`() {
        haveVideos()
        main()
        phone.choose("Timeline")
        untilShown<ShelfActivity>()
        phone.until("there are pictures") { phone.all(ImageView::class.java).let { all -> all.size == 9 && all.all { bitmap(it) != null } } }
        val squares = phone.all(ImageView::class.java)
        val frame = bitmap(squares[0])!!
        assertEquals(0xFF, frame.pixels.getRGB(frame.width / 2, frame.height / 2) ushr 24)
        assertTrue(java.awt.Color(frame.pixels.getRGB(frame.width / 2, frame.height / 2)).red > 200, "white over a temple's trees")
        squares[0].performClick()
        untilShown<PhotoActivity>()
        assertEquals(20_000, player.from)
    }

    @Test
    fun `a video that is deleted leaves with all its parts, and one that is none is tried again`() {
        haveVideos()
        main()
        phone.gallery.add(photograph("damaged.mp4"), walked)
        val grid = search("videos of a temple")
        grid.longPress(grid.found("trip.mp4"))
        phone.choose("Delete")
        phone.answer(true)
        phone.until("it has left the album") { photosInAlbum() == 7 }
        untilIndexed()
        phone.until("it says so") { phone.said().contains("1 could not be read") || Progress.report(Here).unread == 1 }
        assertEquals(emptyList(), gamer.album.Check.problems(files.album, AndroidDatabase))
    }

    @Test
    fun `without the permission for places a video has none, on an old phone it is read in another way`() {
        haveModel()
        phone.gallery.add(photograph("walk.mp4"), walked)
        phone.grant(IMAGES, VIDEOS)
        IndexJob.schedule(Here)
        untilIndexed()
        assertNull(album { it.photo(0).lat })
        assertNotNull(album { it.clip(it.photo(0).id) })
    }

    @Test
    fun `an old phone decodes whole frames`() {
        Build.VERSION.SDK_INT = 26
        haveVideos()
        assertEquals(9, photosInAlbum())
        assertEquals(52.52, album { it.photo(8).lat!! }, 1e-3)
    }

    @Test
    fun `a photo and a video are shared together`() {
        haveVideos()
        main()
        val grid = search("a temple")
        grid.longPress(grid.found("temple.jpg"))
        grid.performItemClick(grid.viewOf(grid.found("trip.mp4")), grid.found("trip.mp4"), 0)
        phone.choose("Share")
        assertEquals(Intent.ACTION_SEND_MULTIPLE to "*/*", handed().action to handed().type)
    }
}
