package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Box
import gamer.album.Clip
import gamer.album.Crc
import gamer.album.Cube
import gamer.album.Encoded
import gamer.album.Hnsw
import gamer.album.KdTree
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.album.Query
import gamer.album.Rows
import gamer.album.VectorSet
import gamer.common.AlbumError
import gamer.jvm.JdbcDatabase
import java.io.File
import java.nio.file.Files
import java.util.Random
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue

class AlbumTest {
    @Test
    fun `rough scores are near, and whatever reaches the least may reach it`() {
        val made = List(200) { VectorSet.quantize(vector(it)) }
        val codes = ByteArray(200 * 16) { made[it / 16].codes[it % 16] }
        val set = VectorSet(16, codes, FloatArray(200) { made[it].scale }, IntArray(200) { it }, null)
        val query = Query(vector(999))
        val rows = IntArray(200) { it }
        val exact = set.scores(query, rows, isRough = false)
        val rough = set.scores(query, rows, isRough = true)
        for (at in rows) {
            assertEquals(set.dot(query, at), exact[at])
            assertEquals(exact[at], rough[at], 0.01f)
            for (least in floatArrayOf(-0.2f, 0.1f, 0.3f, exact[at])) if (exact[at] >= least) assertTrue(set.mayReach(query, at, least))
        }
        assertTrue(rows.any { !set.mayReach(query, it, 0.3f) })
    }

    @Test
    fun `the best are the first of the sorted`() {
        val random = Random(3)
        for (size in listOf(0, 1, 7, 300)) {
            val values = FloatArray(size) { listOf(0f, -0f, Float.NEGATIVE_INFINITY, random.nextInt(9) - 4f, random.nextFloat())[random.nextInt(5)] }
            val sorted = values.indices.sortedWith { a, b -> (values[b] + 0f).compareTo(values[a] + 0f) }
            for (k in listOf(0, 1, 5, 60, 1000)) {
                assertEquals(sorted.take(k), Rows.best(values, k).toList())
                assertEquals(sorted.take(k).filter { values[it] > Float.NEGATIVE_INFINITY }, Rows.top(values, k).toList())
            }
        }
    }

    private val folder: File = Files.createTempDirectory("album").toFile()
    private val path = File(folder, "a.gamer")

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    private fun vector(seed: Int): FloatArray = Random(seed.toLong()).let { r -> FloatArray(16) { r.nextGaussian().toFloat() } }.let { v ->
        val norm = Math.sqrt(v.sumOf { (it * it).toDouble() }).toFloat()
        FloatArray(v.size) { v[it] / norm }
    }

    private fun photo(n: Int) = Encoded(
        Photo("p$n", "/p/$n.jpg", 1_600_000_000_000 + n * 86_400_000L, lat = 48.0 + n, lon = 11.0, memories = listOf(Memory("chat", "the cake number $n, with Lena"))),
        mapOf("text" to arrayOf(vector(n)), "image" to arrayOf(vector(100 + n))), listOf(Mention("Lena", "person"), Mention("cake", "thing")),
    )

    private fun made(count: Int) = AlbumWriter.create(path, AlbumMeta("t", "i", 16, 0.5), JdbcDatabase).use { writer ->
        writer.add((0 until count).map { photo(it) })
        writer.finish { names -> names.map { vector(it.hashCode()) } }
    }

    @Test
    fun `what was written is read again`() {
        made(70)
        Album.open(path, JdbcDatabase).use { album ->
            assertEquals(70, album.size)
            assertEquals("the cake number 5, with Lena", album.photo(5).memories.single().text)
            assertEquals(listOf("text", "image").sorted(), album.channels())
            assertEquals(7, album.searchVectors("image", vector(107), 1).rows.single())
            val found = album.inCubes(listOf(Cube(start = 1_600_000_000_000 + 3 * 86_400_000L, end = 1_600_000_000_000 + 5 * 86_400_000L)))
            assertContentEquals(intArrayOf(3, 4, 5), found.inside)
            assertContentEquals(intArrayOf(42), album.searchText("42", 5).rows)
        }
        assertTrue(!File(path.path + "-wal").exists() && !File(path.path + ".lock").exists())
    }

    private fun set(codes: List<ByteArray>) =
        VectorSet(8, codes.fold(ByteArray(0)) { all, one -> all + one }, FloatArray(codes.size) { 1f }, IntArray(codes.size) { it }, null)

    @Test
    fun `a graph finds what a scan finds, however few or equal its vectors are`() {
        val random = Random(5)
        val codes = List(1200) { ByteArray(8) { (random.nextGaussian() * 40).toInt().coerceIn(-127, 127).toByte() } }
        for (vectors in listOf(emptyList(), codes.take(1), codes.take(2), codes.take(17), List(300) { codes[0] }, List(40) { ByteArray(8) }, codes).map { set(it) }) {
            val blob = Hnsw.build(vectors, vectors.size)!!
            assertContentEquals(blob, Hnsw.build(vectors, vectors.size)!!)
            val graph = Hnsw.load(blob, vectors, IntArray(0))
            var found = 0
            for (n in 0 until 50) {
                val query = Query(FloatArray(8) { random.nextGaussian().toFloat() })
                val near = graph.candidates(query, 60)
                assertEquals(minOf(60, vectors.size), near.size)
                val cosines = vectors.owners.map { cosine(query.first, vectors.codes, it) }
                if (vectors.size > 0 && cosines[near[0]] >= cosines.max() - 1e-6) found++
            }
            assertTrue(vectors.size == 0 || found >= 49, "$found of 50 of ${vectors.size}")
        }
        assertEquals(null, Hnsw.build(set(codes), codes.size) { true })
    }

    private fun cosine(query: ByteArray, codes: ByteArray, at: Int): Double {
        val own = codes.copyOfRange(8 * at, 8 * at + 8)
        val norm = Math.sqrt(own.sumOf { it * it }.toDouble())
        return if (norm == 0.0) 0.0 else own.indices.sumOf { own[it] * query[it] } / norm
    }

    @Test
    fun `a clip says where in it a query is met`() {
        made(3)
        Album.open(path, JdbcDatabase).use { assertEquals(null, it.clip("p0")) }
        val values = arrayOf<Any?>("p1", 2_000L, 6_000L, 9_000L, "4500")
        JdbcDatabase.writer(path).use { db ->
            db.execute("CREATE TABLE clips(photo TEXT PRIMARY KEY, starts INTEGER, ends INTEGER, length INTEGER, frames TEXT, crc INTEGER) WITHOUT ROWID")
            db.execute("INSERT INTO clips VALUES(?,?,?,?,?,?)", *values, Crc.of(*values))
        }
        Album.open(path, JdbcDatabase).use { album ->
            val clip = album.clip("p1")!!
            assertEquals(4.5, album.second(1, clip, vector(101)))
            assertEquals(2.0, album.second(1, Clip(2_000, 6_000, 9_000, listOf(1L, 2L)), vector(101))) // another number of frames than of vectors
            assertEquals(null, album.clip("p2"))
        }
        JdbcDatabase.writer(path).use { it.execute("UPDATE clips SET frames = '4501'") }
        Album.open(path, JdbcDatabase).use { album -> assertFailsWith<AlbumError> { album.clip("p1") } }
    }

    @Test
    fun `a batch that fails leaves nothing`() {
        made(3)
        AlbumWriter.extend(path, JdbcDatabase).use { writer ->
            assertFailsWith<AlbumError> { writer.add(listOf(photo(3), photo(1))) }
            writer.add(listOf(photo(4)))
        }
        Album.open(path, JdbcDatabase).use { assertEquals(listOf("p0", "p1", "p2", "p4"), (0 until it.size).map { row -> it.photo(row).id }) }
    }

    @Test
    fun `one writer at a time`() {
        made(1)
        AlbumWriter.extend(path, JdbcDatabase).use {
            val said = assertFailsWith<AlbumError> { AlbumWriter.extend(path, JdbcDatabase) }
            assertTrue("another program" in said.message!!)
        }
        AlbumWriter.extend(path, JdbcDatabase).close()
    }

    @Test
    fun `a reader keeps what it opened`() {
        made(2)
        Album.open(path, JdbcDatabase).use { old ->
            AlbumWriter.extend(path, JdbcDatabase).use { it.add(listOf(photo(2))) }
            assertEquals(0, old.searchText("2", 5).rows.size)
            Album.open(path, JdbcDatabase).use { assertEquals(3, it.size) }
        }
    }

    @Test
    fun `words without FTS5 give the same figures`() {
        made(60)
        Album.open(path, JdbcDatabase).use { album ->
            Album.open(path, JdbcDatabase).use { own ->
                own.ownWords = true
                for (query in listOf("cake", "Lena's cakes", "number 7", "nothing", "the number-12")) {
                    assertContentEquals(album.words(query).bm25(), own.words(query).bm25(), query)
                }
            }
        }
    }

    @Test
    fun `the tree finds what a scan finds`() {
        val random = Random(3)
        val points = Array(500) { longArrayOf(random.nextInt(50).toLong(), random.nextInt(50).toLong(), if (it % 7 == 0) Long.MIN_VALUE else random.nextInt(50).toLong()) }
        val tree = KdTree.fromBytes(KdTree.build(points, 4).toBytes())
        repeat(200) {
            val low = LongArray(3) { random.nextInt(50).toLong() }
            val box = Box(low, LongArray(3) { low[it] + random.nextInt(20) })
            val wanted = points.indices.filter { row -> (0..2).all { points[row][it] in box.low[it]..box.high[it] } }
            assertContentEquals(wanted.toIntArray(), tree.range(listOf(box)))
        }
    }

    @Test
    fun `bytes keep a cosine`() {
        val query = vector(1)
        val stored = VectorSet.quantize(vector(2))
        val set = VectorSet(16, stored.codes, floatArrayOf(stored.scale), intArrayOf(0), stored.fine)
        val exact = (0 until 16).sumOf { (vector(1)[it] * vector(2)[it]).toDouble() }
        assertEquals(exact, set.dot(Query(query), 0).toDouble(), 0.02)
        assertEquals(exact, set.fineDot(Query(query), 0).toDouble(), 0.005)
    }
}
