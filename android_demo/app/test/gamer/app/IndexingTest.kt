package gamer.app

import android.os.Build
import android.widget.ImageView
import gamer.album.Album
import java.io.RandomAccessFile
import kotlin.test.Test
import kotlin.test.assertContains
import kotlin.test.assertEquals
import kotlin.test.assertFalse
import kotlin.test.assertNotNull
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** The job that follows the gallery. */
class IndexingTest : AppTest() {
    private fun photo(name: String) = Album.open(files.album, AndroidDatabase).use { album ->
        (0 until album.size).map { album.photo(it) }.first { nameOf(it.path!!) == name }
    }

    @Test
    fun `times, places and zones are those of the pictures`() {
        haveIndexed()
        val temple = photo("temple.jpg")
        assertEquals(-33.8688, temple.lat!!, 1e-3)
        assertEquals(151.2093, temple.lon!!, 1e-3)
        assertEquals(1_664_762_400_000, temple.takenAt, "noon at ten hours before UTC, which the gallery took for noon at home")
        assertEquals(600, temple.utcOffset)
        assertEquals("local", photo("camera.jpg").tzSource)
        assertEquals(2023, java.time.Instant.ofEpochMilli(photo("camera.jpg").takenAt!!).atZone(java.time.ZoneOffset.UTC).year, "when its file was made")
    }

    @Test
    fun `without the permission for places there are none`() {
        haveModel()
        takePhotographs()
        phone.grant(IMAGES)
        IndexJob.schedule(Here)
        untilIndexed()
        assertEquals(6, photosInAlbum())
        assertNull(photo("temple.jpg").lat)
        assertEquals(600, photo("temple.jpg").utcOffset)
    }

    @Test
    fun `the album follows the gallery`() {
        haveIndexed()
        main()
        phone.gallery.delete(1)
        phone.until("the cat has left the album") { photosInAlbum() == 5 }
        phone.gallery.edit(3, photograph("cat.jpg"))
        phone.until("the rocket became a cat") { !IndexJob.isRunning && photosInAlbum() == 5 && name(search("a cat"), 0) == "cat.jpg" }
        phone.gallery.add(photograph("rocket.jpg"), 1_688_227_200_000)
        phone.until("the rocket is back") { photosInAlbum() == 6 }
    }

    @Test
    fun `a job that the system stops goes on later`() {
        haveModel()
        repeat(40) { phone.gallery.add(photograph("cat.jpg"), 1_715_414_400_000 + it) }
        allowAll()
        main()
        phone.choose("Index now")
        phone.until("a batch is done") { Progress.report(Here).done > 0 }
        phone.scheduler.stopAll()
        phone.until("it has stopped") { !IndexJob.isRunning }
        val before = photosInAlbum()
        assertTrue(before < 40, "$before photos")
        phone.scheduler.restarted()
        phone.scheduler.backoffOver()
        phone.until("all are indexed") { photosInAlbum() == 40 }
        untilIndexed()
    }

    @Test
    fun `searches are answered while photos are indexed`() {
        haveIndexed()
        repeat(40) { phone.gallery.add(photograph("coffee.jpg"), 1_713_598_200_000 + it) }
        main()
        phone.until("it indexes") { IndexJob.isRunning && photosInAlbum() > 6 }
        while (IndexJob.isRunning) assertEquals("cat.jpg", name(search("a cat"), 0))
        phone.until("all are indexed") { photosInAlbum() == 46 }
        assertNull(Progress.failure(Here))
    }

    @Test
    fun `a timeline that was left open does not keep another model from encoding the album again`() {
        haveIndexed()
        main()
        phone.choose("Timeline")
        phone.until("there are photos") { phone.all(ImageView::class.java).size == 6 }
        phone.gallery.delete(6) // what the timeline reads is an older state of the album from now on
        phone.until("it is removed") { photosInAlbum() == 5 }
        untilIndexed()
        phone.all(ImageView::class.java)[0].performClick()
        untilShown<PhotoActivity>()
        files.bundle.copyRecursively(files.before)
        rename("another", files.bundle)
        IndexJob.schedule(Here)
        untilIndexed()
        assertNull(Progress.failure(Here))
        assertEquals("another", Album.open(files.album, AndroidDatabase).use { it.meta.textEncoder })
        phone.back()
        phone.until("the timeline is the album's of now") { phone.all(ImageView::class.java).size == 5 && phone.all(ImageView::class.java).all { bitmap(it) != null } }
    }

    @Test
    fun `it goes on where the charger is taken away and the battery is enough`() {
        haveModel()
        repeat(40) { phone.gallery.add(photograph("cat.jpg"), 1_715_414_400_000 + it) }
        allowAll()
        phone.battery = 20
        main()
        phone.until("it waits") { phone.scheduler.allPendingJobs.any { it.id == 9 } }
        phone.plug()
        phone.until("a batch is done") { files.hasAlbum() && photosInAlbum() > 0 }
        phone.battery = 90
        phone.isCharging = false
        phone.scheduler.stopAll()
        phone.until("all are indexed") { photosInAlbum() == 40 }
        untilIndexed()
    }

    @Test
    fun `it waits for the battery, and says so`() {
        haveModel()
        takePhotographs()
        allowAll()
        phone.battery = 20
        main()
        phone.choose("Index now")
        phone.until("it says so") { phone.said().contains("paused to spare the battery") }
        phone.during(1_200)
        assertFalse(files.hasAlbum())
        phone.plug()
        untilIndexed()
        assertEquals(6, photosInAlbum())
        phone.until("it says so") { phone.said().contains("6 of 6 photos indexed") }
    }

    @Test
    fun `a hot phone waits, too`() {
        haveModel()
        takePhotographs()
        allowAll()
        phone.thermal = 3
        main()
        phone.until("it says so") { phone.said().contains("because the phone is hot") }
        phone.thermal = 0
        phone.scheduler.backoffOver()
        untilIndexed()
        assertEquals(6, photosInAlbum())
    }

    @Test
    fun `a card that was taken out loses nothing`() {
        haveModel()
        allowAll()
        phone.gallery.add(photograph("cat.jpg"), null)
        phone.gallery.add(photograph("rocket.jpg"), null, "1234-5678")
        IndexJob.schedule(Here)
        untilIndexed()
        main()
        phone.gallery.eject("1234-5678")
        phone.during(50)
        untilIndexed()
        assertEquals(2, photosInAlbum())
        phone.gallery.insert("1234-5678")
        phone.gallery.delete(2)
        phone.until("what was deleted has gone") { photosInAlbum() == 1 }
    }

    @Test
    fun `another model encodes the album again, and it is searched meanwhile`() {
        haveIndexed()
        main()
        assertEquals("cat.jpg", name(search("a cat"), 0))
        files.bundle.copyRecursively(files.before)
        rename("another", files.bundle)
        assertEquals("rocket.jpg", name(search("a rocket"), 0))
        assertEquals(files.before, Cores.searched(files))
        phone.choose("Index now")
        phone.until("it is encoded again") { Album.open(files.album, AndroidDatabase).use { it.meta.textEncoder } == "another" && !IndexJob.isRunning }
        assertFalse(files.before.exists())
        assertEquals("coffee.jpg", name(search("a cup of coffee"), 0))
        assertEquals(6, photosInAlbum())
    }

    @Test
    fun `a file that is no picture is named, after it failed twice, and nothing else is lost`() {
        phone.gallery.add(photograph("damaged.jpg"), null)
        haveIndexed()
        assertEquals(6, photosInAlbum())
        main()
        assertContains(phone.said(), "1 could not be read")
    }

    @Test
    fun `photos that the person chose are those that are indexed`() {
        haveModel()
        takePhotographs()
        phone.grant(CHOSEN)
        IndexJob.schedule(Here)
        untilIndexed()
        main()
        assertContains(phone.said(), "only those that you chose")
        assertEquals(6, photosInAlbum())
    }

    @Test
    fun `every version of the system that the app is for makes an album`() {
        for (version in listOf(26, 27, 28, 29, 30, 33, 34)) {
            Build.VERSION.SDK_INT = version
            files.album.delete()
            haveIndexed()
            assertNull(Progress.failure(Here), "API $version")
            main()
            assertEquals("cat.jpg", name(search("a cat"), 0), "API $version")
            phone.back()
            for (id in 1L..60) phone.gallery.delete(id)
        }
    }

    @Test
    fun `damage is found and repaired`() {
        haveIndexed()
        main()
        phone.choose("Check the album")
        untilShown<TraceActivity>()
        assertContains(phone.said(), "No damage found")
        phone.back()
        RandomAccessFile(files.album, "rw").use { it.setLength(it.length() / 2) }
        phone.choose("Check the album")
        untilShown<TraceActivity>()
        assertFalse(phone.said().contains("No damage found"), phone.said())
    }

    @Test
    fun `a benchmark is shared as JSON`() {
        haveIndexed()
        main()
        phone.choose("Benchmark")
        phone.one(android.widget.EditText::class.java).setText("2")
        phone.press("Measure")
        phone.until("it is measured") { phone.said().contains("p50") }
        phone.press("Share as JSON")
        val shared = org.json.JSONObject(handed().getStringExtra("android.intent.extra.TEXT")!!)
        assertEquals("gamer-latency/1", shared.getString("schema"))
        assertEquals(13, shared.getJSONArray("rows").length())
        assertNotNull(shared.getString("bundle_sha256"))
    }

    @Test
    fun `it runs behind what a person does`() {
        android.os.Process.last = 0
        haveIndexed()
        assertEquals(android.os.Process.THREAD_PRIORITY_BACKGROUND, android.os.Process.last)
    }
}
