package gamer

import gamer.bundle.Bundle
import gamer.bundle.Hex
import gamer.bundle.PackedBundle
import gamer.common.BundleError
import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import java.io.File
import java.nio.file.Files
import java.security.MessageDigest
import java.util.zip.CRC32
import java.util.zip.ZipEntry
import java.util.zip.ZipOutputStream
import kotlin.random.Random
import kotlin.test.AfterTest
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import org.json.JSONArray
import org.json.JSONObject

/** A model as one file: what comes out is what the manifest promises, or nothing. */
class PackedBundleTest {
    private val home: File = Files.createTempDirectory("packed").toFile()
    private val folder = File(home, "bundle")

    @AfterTest
    fun clear() {
        home.deleteRecursively()
    }

    /** The entries of a packed bundle: the golden manifest's, with contents made up. */
    private val whole: List<Pair<String, ByteArray>> = run {
        val golden = File(System.getProperty("gamer.test"), "../../../tests/golden/manifest_v3.json")
        val manifest = JSONObject(golden.readText())
        manifest.put("artifacts", JSONArray(listOf(manifest.getJSONArray("artifacts").getJSONObject(0))))
        val files = listOf("files", "artifacts").flatMap { name -> manifest.getJSONArray(name).let { all -> (0 until all.length()).map { all.getJSONObject(it) } } }
        val contents = files.map { entry ->
            val data = entry.getString("path").repeat(3).toByteArray()
            entry.put("bytes", data.size).put("sha256", Hex.of(MessageDigest.getInstance("SHA-256").digest(data)))
            entry.getString("path") to data
        }
        listOf("manifest.json" to manifest.toString().toByteArray()) + contents
    }

    private fun zip(entries: List<Pair<String, ByteArray>>): ByteArray = ByteArrayOutputStream().also { out ->
        ZipOutputStream(out).use { zip ->
            for ((name, data) in entries) {
                val entry = ZipEntry(name).apply { method = ZipEntry.STORED; size = data.size.toLong(); crc = CRC32().apply { update(data) }.value }
                zip.putNextEntry(entry)
                zip.write(data)
            }
        }
    }.toByteArray()

    private fun unpack(data: ByteArray) = PackedBundle.unpack(ByteArrayInputStream(data), "a.zip", folder)

    @Test
    fun `what is packed comes out, in the place of what was there`() {
        folder.mkdirs()
        File(folder, "old.txt").writeText("old")
        unpack(zip(whole))
        Bundle.open(folder).checkAll()
        assertEquals(whole.map { it.first }.toSet(), folder.walkTopDown().filter { it.isFile }.map { it.relativeTo(folder).invariantSeparatorsPath }.toSet())
        assertEquals(listOf("bundle"), home.list()!!.toList())
    }

    @Test
    fun `a file that was tampered with leaves the old bundle as it is`() {
        folder.mkdirs()
        File(folder, "old.txt").writeText("old")
        val (first, second) = whole[1] to whole[2]
        val changed = first.first to ByteArray(first.second.size)
        val cases = listOf(
            whole + ("../evil" to ByteArray(1)) to "leaves the bundle",
            whole + ("extra.txt" to ByteArray(1)) to "does not name 'extra.txt'",
            whole + ("./" + second.first to second.second) to "does not name",
            listOf(whole[0], changed) + whole.drop(2) to "not what its manifest promises",
            listOf(whole[0], first.first to first.second + 1) + whole.drop(2) to "is larger than the manifest promises",
            whole.dropLast(1) to "in it is missing",
            whole.drop(1) to "not a packed bundle",
            emptyList<Pair<String, ByteArray>>() to "not a packed bundle",
        )
        for ((entries, said) in cases) {
            val error = assertFailsWith<BundleError>(said) { unpack(zip(entries)) }
            assertTrue(said in error.message!! && "\n" !in error.message!!, error.message)
            assertEquals("old", File(folder, "old.txt").readText())
            assertEquals(listOf("bundle"), home.list()!!.toList())
        }
    }

    @Test
    fun `flipped and missing bytes are refused in one line`() {
        val data = zip(whole)
        val random = Random(3)
        repeat(300) {
            val bad = if (it % 3 == 0) data.copyOf(random.nextInt(data.size)) else data.copyOf().also { copy -> repeat(1 + it % 3) { copy[random.nextInt(data.size)] = random.nextInt(256).toByte() } }
            try {
                unpack(bad)
                Bundle.open(folder).checkAll() // what was changed is nothing that is read
            } catch (error: BundleError) {
                assertTrue("\n" !in error.message!!, error.message)
            }
        }
    }
}
