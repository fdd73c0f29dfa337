package gamer

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWatch
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.album.DatabaseError
import gamer.album.DatabaseOpener
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.OwnWords
import gamer.album.Photo
import gamer.common.AlbumError
import gamer.album.Mention
import gamer.album.Space
import gamer.image.Pixels
import gamer.image.Sampling
import gamer.image.Scans
import gamer.indexing.Attempts
import gamer.indexing.IndexReport
import gamer.indexing.IndexRun
import gamer.indexing.MarkList
import gamer.indexing.Moment
import gamer.indexing.PhotoSource
import gamer.indexing.Position
import gamer.indexing.SkipList
import gamer.jvm.JdbcDatabase
import gamer.screen.Access
import gamer.screen.Press
import gamer.screen.Pressed
import gamer.screen.Screen
import gamer.screen.Situation
import gamer.search.Kept
import gamer.search.Remark
import java.io.File
import java.nio.file.Files
import kotlin.concurrent.thread
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue

/** What a phone is in addition to a JVM: another SQLite, killed processes, damaged pictures, impatient people. */
class PhoneTest {
    private val folder: File = Files.createTempDirectory("phone").toFile()
    private val path = File(folder, "a.gamer")
    private val meta = AlbumMeta("t", "i", 16, 0.5)

    @AfterTest
    fun clear() {
        folder.deleteRecursively()
    }

    private fun photo(n: Int) = Encoded(
        Photo("p$n", memories = listOf(Memory("chat", TALK[n % TALK.size] + " $n"), Memory("label", "cup, table")).take(n % 3)),
        mapOf("image" to arrayOf(FloatArray(16) { if (it == n % 16) 1f else 0f })), emptyList(),
    )

    private fun made(opener: DatabaseOpener, count: Int = 40) = AlbumWriter.create(path, meta, opener).use { it.addAll(0 until count) }

    private fun AlbumWriter.addAll(numbers: IntRange) {
        add(numbers.map { photo(it) })
        finish { names -> names.map { FloatArray(16) { 0.25f } } }
    }

    private fun scores(path: File, opener: DatabaseOpener, own: Boolean = false): List<List<Float>> =
        Album.open(path, opener).use { album -> album.ownWords = own; QUERIES.map { album.words(it).bm25().toList() + album.words(it).coverage().toList() } }

    private fun hasTable() = JdbcDatabase.reader(path).use { db -> db.query("SELECT 1 FROM sqlite_master WHERE name='memories_fts'").isNotEmpty() }

    private fun segments() = JdbcDatabase.reader(path).use { db -> db.query("SELECT name FROM segments ORDER BY name").map { it[0] } }

    @Test
    fun `an album without FTS5 is made, searched, extended, and gets FTS5 from a writer that has it`() {
        made(JdbcDatabase)
        val wanted = scores(path, JdbcDatabase)
        path.delete()
        made(Driver.withoutFts5)
        assertFalse(hasTable())
        assertEquals(listOf<Any?>("kdtree", OwnWords.SEGMENT), segments())
        assertEquals(wanted, scores(path, Driver.withoutFts5))
        AlbumWriter.extend(path, Driver.withoutFts5).use { it.add(listOf(photo(40), photo(41))) } // behind the segment
        val more = scores(path, Driver.withoutFts5)
        AlbumWriter.extend(path, JdbcDatabase).use { it.addAll(42 until 42) }
        assertTrue(hasTable())
        assertEquals(listOf<Any?>("kdtree"), segments())
        assertEquals(more, scores(path, JdbcDatabase))
    }

    @Test
    fun `FTS5's table is out of date after a writer without FTS5, until one with it comes`() {
        made(JdbcDatabase)
        AlbumWriter.extend(path, Driver.withoutFts5).use { it.addAll(40 until 60) }
        assertTrue(hasTable() && OwnWords.SEGMENT in segments())
        val now = scores(path, Driver.withoutFts5)
        assertEquals(now, scores(path, JdbcDatabase))
        AlbumWriter.extend(path, JdbcDatabase).use { it.finish { names -> names.map { FloatArray(16) { 0.25f } } } }
        assertEquals(now, scores(path, JdbcDatabase))
        assertFalse(OwnWords.SEGMENT in segments())
    }

    @Test
    fun `a segment of words that is damaged or of other photos is not used`() {
        made(Driver.withoutFts5)
        val wanted = scores(path, Driver.withoutFts5)
        val blob = JdbcDatabase.reader(path).use { db -> db.query("SELECT blob FROM segments WHERE name='words'")[0][0] as ByteArray }
        assertContentEquals(blob, OwnWords.fromBytes(blob).toBytes())
        for (size in listOf(0, 39, 40, blob.size - 1)) assertFailsWith<AlbumError> { OwnWords.fromBytes(blob.copyOf(size)) }
        for (at in 0 until 48) {
            try {
                OwnWords.fromBytes(blob.copyOf().also { it[at] = (it[at] + 1).toByte() })
            } catch (error: AlbumError) {
                continue
            }
        }
        JdbcDatabase.writer(path).use { it.execute("UPDATE segments SET sha256 = 'x' WHERE name = 'words'") }
        assertEquals(wanted, scores(path, Driver.withoutFts5))
    }

    @Test
    fun `a creation that fails or is killed leaves nothing under the final name`() {
        val full = Driver { _, sql -> if (sql.startsWith("INSERT INTO meta")) throw DatabaseError("full", DatabaseError.Kind.FULL) else false }
        assertFailsWith<AlbumError> { AlbumWriter.create(path, meta, full) }
        assertEquals(emptyList(), folder.list()!!.toList())
        File(path.path + ".partial").writeBytes(ByteArray(4096)) // a process that was killed before its first commit
        File(path.path + ".partial-wal").writeBytes(ByteArray(100))
        made(JdbcDatabase, 2)
        Album.open(path, JdbcDatabase).use { assertEquals(2, it.size) }
        assertEquals(listOf("a.gamer"), folder.list()!!.filter { !it.endsWith("-shm") && !it.endsWith("-wal") })
    }

    @Test
    fun `a search does not keep the indexing out, nor the indexing a search`() {
        made(Driver.framework, 3)
        Album.open(path, Driver.framework).use { first ->
            AlbumWriter.extend(path, Driver.framework).use { writer ->
                writer.add(listOf(photo(3)))
                assertEquals(3, first.size)
                Album.open(path, Driver.framework).use { assertEquals(4, it.size) }
                writer.add(listOf(photo(4)))
            }
        }
        Album.open(path, Driver.framework).use { assertEquals(5, it.size) }
    }

    @Test
    fun `the writer's lock holds without an open transaction`() {
        made(JdbcDatabase, 1)
        val open = HashMap<Any, Boolean>()
        val watching = Driver { real, sql ->
            if (sql.startsWith("BEGIN")) open[real] = true
            if (sql.startsWith("COMMIT") || sql.startsWith("ROLLBACK")) open[real] = false
            false
        }
        AlbumWriter.extend(path, watching).use {
            assertTrue(open.isNotEmpty() && open.values.none { it })
            assertTrue("another program" in assertFailsWith<AlbumError> { AlbumWriter.extend(path, JdbcDatabase) }.message!!)
        }
        AlbumWriter.extend(path, JdbcDatabase).close()
    }

    @Test
    fun `a lock whose file was deleted and created again by another writer is none`() {
        made(JdbcDatabase, 1)
        val lock = File(path.path + ".lock")
        val late = Driver { _, sql -> if (sql == "PRAGMA journal_mode=MEMORY") { lock.delete(); lock.createNewFile() }; false }
        assertTrue("another program" in assertFailsWith<AlbumError> { AlbumWriter.extend(path, late) }.message!!)
    }

    @Test
    fun `two threads that read different things do not wait for each other`() {
        made(JdbcDatabase, 4)
        repeat(200) {
            Album.open(path, JdbcDatabase).use { album ->
                val threads = listOf<() -> Unit>({ album.photo(0) }, { album.channels() }, { album.words("coffee") }).map { thread(isDaemon = true) { it() } }
                threads.forEach { it.join(20_000) }
                assertTrue(threads.none { it.isAlive }, "round $it")
            }
        }
    }

    /** Five photos; those of [away] have no pixels here, and for [large] the memory runs out. */
    private inner class Source(
        private val away: Set<Int> = emptySet(), private val large: Int? = null, private val shots: List<Int> = (0 until 5).toList(),
        private val hearts: Set<Int>? = null,
    ) : PhotoSource<Int> {
        override fun favourites() = hearts?.mapTo(HashSet(), ::key)

        override fun list() = shots

        override fun key(shot: Int) = "k\t$shot"

        override fun owns(id: String) = id.startsWith("k\t")

        override fun name(shot: Int) = "IMG_$shot.jpg"

        override fun photo(shot: Int) = Photo(key(shot))

        override fun picture(shot: Int): Pixels? {
            if (shot == large) throw OutOfMemoryError()
            return if (shot in away) null else Pixels(1, 1, ByteArray(3))
        }
    }

    private val even = { names: List<String> -> names.map { FloatArray(16) { 0.25f } } }

    /** [fails]: whether the encoder refuses a photo's key and the width of its picture. */
    private fun index(
        source: Source,
        skips: SkipList = SkipList(File(folder, "skips")),
        mentions: List<Mention> = emptyList(),
        names: (List<String>) -> List<FloatArray> = even,
        fails: (String, Int) -> Boolean = { _, _ -> false },
    ): IndexReport {
        var last = IndexReport(0, 0)
        val writer = if (path.exists()) AlbumWriter.extend(path, JdbcDatabase) else AlbumWriter.create(path, meta, JdbcDatabase)
        writer.use { open ->
            IndexRun(source, open, skips, MarkList(File(folder, "marks"))) { photo, look ->
                if (fails(photo.id, look?.frames?.single()?.width ?: 0)) throw IllegalStateException("refused")
                if (look == null) null else Encoded(photo, mapOf("image" to arrayOf(FloatArray(16) { 0.25f })), mentions)
            }.run({ false }, { last = it }, names)
        }
        return last
    }

    @Test
    fun `a photo for which the memory runs out, or that fails, is left out after two tries, by name`() {
        for (run in listOf<() -> IndexReport>({ index(Source(large = 2)) }, { index(Source()) { key, width -> key == "k\t2" && width == 1 } })) {
            repeat(SkipList.TRIES) { assertEquals(IndexReport(4, 5, unread = 1), run()) }
            assertEquals(IndexReport(4, 5, skipped = listOf("IMG_2.jpg")), run())
            folder.listFiles()!!.forEach { it.delete() }
        }
    }

    @Test
    fun `models that fail at every photo end the run, and no photo is left out for it`() {
        repeat(SkipList.TRIES + 1) { assertFailsWith<IllegalStateException> { index(Source()) { _, _ -> true } } }
        assertEquals(IndexReport(5, 5), index(Source()))
    }

    @Test
    fun `what left the phone leaves the album, and nothing else does`() {
        index(Source())
        AlbumWriter.extend(path, JdbcDatabase).use { it.add(listOf(Encoded(Photo("a chat"), emptyMap(), emptyList()))) }
        assertEquals(IndexReport(3, 3, removed = 3), index(Source(shots = listOf(1, 3, 7))))
        assertEquals(listOf("a chat", "k\t1", "k\t3", "k\t7"), ids())
        assertEquals(IndexReport(0, 0), index(Source(shots = emptyList()))) // a gallery that cannot be read now
        assertEquals(4, ids().size)
        AlbumWriter.extend(path, JdbcDatabase).use { it.remove(listOf("k\t7")) }
        JdbcDatabase.writer(path).use { it.execute("INSERT INTO meta VALUES('removed', '[\"k\t7\"]')".replace("\t", "\\t")) }
        assertEquals(IndexReport(2, 2), index(Source(shots = listOf(1, 3, 7)))) // removed for good on another device
        val error = assertFailsWith<AlbumError> { AlbumWriter.extend(path, JdbcDatabase).use { it.remove(listOf("k\t1", "none")) } }
        assertTrue("no photo with id 'none'" in error.message!! && ids().size == 3)
    }

    private fun ids() = AlbumWriter.extend(path, JdbcDatabase).use { it.known() }.sorted()

    @Test
    fun `the gallery's favourites are the album's, and marks of elsewhere stay`() {
        AlbumWriter.create(path, meta, JdbcDatabase).use { it.add(listOf(Encoded(Photo("a chat", memories = listOf(Memory.FAVOURITE)), emptyMap(), emptyList()))) }
        index(Source())
        AlbumWriter.extend(path, JdbcDatabase).use { it.mark(listOf("k\t0"), true) } // on a computer
        assertEquals(setOf("a chat", "k\t0"), marked())
        index(Source(hearts = setOf(1, 3, 9))) // 9 is not in the album
        assertEquals(setOf("a chat", "k\t0", "k\t1", "k\t3"), marked())
        index(Source(hearts = setOf(3, 4), shots = listOf(0, 3, 4)))
        assertEquals(setOf("a chat", "k\t0", "k\t3", "k\t4"), marked())
        index(Source()) // a gallery without marks
        assertEquals(setOf("a chat", "k\t0", "k\t3", "k\t4"), marked())
        index(Source(hearts = emptySet()))
        assertEquals(setOf("a chat", "k\t0"), marked())
        index(Source(hearts = setOf(0)))
        index(Source(hearts = emptySet()))
        assertEquals(setOf("a chat"), marked())
        assertEquals(emptyList<String>(), Check.problems(path, JdbcDatabase))
    }

    private fun marked(): Set<String> = Album.open(path, JdbcDatabase).use { album ->
        val named = album.words("favourite").bm25().withIndex().filter { it.value > 0 }.map { album.photo(it.index).id }.toSet()
        album.memoriesOf("social").filter { it.second == "favourite" }.mapTo(HashSet()) { album.photo(it.first).id }.also { assertEquals(named, it) }
    }

    @Test
    fun `what a killed run left is finished by the next`() {
        val cup = listOf(Mention("cup", "thing"))
        assertFailsWith<IllegalStateException> { index(Source(), mentions = cup, names = { throw IllegalStateException("killed") }) }
        index(Source()) // there is no photo to add
        Album.open(path, JdbcDatabase).use { album ->
            assertEquals(listOf("cup"), album.matchEntities(FloatArray(16) { 0.25f }, IntArray(5) { it }, 0.5).map { it.name })
        }
    }

    @Test
    fun `the scans of a JPEG are counted up to a limit, without those of its thumbnail and of what follows it`() {
        fun bytes(vararg values: Int) = ByteArray(values.size) { values[it].toByte() }
        val scan = bytes(0xFF, 0xDA, 0, 4, 1, 2, 7, 0xFF, 0, 0xFF, 0xD3, 9)
        val thumbnail = bytes(0xFF, 0xE1, 0, 6, 0xFF, 0xDA, 0xFF, 0xDA)
        fun jpeg(scans: Int): ByteArray {
            var made = bytes(0xFF, 0xD8) + thumbnail
            repeat(scans) { made += scan }
            return made + bytes(0xFF, 0xD9) + scan
        }
        fun count(data: ByteArray, most: Long) = Scans.count(data.inputStream(), most)
        assertEquals(listOf(0L, 1L, 7L, 10L, null), listOf(0, 1, 7, 10, 11).map { count(jpeg(it), 10) })
        assertEquals(0L, count("no picture".toByteArray(), 10))
        jpeg(3).let { whole -> for (cut in whole.indices) assertTrue((count(whole.copyOf(cut), 10) ?: 99) <= 3) }
        assertTrue(Scans.mayBeDecoded(jpeg(300).inputStream(), 4000, 3000) && !Scans.mayBeDecoded(jpeg(3000).inputStream(), 4000, 3000))
    }

    @Test
    fun `the vectors of class names are kept, and a damaged file is written anew`() {
        val file = File(folder, "cache/names.f32")
        var calls = 0
        fun vectors() = gamer.models.ClassNames.vectors(listOf("cat", "goose"), 3, file) { name -> FloatArray(3) { name.length + it / 4f }.also { calls++ } }.map { it.toList() }
        val first = vectors()
        assertEquals(listOf(listOf(3f, 3.25f, 3.5f), listOf(5f, 5.25f, 5.5f)), first)
        assertEquals(first to 2, vectors() to calls)
        val whole = file.readBytes()
        for (damaged in listOf(whole.copyOf(20), whole + 1, whole.copyOf().also { it[2] = -1; it[3] = 127 }, ByteArray(0))) {
            file.writeBytes(damaged)
            assertEquals(first, vectors())
        }
        assertEquals(2 + 4 * 2, calls)
        assertEquals(listOf("names.f32"), file.parentFile.list()!!.toList())
    }

    @Test
    fun `a long picture is reduced by its pixels, others by their short side`() {
        assertEquals(listOf(4, 1, 1), listOf(4000 to 3000, 400 to 300, 1023 to 1400).map { Sampling.factor(it.first, it.second, 512) })
        assertEquals(4, Sampling.factor(500, 65_000, 512))
    }

    @Test
    fun `a position that is none is refused`() {
        val none = listOf(Double.NaN to 5.0, 5.0 to Double.NaN, Double.POSITIVE_INFINITY to 5.0, 0.0 to 0.0, 90.1 to 0.0, 0.0 to -180.1)
        for ((lat, lon) in none) assertEquals(null, Position.plausible(lat, lon), "$lat, $lon")
        assertEquals(Position(-90.0, 180.0), Position.plausible(-90.0, 180.0))
        for (degrees in listOf(Double.NaN, Double.POSITIVE_INFINITY)) assertFailsWith<AlbumError> { Space.toE7(degrees) }
    }

    @Test
    fun `a photo in the cloud is not stored, and is indexed once it is here`() {
        assertEquals(IndexReport(3, 5, unread = 2), index(Source(away = setOf(1, 3))))
        assertEquals(IndexReport(3, 5, unread = 2), index(Source(away = setOf(1, 3))))
        assertEquals(IndexReport(5, 5), index(Source()))
    }

    @Test
    fun `a photo that ends the process twice is left out, and the others are indexed`() {
        val file = File(folder, "skips")
        repeat(SkipList.TRIES) {
            SkipList(file).begin("k\t2") // and the process ends
        }
        val skips = SkipList(file)
        assertEquals(listOf(false, true), listOf(1, 2).map { skips.isSkipped("k\t$it") })
        assertEquals(IndexReport(4, 5, skipped = listOf("IMG_2.jpg")), index(Source(large = 2), skips))
        file.writeText("nonsense\n7") // a list that was damaged skips nothing
        assertFalse(SkipList(file).isSkipped("k\t2"))
    }

    @Test
    fun `a photo's own offset makes its moment, and no other does`() {
        val berlin = { _: Long -> 120 }
        val wall = 1_715_968_980_000 // 2024-05-17 18:03 as if UTC
        assertEquals(Moment(wall - 540 * 60_000L, "offset", 540), Moment.of("2024:05:17 18:03:00", "+09:00", 5, berlin))
        assertEquals(Moment(wall + 210 * 60_000L, "offset", -210), Moment.of("2024:05:17 18:03:00", "-03:30", null, berlin))
        assertEquals(Moment(wall, "local", null), Moment.of("2024:05:17 18:03:00", null, 5, berlin))
        assertEquals(Moment(wall, "local", null), Moment.of("2024:05:17 18:03:00", "+99:00", 5, berlin))
        for (unset in listOf(null, "", "0000:00:00 00:00:00", "2024:13:40 00:00:00")) {
            assertEquals(Moment(1_000 + 7_200_000, "local", null), Moment.of(unset, "+09:00", 1_000, berlin), "$unset")
        }
        assertEquals(Moment(null, "local", null), Moment.of(null, null, null, berlin))
    }

    @Test
    fun `a moment is read as Python reads it`() { // index/ingest/metadata/exif.py gives these; Swift's test has the same
        for ((exif, offset, wanted) in MOMENTS) assertEquals(wanted, Moment.of(exif, offset, null) { 0 }, "$exif $offset")
    }

    @Test
    fun `an album stays open between searches until something is committed or another file has its name`() {
        for (opener in listOf(JdbcDatabase, Driver.framework)) keptOpen(opener)
    }

    private fun keptOpen(opener: DatabaseOpener) {
        folder.listFiles()!!.forEach { it.delete() }
        made(opener, 3)
        var opens = 0
        val watch = AlbumWatch(path, opener)
        Kept(watch::version, { opens++; Album.open(path, opener) }, Album::close).use { kept ->
            repeat(3) { assertEquals(3, kept.get().size) }
            assertEquals(1, opens)
            AlbumWriter.extend(path, opener).use { it.add(listOf(photo(3))) }
            repeat(3) { assertEquals(4, kept.get().size) }
            assertEquals(2, opens)
            AlbumWriter.extend(path, opener).use { it.addAll(4 until 5) }
            repeat(2) { assertEquals(5, kept.get().size) }
            assertEquals(3, opens)
            kept.close()
            folder.listFiles()!!.forEach { it.delete() }
            made(opener, 2)
            repeat(2) { assertEquals(2, kept.get().size) }
            assertEquals(4, opens)
        }
        watch.close()
    }

    @Test
    fun `what one way cannot read another may`() {
        val refused = { throw IllegalStateException() }
        assertEquals(90, Attempts.first(listOf(refused, { 90 }, { 0 }), 0))
        assertEquals(7, Attempts.first(listOf<() -> Int>(refused), 7))
    }

    @Test
    fun `an error stays on the screen until the next search`() {
        val screen = Screen("/phone")
        val ready = Situation(bundle = true, album = true, access = Access.ALL, report = IndexReport(9, 9))
        assertEquals("9 of 9 photos indexed", screen.headline(ready).text)
        val first = screen.searching()
        val second = screen.searching()
        assertTrue(screen.ended(second, "no space left"))
        assertFalse(screen.ended(first, "3 found"))
        repeat(3) { assertEquals("no space left", screen.headline(ready).text) }
        assertEquals("Searching…", screen.also { it.searching() }.headline(ready).text)
        screen.ended(3, screen.answer(5, 0.9))
        assertEquals("5 found\nIndexing: 9 of 12 photos", screen.headline(ready.copy(report = IndexReport(9, 12), isIndexing = true)).text)
    }

    @Test
    fun `an answer tells what was left out`() {
        val remarks = listOf(Remark("favourites", n = 3), Remark("searched", "dog", 2), Remark("without", "dog", 1), Remark("facet.medium", n = 4, name = "video"))
        assertEquals("favourites only: 3; without “dog”: 1 left out; videos: 4\n2 found", Screen("/phone").answer(2, 0.9, remarks))
        assertEquals("favourites only: 0\n0 found", Screen("/phone").answer(0, 0.0, listOf(Remark("favourites"))))
    }

    @Test
    fun `the screen says what is missing and what the button does`() {
        val screen = Screen("/phone")
        val nothing = Situation(bundle = false, album = false, access = Access.NONE)
        assertTrue("/phone/bundle" in screen.headline(nothing).text)
        assertEquals(Press.ALLOW, screen.headline(nothing.copy(bundle = true)).press)
        assertEquals(Press.INDEX, screen.headline(nothing.copy(bundle = true, access = Access.ALL)).press)
        val failed = nothing.copy(bundle = true, access = Access.CHOSEN, failure = "no space left")
        assertEquals("Indexing stopped: no space left (only those that you chose)", screen.headline(failed).text)
        assertEquals(Press.INDEX, screen.headline(failed).press)
        val half = failed.copy(failure = null, album = true, access = Access.ALL, report = IndexReport(3, 6, unread = 2, skipped = listOf("a.jpg", "b.jpg")))
        assertEquals("3 of 6 photos indexed (2 could not be read and are tried again; a.jpg and 1 more failed twice, left out)", screen.headline(half).text)
    }

    @Test
    fun `an album that came from a computer, and a search, leave the button that is needed`() {
        val screen = Screen("/phone")
        val pushed = Situation(bundle = true, album = true, access = Access.ALL)
        assertEquals(Press.INDEX, screen.headline(pushed).press)
        assertEquals(Press.ALLOW, screen.headline(pushed.copy(access = Access.NONE)).press)
        assertEquals(Press.SETTINGS, screen.headline(pushed.copy(access = Access.NONE, isRefused = true)).press)
        screen.ended(screen.searching(), "3 found")
        val failed = pushed.copy(report = IndexReport(3, 6), failure = "no space left")
        assertEquals("3 found\nIndexing stopped: no space left", screen.headline(failed).text)
        assertEquals(Press.INDEX, screen.headline(failed).press)
        assertEquals("3 found", screen.headline(failed.copy(failure = null)).text)
    }

    @Test
    fun `index now moves a waiting job up, and says when one runs`() {
        assertEquals(listOf(Pressed.STARTED, Pressed.MOVED_UP, Pressed.RUNNING, Pressed.RUNNING), listOf(false to false, true to false, false to true, true to true).map { Pressed.of(it.first, it.second) })
    }

    private companion object {
        val MOMENTS = listOf(
            Triple("2024:05:17 18:03:00.5", "+05:75", Moment(1_715_968_980_000, "local", null)),
            Triple(" 2024-5-7T8:03:00", "+0900", Moment(1_715_036_580_000, "offset", 540)),
            Triple("2024/05.17 18:03:00 pm", "-03:30x", Moment(1_715_981_580_000, "offset", -210)),
            Triple("2024:05:17 18:03:00", "+15:00", Moment(1_715_968_980_000, "local", null)),
            Triple("\u0000 2024:05:17 18:03:00\u0000", "+14:00", Moment(1_715_918_580_000, "offset", 840)),
            Triple("2024:05:17 18:03:00", "\t+01:00", Moment(1_715_965_380_000, "offset", 60)),
        ) + listOf("1825:05:17 18:03:00", "2024:05:17  18:03:00", "2024:05:17 18:03:60", "2024:05:17 18:03", "٢٠٢٤:05:17 18:03:00").map {
            Triple(it, "Z", Moment(null, "local", null))
        }
        val TALK = listOf("the red kite over the harbour", "coffee, coffee and more coffee", "number-12 tram to Zürich", "Anna's running shoes")
        val QUERIES = listOf("coffee", "kites in Zurich", "number-12", "Anna's runs", "cup", "the red kite", "nothing", "41")
    }
}
