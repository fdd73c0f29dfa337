package gamer

import gamer.album.Memory
import gamer.common.BundleError
import gamer.glosses.GlossTable
import gamer.glosses.Guess
import gamer.glosses.Reader
import gamer.glosses.ratio
import gamer.indexing.PhotoEncoder
import gamer.tokens.Tokenizer
import java.io.File
import java.nio.file.Files
import java.util.Base64
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import org.json.JSONObject

class GlossTest {
    @Test
    fun `every kind of tokenizer tells its tokens`() {
        val folder = File(System.getProperty("gamer.test"), "../../../tests/golden/conformance/tokenizers")
        for (file in folder.listFiles()!!) {
            val tokenizer = Tokenizer.read(file)
            val tokens = tokenizer.tokens().toList()
            assertTrue(tokens.size > 200, file.name)
            assertTrue(tokens.all { (token, id) -> tokenizer.idOf(token) == id }, file.name)
        }
    }

    @Test
    fun `the commonest English words come first, each once, by whatever token`() {
        val ranks = Guess.ranks(sequenceOf("[PAD]" to 0, "cat</w>" to 9, "Ġthe" to 1, "The" to 2, "##ing" to 3, "x" to 4, "▁a" to 5, "été" to 6))
        assertEquals(mapOf("the" to 0, "a" to 1, "cat" to 2), ranks)
    }

    @Test
    fun `a folder, a missing file and a large one are no tables, in one line`() {
        val folder = Files.createTempDirectory("glosses").toFile()
        try {
            val large = File(folder, "large.bin").also { it.writeBytes(ByteArray(17_000_000)) }
            for (path in listOf(folder, File(folder, "none.bin"), large)) {
                val said = assertFailsWith<BundleError> { GlossTable(path) }.message!!
                assertTrue(said.startsWith("$path: not a table of glosses ("), said)
                assertFalse('\n' in said, said)
            }
        } finally {
            folder.deleteRecursively()
        }
    }

    /** The English is that of Python's reader (runtime/indexing/encode.py). */
    @Test
    fun `a memory in another language is encoded in English words too`() {
        val shared = JSONObject(File(System.getProperty("gamer.test"), "../../../tests/golden/conformance/glosses.json").readText()).getJSONObject("shared")
        val file = File.createTempFile("glosses-de", ".bin")
        try {
            file.writeBytes(Base64.getDecoder().decode(shared.getJSONObject("tables").getString("de")))
            val ranks = Guess.ranks(shared.getString("vocabulary").split(' ').mapIndexed { id, token -> token to id }.asSequence())
            val reader = Reader(listOf(GlossTable(file)), ranks) { null }
            val said = "meine Katze mit der Tasse auf der Strasse"
            fun texts(source: String, vararg windows: String) = PhotoEncoder.texts(Memory(source, windows.joinToString(" ")), windows.toList()) { reader }.toList()
            assertEquals(listOf(said, "my cat with the cup on the street"), texts("note", said))
            assertEquals(listOf("the cat", said, "my cat with the cup on the street"), texts("note", "the cat", said))
            assertEquals(listOf(said), texts("people", said))
            val long = "$said ".repeat(25)
            assertEquals(listOf(long), texts("note", long))
            assertEquals(listOf(said), PhotoEncoder.texts(Memory("note", said), listOf(said)) { null }.toList())
        } finally {
            file.delete()
        }
    }

    /** The values are those of Python's `SequenceMatcher(None, a, b).ratio()`. */
    @Test
    fun `likeness as difflib's`() {
        assertEquals(0.875, ratio("karolain", "karoline"))
        assertEquals(8.0 / 13, ratio("abxcdab", "cdabab"))
        assertEquals(8.0 / 12, ratio("qabxcd", "abycdf"))
        assertEquals(0.0, ratio("", "a"))
        assertEquals(1.0, ratio("", ""))
    }
}
