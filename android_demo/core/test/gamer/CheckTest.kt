package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.album.DatabaseOpener
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.jvm.JdbcDatabase
import java.io.File
import java.nio.file.Files
import java.util.Random
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertTrue

/** Checks and repairs that the fixtures of other languages do not have: without FTS5, with many entities, of files that are none. */
class CheckTest {
    private val folder: File = Files.createTempDirectory("check").toFile()
    private val path = File(folder, "a.gamer")

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    private fun vector(name: String): FloatArray = Random(name.hashCode().toLong()).let { r -> FloatArray(16) { r.nextGaussian().toFloat() } }.let { v ->
        val norm = Math.sqrt(v.sumOf { (it * it).toDouble() }).toFloat()
        FloatArray(v.size) { v[it] / norm }
    }

    private fun made(photos: Int, names: Int, opener: DatabaseOpener) = AlbumWriter.create(path, AlbumMeta("t", "i", 16, 0.5), opener).use { writer ->
        writer.add((0 until photos).map { n ->
            val mentions = (0 until names).map { Mention("thing ${n * names + it}", "thing") }
            Encoded(Photo("p$n", "/p/$n.jpg", memories = listOf(Memory("note", "a cake with Lena, number $n"))), mentions = mentions)
        })
        writer.finish { found -> found.map { vector(it) } }
    }

    private fun changed(sql: String) = JdbcDatabase.writer(path).use { it.execute(sql) }

    private fun repaired(opener: DatabaseOpener) = AlbumWriter.extend(path, opener).use { it.repair() }

    @Test
    fun `without FTS5 words that are not those of a memory are found and made anew`() {
        val phone = Driver.withoutFts5
        made(40, 1, phone)
        assertEquals(emptyList(), Check.problems(path, phone))
        changed("UPDATE memories SET text = 'a pie' WHERE id = 8")
        changed("UPDATE photos SET crc = NULL") // its checksum would be found too
        val found = Check.problems(path, phone)
        assertTrue("segment words: not the words of the photo in row 7" in found, found.joinToString("\n"))
        assertEquals(listOf("index of words built again"), repaired(phone))
        assertTrue(Check.problems(path, phone).none { "words" in it })
        Album.open(path, phone).use { assertContentEquals(intArrayOf(7), it.searchText("pie", 5).rows) }
    }

    @Test
    fun `words of photos that have no memories are found`() {
        val phone = Driver.withoutFts5
        made(40, 1, phone)
        changed("DELETE FROM memories WHERE id = 40")
        assertTrue("segment words: words of photos that have no memories" in Check.problems(path, phone))
    }

    @Test
    fun `a file that cannot be read is a problem in one line`() {
        made(40, 1, JdbcDatabase)
        path.writeBytes(path.readBytes().copyOf(5_000))
        assertEquals(1, Check.problems(path, JdbcDatabase).size)
        path.writeText("no album")
        assertTrue(Check.problems(path, JdbcDatabase).single().startsWith("$path: cannot be read through ("))
        assertTrue("no such album" in Check.problems(File(folder, "b.gamer"), JdbcDatabase).single())
    }

    @Test
    fun `many entities are found by their graph as by a scan`() {
        made(440, 25, JdbcDatabase)
        val rows = IntArray(440) { it }
        fun names() = Album.open(path, JdbcDatabase).use { album ->
            (0 until 40).map { n -> album.matchEntities(vector("thing ${n * 271}"), rows, 0.9).map { it.name to it.photos.toList() } }
        }
        assertEquals(1L, JdbcDatabase.reader(path).use { it.query("SELECT count(*) FROM segments WHERE name='entities'")[0][0] })
        val walked = names()
        AlbumWriter.extend(path, JdbcDatabase).use { writer -> // entities that the graph does not know yet
            writer.add(listOf(Encoded(Photo("late"), mentions = listOf(Mention("thing of late", "thing")))))
            writer.embed { found -> found.map { vector(it) } }
        }
        Album.open(path, JdbcDatabase).use { assertEquals("thing of late", it.matchEntities(vector("thing of late"), intArrayOf(440), 0.9).single().name) }
        changed("DELETE FROM segments WHERE name='entities'")
        val scanned = names()
        assertTrue(walked.indices.count { walked[it] == scanned[it] } >= 39, "$walked\n$scanned")
        assertTrue(walked.withIndex().all { (n, found) -> found.any { it.first == "thing ${n * 271}" } })
        assertTrue("segments built again" in repaired(JdbcDatabase) || repaired(JdbcDatabase).isEmpty())
        assertEquals(emptyList(), Check.problems(path, JdbcDatabase))
    }
}
