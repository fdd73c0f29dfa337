package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Encoded
import gamer.album.Leaves
import gamer.album.Links
import gamer.album.Memory
import gamer.album.Photo
import gamer.indexing.Entities
import gamer.jvm.JdbcDatabase
import java.io.File
import java.nio.file.Files
import java.util.Random
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals

/** Layer 2: what a photo hangs on, what is reached from there, and what a missing edge changes. */
class EntityGraphTest {
    private val folder: File = Files.createTempDirectory("graph").toFile()
    private val path = File(folder, "a.gamer")

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    private fun vector(name: String): FloatArray = Random(name.hashCode().toLong()).let { r -> FloatArray(64) { r.nextGaussian().toFloat() } }.let { v ->
        val norm = Math.sqrt(v.sumOf { (it * it).toDouble() }).toFloat()
        FloatArray(v.size) { v[it] / norm }
    }

    private fun made() = AlbumWriter.create(path, AlbumMeta("t", "i", 64, 0.5), JdbcDatabase).use { writer ->
        writer.add(TEXTS.map { (id, text) -> Encoded(Photo(id, memories = listOf(Memory("note", text))), mentions = Entities.extract(text)) })
        writer.finish { names -> names.map { vector(it) } }
    }

    /** The photos that name the entity, and those that only reach it; null if it does not match. */
    private fun matched(name: String, depth: Int = 3): Pair<List<String>, List<String>>? = Album.open(path, JdbcDatabase).use { album ->
        val rows = IntArray(album.size) { it }
        album.matchEntities(vector(name), rows, 0.95, depth = depth).singleOrNull()?.let { match ->
            match.photos.map { album.photo(it).id } to match.reached.map { album.photo(it).id }
        }
    }

    @Test
    fun `what lies above a node is within the depth`() {
        // 0 → 1 → 2 → 3, 4 → 2, and 3 → 0 closes a circle.
        val edges = listOf(0 to 1, 1 to 2, 2 to 3, 4 to 2, 3 to 0)
        val parents = Links.of(edges.map { it.second }.toIntArray(), edges.map { it.first }.toIntArray(), 5)
        assertContentEquals(intArrayOf(2), Links.above(2, parents, 0))
        assertContentEquals(intArrayOf(1, 2, 4), Links.above(2, parents, 1))
        assertContentEquals(intArrayOf(0, 1, 2, 4), Links.above(2, parents, 2))
        assertContentEquals(intArrayOf(0, 1, 2, 3, 4), Links.above(2, parents, 9))
    }

    @Test
    fun `a photo hangs on what describes nothing else`() {
        fun leaves(alone: Set<Long>, vararg children: Pair<Long, Set<Long>>) = Leaves.of(alone, children.toMap())
        assertEquals(mapOf(1L to Leaves.ALONE, 2L to Leaves.ALONE), leaves(setOf(1, 2)))
        assertEquals(mapOf(1L to Leaves.PARENT, 2L to Leaves.CHILD, 3L to Leaves.CHILD), leaves(setOf(1), 1L to setOf(2, 3)))
        // Coffee → Blue Bottle → Kyoto.
        assertEquals(mapOf(1L to Leaves.PARENT, 2L to Leaves.CHILD, 3L to Leaves.CHILD), leaves(setOf(1), 1L to setOf(2), 2L to setOf(3)))
        // One memory is about 2 itself.
        assertEquals(mapOf(1L to Leaves.PARENT, 2L to Leaves.ALONE), leaves(setOf(1, 2), 1L to setOf(2)))
        // A circle is reached from nowhere.
        assertEquals(mapOf(1L to Leaves.PARENT, 2L to Leaves.PARENT), leaves(emptySet(), 1L to setOf(2), 2L to setOf(1)))
    }

    @Test
    fun `what another memory says of a thing reaches all its photos`() {
        made()
        assertEquals(listOf("chair") to emptyList(), matched("IKEA"))
        assertEquals(listOf("ramen") to listOf("again"), matched("Shibuya"))
        // Bella → dog → Anna, and there is a second photo of Bella.
        assertEquals(listOf("dog") to listOf("beach"), matched("Anna"))
        assertEquals(null, matched("Anna", depth = 1))
    }

    @Test
    fun `a deleted edge changes an answer`() {
        made()
        delete("lunch", "ichiran")
        assertEquals(listOf("ramen") to emptyList(), matched("Shibuya"))
        delete("chair", "ikea")
        assertEquals(null, matched("IKEA"))
    }

    private fun delete(parent: String, child: String) = JdbcDatabase.writer(path).use { db ->
        val row = "SELECT row FROM entities WHERE canonical=?"
        db.execute("DELETE FROM edges WHERE parent=($row) AND child=($row)", parent, child)
        assertEquals(1L, db.query("SELECT changes()")[0][0])
    }

    private companion object {
        val TEXTS = mapOf(
            "chair" to "The chair at IKEA costs $119",
            "dog" to "Bella is Anna's dog",
            "beach" to "Bella at the beach",
            "ramen" to "Ramen at Ichiran in Shibuya",
            "again" to "Lunch at Ichiran",
        )
    }
}
