package gamer

import gamer.album.OwnWords
import gamer.common.Letters
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.all
import gamer.indexing.Entities
import gamer.jvm.JdbcDatabase
import java.io.File
import java.math.BigDecimal
import java.math.RoundingMode
import java.nio.file.Files
import java.util.Random
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue
import org.json.JSONArray

class TextTest {
    @Test
    fun `quotes as the reference does`() {
        assertEquals("'plain'", PyText.repr("plain"))
        assertEquals("\"it's\"", PyText.repr("it's"))
        assertEquals("'it\\'s \"so\"'", PyText.repr("it's \"so\""))
        assertEquals("'a\\n\\x07\\u200b🐶'", PyText.repr("a\n\u0007\u200b🐶"))
    }

    @Test
    fun `rounds halves to even of the exact value`() {
        assertEquals("0.12", PyText.fixed(0.125, 2))
        assertEquals("0.38", PyText.fixed(0.375, 2))
        assertEquals("-0.00", PyText.fixed(-0.001, 2))
        assertEquals("2.67", PyText.fixed(2.675, 2)) // the double nearest to 2.675 is below it
    }

    @Test
    fun `rounds fast as it does exactly`() {
        val random = Random(1)
        val halves = (-400..400).map { it / 800.0 }
        for (value in halves + List(3000) { random.nextGaussian() * Math.pow(10.0, random.nextInt(12) - 3.0) }) {
            for (digits in listOf(1, 3, 4)) assertEquals(BigDecimal(value).setScale(digits, RoundingMode.HALF_EVEN).toDouble(), PyText.round(value, digits))
        }
    }

    @Test
    fun `folds case of every script`() {
        assertEquals("strasse ss σς ı", PyText.casefold("Straße ẞ Σς ı").replace("σσ", "σς"))
    }

    @Test
    fun `patterns see letters of all scripts as words`() {
        assertEquals(listOf("naïve", "写真", "x2"), Patterns.of("\\w+").all("naïve, 写真! x2"))
        assertEquals(listOf("ab", "é"), Patterns.of("[^\\W\\d_]+").all("ab1_é"))
    }

    @Test
    fun `one character is one place, and comes back`() {
        val letters = Letters.of("a🐶b𝑨")
        assertEquals(4, letters.text.length)
        assertTrue(letters.text[3].isLetter())
        assertEquals("a🐶b𝑨", letters.original(letters.text))
        assertEquals("🐶", letters.original(letters.text.substring(1, 2)))
    }

    @Test
    fun `words and stems are FTS5's`() {
        val path = Files.createTempFile("words", ".db").toFile()
        val texts = listOf(
            "running weddings caresses ponies relational hopping falling agreed sky cats generalization generalizations happily feed bled plastered motoring",
            "Malmö O'Neil Ærøskøbing straßenbahn ÜBER naïve e\u0301tait don't snake_case x2y 写真 12.5 a-b-c Ελλάδα МОСКВА ŁÓDŹ İstanbul",
        ) + BASES.flatMap { base -> ENDS.chunked(6).map { ends -> ends.joinToString(" ") { base + it } } }
        JdbcDatabase.writer(path).use { db ->
            db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
            db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'row')")
            for (text in texts) {
                db.execute("DELETE FROM t")
                db.execute("INSERT INTO t VALUES(?)", text)
                assertEquals(db.query("SELECT term FROM v").map { it[0].toString() }.toSortedSet(), OwnWords.tokens(text).toSortedSet(), text)
            }
        }
        path.delete()
    }

    private companion object {
        val BASES = listOf("walk", "hop", "plann", "fil", "relat", "condit", "sensi", "adjust", "happi", "tr", "controll", "electr", "oscill", "be", "q")
        val ENDS = (
            "s es ed ing eed ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti biliti logi " +
                "icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion ou ism ate iti ous ive ize e ll y ies sses"
            ).split(' ')
    }

    @Test
    fun `entities as the reference extracts them`() {
        val cases = JSONArray(File(System.getProperty("gamer.test"), "extraction.json").readText())
        for (i in 0 until cases.length()) {
            val case = cases.getJSONObject(i)
            val found = JSONArray()
            for (m in Entities.extract(case.getString("text"))) found.put(JSONArray(listOf(m.name, m.kind, m.parent, m.relation)))
            assertEquals(case.getJSONArray("mentions").toString(), found.toString(), case.getString("text"))
        }
        assertTrue(cases.length() > 50)
    }
}
