package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.common.AlbumError
import gamer.common.RuntimeFailure
import gamer.image.Pixels
import gamer.indexing.IndexReport
import gamer.indexing.IndexRun
import gamer.indexing.MarkList
import gamer.indexing.Naming
import gamer.indexing.PeopleSearch
import gamer.indexing.PhotoSource
import gamer.indexing.SkipList
import gamer.jvm.JdbcDatabase
import gamer.people.Face
import gamer.people.FaceBox
import gamer.people.People
import java.io.File
import java.nio.file.Files
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue

/** People: searched for while a gallery is indexed, named, made one, forgotten. */
class PeopleTest {
    private val folder: File = Files.createTempDirectory("people").toFile()
    private val path = File(folder, "a.gamer")

    /** Photo → who it shows; a photo's picture has its number in each byte. */
    private val shown = linkedMapOf("p0" to "A", "p1" to "AB", "p2" to "", "p3" to "B", "p4" to "BC", "p5" to "A")
    private var searched = ArrayList<String>()

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    private inner class Phone : PhotoSource<String> {
        override fun list() = shown.keys.toList()
        override fun key(shot: String) = shot
        override fun asset(key: String) = key.substringBefore('@')
        override fun name(shot: String) = shot
        override fun owns(id: String) = true
        override fun picture(shot: String) = Pixels(1, 1, ByteArray(3) { shot.drop(1).substringBefore('@').toByte() })
        override fun photo(shot: String) = Photo(shot, "content:$shot", memories = listOf(Memory("caption", "picture $shot")))
    }

    private fun find(pixels: Pixels): List<Face> = "p${pixels.bytes[0]}".let { id -> shown.keys.firstOrNull { it.startsWith("$id@") } ?: id }.let { id ->
        if (id == "p127") return if ("!" in shown["p127"].orEmpty()) throw RuntimeFailure("broken") else emptyList() // a grey picture
        searched += id
        if ('!' in shown.getValue(id)) throw RuntimeFailure("broken")
        shown.getValue(id).map { who -> Face(FaceBox(0.25, 0.25, 0.5, 0.5), 1.0, FloatArray(128) { if (it == who - 'A') 0.5f else 0.001f * (id[1] - '0') }) }
    }

    private fun encode(photo: Photo) = Encoded(
        photo, if (photo.memories.isEmpty()) emptyMap() else mapOf("text" to Array(photo.memories.size) { n -> axis(photo.memories[n].text.length) }),
        photo.memories.filter { it.source == "people" }.map { Mention(it.text, "person") },
    )

    private fun axis(n: Int) = FloatArray(16) { if (it == n % 16) 1f else 0f }
    private val naming = Naming(::encode) { names -> names.map { axis(it.length) } }

    private fun index(isStopped: () -> Boolean = { false }, encoder: String = "faces 1"): List<Int> {
        val left = ArrayList<Int>()
        searched = ArrayList()
        val skips = SkipList(File(folder, "skips"))
        val people = PeopleSearch<String>(encoder, ::find, naming, skips) { shot, _ -> Phone().picture(shot) }
        val writer = if (path.exists()) AlbumWriter.extend(path, JdbcDatabase) else AlbumWriter.create(path, AlbumMeta("t", "i", 16, 0.5), JdbcDatabase)
        writer.use { open ->
            val run = IndexRun(Phone(), open, skips, MarkList(File(folder, "marks")), people) { photo, _ -> encode(photo) }
            run.run(isStopped, { report: IndexReport -> left += report.unsearched }) { names -> names.map { axis(it.length) } }
        }
        return left
    }

    private fun change(change: Naming.(AlbumWriter) -> Unit) = AlbumWriter.extend(path, JdbcDatabase).use { naming.change(it) }
    private fun people(): People = Album.open(path, JdbcDatabase).use { it.people()!! }
    private fun of(who: String) = people().people.first { it.photos.first() == who }.row
    private fun found(word: String): List<String> = Album.open(path, JdbcDatabase).use { album -> album.searchText(word, 9).rows.map { album.photo(it).id }.sorted() }
    private fun problems() = Check.problems(path, JdbcDatabase)

    @Test
    fun `the faces of a gallery become people, once`() {
        val left = index()
        assertEquals(listOf(6, 0), left.filter { it > 0 } + left.last())
        assertEquals(listOf("p0 p1 p5", "p1 p3 p4", "p4"), people().people.map { it.photos.joinToString(" ") }.sorted())
        index()
        assertEquals(emptyList(), searched)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `a name is found by searches, and new photos of the person get it`() {
        index()
        change { name(it, of("p0"), " Pilar  Ortega ") }
        assertEquals(listOf("p0", "p1", "p5"), found("ortega"))
        assertEquals(listOf("p0"), found("picture p0").take(1))
        shown["p6"] = "AC"
        index()
        assertEquals(listOf("p6"), searched)
        assertEquals(listOf("p0", "p1", "p5", "p6"), found("pilar"))
        change { name(it, of("p0"), "Berta") }
        assertEquals(listOf<String>() to listOf("p0", "p1", "p5", "p6"), found("ortega") to found("berta"))
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `two people of one name are made one`() {
        index()
        change { name(it, of("p0"), "Anna") }
        val other = people().people.first { it.name == null && it.photos.size == 3 }.row
        assertFailsWith<AlbumError> { change { name(it, other, "anna") } }
        change { merge(it, of("p0"), other) }
        assertEquals(listOf("p0", "p1", "p3", "p4", "p5"), found("anna"))
        assertEquals(2, people().people.size)
    }

    @Test
    fun `who is forgotten leaves no byte, and is not searched again`() {
        index()
        change { name(it, of("p0"), "Wilhelmina") }
        change { name(it, people().people.first { it.name == null && it.photos.size == 3 }.row, "Berta") }
        val vector = people().people.first { it.name == "Wilhelmina" }.faces[0].row
        change { forget(it, of("p0")) }
        assertFalse("Wilhelmina" in path.readText(Charsets.ISO_8859_1) || "wilhelmina" in path.readText(Charsets.ISO_8859_1))
        assertEquals(listOf("p1", "p3", "p4"), found("berta"))
        assertTrue(people().faces.none { it.row == vector })
        assertEquals(setOf("p0", "p1", "p5"), people().closed)
        index()
        assertEquals(emptyList(), searched)
        assertEquals(emptyList(), problems())
        assertEquals(listOf("berta"), Album.open(path, JdbcDatabase).use { it.entityNames(9) }.map { it.lowercase() })
    }

    @Test
    fun `earlier names go, too, and what a killed program left is erased by the next`() {
        index()
        change { name(it, of("p0"), "Wilhelmina") }
        change { name(it, of("p0"), "Berta") }
        AlbumWriter.extend(path, JdbcDatabase).use { it.add(listOf(encode(Photo("chat", memories = listOf(Memory("people", "Cleo")))))) }
        change { forget(it, of("p0")) }
        assertFalse("ilhelmina" in path.readText(Charsets.ISO_8859_1))
        assertEquals(listOf("Cleo"), Album.open(path, JdbcDatabase).use { it.entityNames(9) })
        JdbcDatabase.writer(path).use { it.execute("INSERT INTO meta VALUES('erasing', '')") }
        index()
        assertEquals(emptyList(), JdbcDatabase.reader(path).use { db -> db.query("SELECT * FROM meta WHERE key='erasing'").toList() })
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `in an edited photo nobody is searched who was forgotten in it, and others are`() {
        index()
        change { forget(it, of("p0")) }
        for ((old, new) in listOf("p1" to "p1@2", "p3" to "p3@2")) shown[new] = shown.remove(old)!!
        index()
        assertEquals(listOf("p3@2"), searched)
        assertEquals(setOf("p0", "p1@2", "p5"), people().closed)
        for (n in 6..30) shown["p$n"] = ""
        shown["p5@2"] = shown.remove("p5")!!
        var asked = 0
        index({ asked++ > 0 }) // it is stopped after its first batch
        index()
        assertEquals(setOf("p0", "p1@2", "p5@2"), people().closed)
        assertFalse("p5@2" in searched)
        assertFalse("p5" in AlbumWriter.extend(path, JdbcDatabase).use { it.known() })
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `nobody can be forgotten where nobody was found or named`() {
        AlbumWriter.create(path, AlbumMeta("t", "i", 16, 0.5), JdbcDatabase).close()
        change { forgetAll(it) }
        index()
        change { forgetAll(it) }
        assertEquals(null, Album.open(path, JdbcDatabase).use { it.people() })
    }

    @Test
    fun `networks that fail at every picture leave no photo out`() {
        shown["p127"] = "!" // the grey picture
        shown.keys.toList().forEach { shown[it] = "!" }
        repeat(3) { assertFailsWith<RuntimeFailure> { index() } }
        shown["p127"] = ""
        for (id in shown.keys.toList()) shown[id] = if (id == "p127") "" else "A"
        index()
        assertEquals(7, people().lookedAt.size)
    }

    @Test
    fun `all can be forgotten, and found again`() {
        index()
        change { name(it, of("p0"), "Wilhelmina") }
        change { forgetAll(it) }
        assertEquals(null, Album.open(path, JdbcDatabase).use { it.people() })
        assertFalse("ilhelmina" in path.readText(Charsets.ISO_8859_1))
        assertContentEquals(emptyList(), found("wilhelmina"))
        index(encoder = "faces 2")
        assertEquals(3, people().people.size)
        assertEquals(emptyList(), problems())
    }

    @Test
    fun `a run that is stopped goes on, and a photo that fails twice is left out`() {
        for (n in 6..40) shown["p$n"] = "A"
        shown["p9"] = "!"
        var batches = 0
        val stop = { people().lookedAt.isNotEmpty() && batches++ > 0 }
        runCatching { index() } // makes the album
        path.delete()
        AlbumWriter.create(path, AlbumMeta("t", "i", 16, 0.5), JdbcDatabase).use { writer -> writer.add(shown.keys.map { encode(Phone().photo(it)) }) }
        AlbumWriter.extend(path, JdbcDatabase).use { it.people { begin("faces 1") } }
        File(folder, "skips").delete()
        index(stop)
        val first = searched.size
        assertTrue(first in 16..38, "$first")
        index()
        assertTrue("p9" in searched && searched.size <= 41 - first + 2, "${searched.size} after $first")
        index()
        assertEquals(emptyList(), searched, "p9 failed twice")
        assertEquals(41 - 1, people().lookedAt.size)
    }

    @Test
    fun `faces of another encoder are not mixed`() {
        index()
        assertFailsWith<AlbumError> { index(encoder = "faces 2") }
    }
}
