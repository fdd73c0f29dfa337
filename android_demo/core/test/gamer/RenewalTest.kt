package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWatch
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.album.DatabaseError
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.common.AlbumError
import gamer.image.Pixels
import gamer.indexing.IndexReport
import gamer.indexing.IndexRun
import gamer.indexing.Look
import gamer.indexing.MarkList
import gamer.indexing.PhotoSource
import gamer.indexing.Renewal
import gamer.indexing.SkipList
import gamer.jvm.JdbcDatabase
import java.io.File
import java.nio.file.Files
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertNotEquals
import kotlin.test.assertTrue

/** An album of one model becomes that of another, whatever ends the run. */
class RenewalTest {
    private val folder: File = Files.createTempDirectory("renewal").toFile()
    private val path = File(folder, "a.gamer")
    private val old = AlbumMeta("t", "i", 4, 0.5)
    private val new = AlbumMeta("t2", "i2", 6, 0.4)
    private var encodings = 0
    private var here = (0 until 50 step 2).toList()
    private var unreadable = -1

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    private fun axis(n: Int, dim: Int) = FloatArray(dim).also { it[n % dim] = 1f }

    private fun photo(n: Int) = Photo("k$n", "/p/$n.jpg", 1_600_000_000_000 + n, memories = listOf(Memory("note", "cake number $n")))

    private fun made(count: Int) = AlbumWriter.create(path, old, JdbcDatabase).use { writer ->
        writer.add((0 until count).map { Encoded(photo(it), mapOf("text" to arrayOf(axis(it, 4)), "image" to arrayOf(axis(it, 4))), listOf(Mention("cake $it", "thing"))) })
        writer.finish { names -> names.map { axis(it.length, 4) } }
    }

    /** The phone has photos with even numbers. */
    private inner class Phone : PhotoSource<Int> {
        override fun list() = here
        override fun key(shot: Int) = "k$shot"
        override fun name(shot: Int) = "IMG_$shot"
        override fun photo(shot: Int): Photo = this@RenewalTest.photo(shot)
        override fun picture(shot: Int) = Pixels(1, 1, byteArrayOf(shot.toByte(), 0, 0))
        override fun owns(id: String) = true
    }

    private fun encode(photo: Photo, look: Look?): Encoded? {
        encodings++
        val n = photo.id.drop(1).toInt()
        if (n == unreadable) return Encoded(photo.copy(memories = emptyList()), emptyMap())
        val image = if (look == null) emptyMap() else mapOf("image" to arrayOf(axis(n, 6)))
        return Encoded(photo.copy(memories = emptyList()), mapOf("text" to arrayOf(axis(n + 1, 6))) + image)
    }

    private fun renewed(isStopped: () -> Boolean = { false }): Pair<Boolean, IndexReport> {
        var last = IndexReport(0, 0)
        val skips = SkipList(File(folder, "skips"))
        val done = Renewal(Phone(), path, JdbcDatabase, skips, ::encode).run(new, isStopped, { last = it }) { names -> names.map { axis(it.length, 6) } }
        return done to last
    }

    @Test
    fun `a look that fails is tried once more`() {
        made(3)
        var failures = 1
        val opener = Driver { _, sql -> if (sql.startsWith("SAVEPOINT") && failures-- > 0) throw DatabaseError("[SQLITE_IOERR_DELETE_NOENT] disk I/O error") else false }
        fun look() = Album.open(path, opener).use { it.size }
        assertEquals(3, look())
        failures = 2
        assertTrue("damaged or unreadable ([SQLITE_IOERR_DELETE_NOENT]" in assertFailsWith<AlbumError> { look() }.message!!)
    }

    @Test
    fun `a photo that got no vector is encoded by the indexing`() {
        made(10)
        unreadable = 4
        assertTrue(renewed().first)
        fun bare() = AlbumWriter.extend(path, JdbcDatabase).use { it.withoutVectors() }
        assertEquals(listOf("k4"), bare())
        fun indexed() = AlbumWriter.extend(path, JdbcDatabase).use { writer ->
            IndexRun(Phone(), writer, SkipList(File(folder, "skips")), MarkList(File(folder, "marks")), encode = ::encode).run({ false }, {}) { names -> names.map { axis(it.length, 6) } }
        }
        here = (0 until 10).toList()
        unreadable = -1
        indexed()
        assertEquals(emptyList(), bare())
        assertEquals((0 until 10).map { "k$it" }, AlbumWriter.extend(path, JdbcDatabase).use { it.known() })
        assertEquals(emptyList(), Check.problems(path, JdbcDatabase))
    }

    @Test
    fun `nothing is encoded again while no photo can be seen`() {
        made(10)
        here = emptyList()
        assertTrue("allow the photos" in assertFailsWith<AlbumError> { renewed() }.message!!)
        assertEquals(old, Album.open(path, JdbcDatabase).use { it.meta })
    }

    @Test
    fun `vectors are another model's and all else stays`() {
        made(50)
        val before = Album.open(path, JdbcDatabase).use { album -> (0 until 50).map { album.photo(it) } }
        val watch = AlbumWatch(path, JdbcDatabase)
        val version = watch.version()
        Album.open(path, JdbcDatabase).use { reader ->
            assertEquals(true to 50, renewed().let { it.first to it.second.done })
            assertEquals("t", reader.meta.textEncoder) // a reader keeps what it opened
            assertEquals(1f, reader.scores("text", axis(3, 4), intArrayOf(3))[0], 1e-3f)
        }
        assertNotEquals(version, watch.version())
        watch.close()
        assertEquals(emptyList(), Check.problems(path, JdbcDatabase))
        Album.open(path, JdbcDatabase).use { album ->
            assertEquals(new, album.meta)
            assertEquals(before, (0 until 50).map { album.photo(it) })
            assertEquals(1f, album.scores("text", axis(4, 6), intArrayOf(3))[0], 1e-3f)
            assertEquals(listOf(true, false), listOf(2, 3).map { album.scores("image", axis(2, 6), intArrayOf(it))[0].isFinite() })
            assertEquals(3, album.searchText("cake number", 3).rows.size)
            assertEquals("cake 12", album.matchEntities(axis(7, 6), intArrayOf(12), 0.9).single().name)
        }
        assertTrue(folder.list()!!.none { "renewing" in it }, folder.list()!!.joinToString())
    }

    @Test
    fun `a run that is stopped goes on, and begins anew when the album has changed`() {
        made(50)
        assertFalse(renewed { encodings == 32 }.first)
        assertEquals(32, encodings)
        assertEquals("t", Album.open(path, JdbcDatabase).use { it.meta.textEncoder })
        assertEquals(emptyList(), Check.problems(path, JdbcDatabase))
        assertFalse(renewed { true }.first)
        AlbumWriter.extend(path, JdbcDatabase).use { it.remove(listOf("k49")) }
        encodings = 0
        assertTrue(renewed().first)
        assertEquals(49, encodings)
        Album.open(path, JdbcDatabase).use { assertEquals(49 to new, it.size to it.meta) }
    }

    @Test
    fun `what was encoded is not encoded again`() {
        made(50)
        assertFalse(renewed { encodings == 32 }.first)
        assertTrue(renewed().first)
        assertEquals(50, encodings)
        assertEquals(emptyList(), Check.problems(path, JdbcDatabase))
    }

    @Test
    fun `a reader of an older state is waited for`() {
        made(20)
        Album.open(path, JdbcDatabase).use {
            AlbumWriter.extend(path, JdbcDatabase).use { writer -> writer.remove(listOf("k3")) }
            assertTrue("reads an older state" in assertFailsWith<AlbumError> { renewed() }.message!!)
        }
        assertTrue(renewed().first)
        assertEquals(emptyList(), Check.problems(path, JdbcDatabase))
    }
}
