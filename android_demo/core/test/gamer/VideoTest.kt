package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.album.ClipPart
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Photo
import gamer.image.Pixels
import gamer.image.Sampling
import gamer.indexing.ClipFrames
import gamer.indexing.Footage
import gamer.indexing.Frame
import gamer.indexing.IndexReport
import gamer.indexing.IndexRun
import gamer.indexing.Look
import gamer.indexing.MarkList
import gamer.indexing.PhotoSource
import gamer.indexing.Position
import gamer.indexing.Renewal
import gamer.indexing.SkipList
import gamer.jvm.JdbcDatabase
import java.io.File
import kotlin.io.path.createTempDirectory
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertNull
import kotlin.test.assertTrue

/** Videos on the phone: what is looked at, where they are cut, and what the album has of them. */
class VideoTest {
    private val folder: File = createTempDirectory("videos").toFile()
    private val path = File(folder, "album.gamer")
    private val meta = AlbumMeta("t", "i", 16, 0.5)
    private var decoded = 0

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    /** A video whose picture is of one colour for each of its [scenes], of so many ms; -1 cannot be decoded. */
    private inner class Scenes(private val scenes: List<Pair<Int, Long>>) : Footage {
        override val length = scenes.sumOf { it.second }

        override fun frame(at: Long, side: Int, isRough: Boolean): Frame? {
            decoded++
            var left = at
            val colour = scenes.first { (_, lasts) -> (left < lasts).also { if (!it) left -= lasts } }.first
            return if (colour < 0) null else Frame(if (isRough) at - at % 1_000 else at, Pixels(1, 1, ByteArray(3) { colour.toByte() }))
        }

        override fun close() = Unit
    }

    private var videos = linkedMapOf<String, Footage>("v1" to Scenes(listOf(10 to 2_500L)), "v2" to Scenes(listOf(50 to 20_000L, 120 to 3_000L, 200 to 40_000L)))
    private var hearts = emptySet<String>()

    private inner class Phone : PhotoSource<String> {
        override fun list() = listOf("p0") + videos.keys
        override fun key(shot: String) = shot
        override fun asset(key: String) = key.substringBefore('@')
        override fun name(shot: String) = shot
        override fun owns(id: String) = true
        override fun favourites() = hearts
        override fun footage(shot: String) = videos[shot]
        override fun picture(shot: String) = if (shot in videos) null else Pixels(1, 1, ByteArray(3) { 99 })
        override fun photo(shot: String) = Photo(shot, "content:$shot", 1_000_000)
    }

    private fun encode(photo: Photo, look: Look?): Encoded? {
        val frames = look?.frames ?: return if (photo.memories.isEmpty()) null else Encoded(photo)
        return Encoded(photo, mapOf("image" to frames.map { axis(it.bytes[0].toInt() and 0xFF) }.toTypedArray()), clip = look.clip)
    }

    private fun axis(n: Int) = FloatArray(16) { if (it == n % 16) 1f else 0f }

    private fun index(isStopped: () -> Boolean = { false }): Pair<Boolean, IndexReport> {
        var last = IndexReport(0, 0)
        val writer = if (path.exists()) AlbumWriter.extend(path, JdbcDatabase) else AlbumWriter.create(path, meta, JdbcDatabase)
        val isWhole = writer.use {
            IndexRun(Phone(), it, SkipList(File(folder, "skips")), MarkList(File(folder, "marks")), encode = ::encode).run(isStopped, { last = it }) { names -> names.map { axis(0) } }
        }
        return isWhole to last
    }

    private fun ids() = Album.open(path, JdbcDatabase).use { album -> (0 until album.size).map { album.photo(it).id } }
    private fun <T> album(read: (Album) -> T): T = Album.open(path, JdbcDatabase).use(read)
    private fun clip(id: String) = album { it.clip(id)?.run { listOf(start, end, length) + frames } }
    private fun problems() = Check.problems(path, JdbcDatabase)

    @Test
    fun `a short video is one item with its frames, a long one is cut where the picture changes`() {
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(listOf("p0", "v1", "v2#t=0,20", "v2#t=20,63"), ids())
        assertEquals(listOf(0, 2_500, 2_500, 416, 1_250, 2_083), clip("v1")!!.map { it.toInt() })
        assertEquals(3L + 15, clip("v2#t=20,63")!!.size.toLong())
        assertNull(clip("p0"))
        assertEquals(listOf(1_000_000L, 1_020_000L), album { album -> listOf("v2#t=0,20", "v2#t=20,63").map { album.photo(album.rowOf(it)).takenAt } })
        assertEquals(21.433, album { it.second(it.rowOf("v2#t=20,63"), it.clip("v2#t=20,63")!!, axis(120)) })
        assertEquals(emptyList(), problems())
        decoded = 0
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(0, decoded, "nothing is decoded twice")
    }

    @Test
    fun `a video that went, or was edited, goes with all its parts`() {
        index()
        videos.remove("v1")
        videos["v2@2"] = videos.remove("v2")!!
        assertEquals(IndexReport(2, 2, removed = 2), index().second)
        assertEquals(setOf("p0", "v2@2#t=0,20", "v2@2#t=20,63"), ids().toSet())
        assertNull(clip("v1"))
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `all parts of a favourite are marked`() {
        index()
        hearts = setOf("v2")
        index()
        assertEquals(setOf("v2#t=0,20", "v2#t=20,63"), AlbumWriter.extend(path, JdbcDatabase).use { it.favourites() })
        hearts = emptySet()
        index()
        assertEquals(emptySet(), AlbumWriter.extend(path, JdbcDatabase).use { it.favourites() })
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `one that is stopped within a video has nothing of it, and the next has all`() {
        for (most in listOf(1, 4, 30, 70, 85)) {
            decoded = 0
            assertEquals(false, index { decoded >= most }.first)
            assertTrue(ids().none { it.startsWith("v2") }, "after $most frames: ${ids()}")
        }
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(4, ids().size)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `what cannot be decoded is left out, and tried again`() {
        videos = linkedMapOf("v1" to Scenes(listOf(-1 to 9_000L)), "v2" to Scenes(listOf(50 to 20_000L, -1 to 3_000L, 200 to 40_000L)))
        assertEquals(true to IndexReport(2, 3, unread = 1), index())
        assertEquals(listOf("p0", "v2#t=0,23", "v2#t=23,63"), ids())
        videos["v1"] = Scenes(listOf(7 to 9_000L))
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(9 + 3, clip("v1")!!.size)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `a part that cannot be read now is waited for once, and then left out`() {
        val (first, second) = listOf(50 to 20_000L, -1 to 20_000L) to listOf(50 to 20_000L, 200 to 20_000L)
        videos = linkedMapOf("v2" to Scenes(second))
        index()
        val parts = ids()
        assertEquals(listOf("p0", "v2#t=0,20", "v2#t=20,40"), parts)
        File(path.path).delete()
        var rough = 0
        videos = linkedMapOf("v2" to object : Footage by Scenes(second) {
            override fun frame(at: Long, side: Int, isRough: Boolean) = if (isRough) Scenes(second).frame(at, side, true).also { rough++ } else Scenes(first).frame(at, side)
        })
        assertEquals(true to IndexReport(1, 2, unread = 1), index())
        assertEquals(listOf("p0"), ids())
        assertEquals(true to IndexReport(2, 2), index())
        assertEquals(listOf("p0", "v2#t=0,20"), ids())
        assertEquals(80, rough)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `heat that comes and goes leaves no half of a video`() {
        for (at in listOf(5, 40, 70, 80)) {
            decoded = 0
            val stops = { decoded == at }
            index(stops)
            assertTrue(ids().none { it.startsWith("v2") }, "after $at frames: ${ids()}")
        }
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(4, ids().size)
    }

    @Test
    fun `a part without a picture is read again, though others have one`() {
        index()
        JdbcDatabase.writer(path).use { it.execute("DELETE FROM vectors WHERE photo=3") }
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(15, album { it.vectorCounts() }.getValue("image") - 1 - 3 - 15)
    }

    @Test
    fun `a video of which a computer removed all parts for good stays away, one of which it removed a part keeps the others`() {
        index()
        AlbumWriter.extend(path, JdbcDatabase).use { it.remove(listOf("v2#t=0,20")) }
        fun note(ids: String) = JdbcDatabase.writer(path).use { it.execute("INSERT OR REPLACE INTO meta VALUES('removed', '$ids')") }
        note("[\"v2#t=0,20\"]")
        assertEquals(IndexReport(3, 3), index().second)
        assertEquals(listOf("p0", "v1", "v2#t=20,63"), ids().sorted())
        AlbumWriter.extend(path, JdbcDatabase).use { it.remove(listOf("v2#t=20,63")) }
        note("[\"v2#t=0,20\", \"v2#t=20,63\"]")
        assertEquals(IndexReport(2, 2), index().second)
        assertEquals(listOf("p0", "v1"), ids().sorted())
    }

    @Test
    fun `another model encodes the parts that there are`() {
        index()
        videos["v2"] = Scenes(listOf(50 to 63_000L)) // would not be cut now
        val renewal = Renewal(Phone(), path, JdbcDatabase, SkipList(File(folder, "skips")), ::encode)
        assertTrue(renewal.run(AlbumMeta("t2", "i2", 16, 0.5), { false }, {}) { names -> names.map { axis(0) } })
        assertEquals(listOf("p0", "v1", "v2#t=0,20", "v2#t=20,63"), ids())
        assertEquals(3 + 15, clip("v2#t=20,63")!!.size)
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `a renewal that could not read a video leaves its parts to the next run`() {
        index()
        val kept = videos.remove("v2")!!
        videos["v2"] = Scenes(listOf(-1 to 63_000L))
        Renewal(Phone(), path, JdbcDatabase, SkipList(File(folder, "skips"))) { photo, look -> encode(photo, look) ?: Encoded(photo) }
            .run(AlbumMeta("t2", "i2", 16, 0.5), { false }, {}) { names -> names.map { axis(0) } }
        videos["v2"] = kept
        assertEquals(true to IndexReport(3, 3), index())
        assertEquals(listOf("p0", "v1", "v2#t=0,20", "v2#t=20,63"), ids())
        assertEquals(3 + 15, clip("v2#t=0,20")!!.size)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `retelling keeps a video's frames`() {
        index()
        AlbumWriter.extend(path, JdbcDatabase).use { it.retell(listOf(Encoded(Photo("v1", memories = listOf(Memory("people", "Anna"))))), emptyMap()) }
        assertEquals(6, clip("v1")!!.size)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `a frame keeps its shape, and is never larger than it is`() {
        assertEquals(569 to 320, Sampling.framed(1_920, 1_080, 320))
        assertEquals(320 to 569, Sampling.framed(1_080, 1_920, 320))
        assertEquals(200 to 100, Sampling.framed(200, 100, 320))
        assertEquals(1_280 to 13, Sampling.framed(10_000, 100, 320))
        assertEquals(1L, ClipFrames.middle(Scenes(listOf(1 to 3L)), null))
        assertEquals(7_000L, ClipFrames.middle(Scenes(listOf(1 to 30_000L)), ClipPart(4_000, 10_000)))
    }

    @Test
    fun `a video's header says where it was taken`() {
        assertEquals(Position(48.8577, 2.295), Position.iso6709("+48.8577+002.2950+035.1/"))
        assertEquals(Position(-33.5, -70.25), Position.iso6709("-33.5-070.25/"))
        for (none in listOf("", "+00.0000+000.0000/", "+95.0+002.0/", "48.8,2.3", "+4+2/")) assertNull(Position.iso6709(none), none)
    }
}
