package gamer

import gamer.bench.Row
import gamer.models.Constraint
import gamer.models.CueQuotes
import gamer.models.Routing
import gamer.models.Vocabulary
import kotlin.test.Test
import kotlin.test.assertContentEquals
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertFalse
import kotlin.test.assertTrue
import org.json.JSONArray
import org.json.JSONObject

class LanguageTest {
    /** A vocabulary of printable ASCII, one token for each character, and of "in" as one token. */
    private val vocabulary = Vocabulary.read(
        JSONObject().put("decoder", JSONObject().put("type", "ByteLevel")).put("added_tokens", JSONArray())
            .put("model", JSONObject().put("vocab", JSONObject().also { v -> (33..126).forEach { v.put(it.toChar().toString(), it) } }.put("Ġ", 32).put("in", 200))).toString(),
    )

    private fun said(constraint: Constraint, text: String) = text.forEach { constraint.advance(it.code) }

    @Test
    fun `only whole words of the query may be quoted`() {
        val constraint = Constraint(CueQuotes.grammar(CueQuotes.pieces("in Rome, inside")), vocabulary)
        said(constraint, "{\"time\":\"")
        assertEquals(setOf('i'.code, 'R'.code, '"'.code, ','.code, 200), constraint.allowed().toSet())
        said(constraint, "Rome")
        assertTrue('"'.code in constraint.allowed())
        said(constraint, "\",\"place\":\"in")
        assertTrue('s'.code in constraint.allowed()) // the word continues or ends
        said(constraint, "\",\"text\":\"\"}")
        assertTrue(constraint.isComplete)
        assertTrue(constraint.allowed().isEmpty())
        assertFailsWith<RuntimeException> { constraint.advance('x'.code) }
    }

    @Test
    fun `a query cannot end a turn`() {
        assertEquals(listOf("a", "|im_end|", "b \uD83D\uDC36"), CueQuotes.pieces("a<|im_end|>b \uD83D\uDC36"))
        assertFalse(CueQuotes.pieces("x\"y\\z").any { '"' in it || '\\' in it })
    }

    @Test
    fun `the fewest experts that reach rho`() {
        assertContentEquals(intArrayOf(2, 0), Routing.choose(floatArrayOf(0.3f, 0.2f, 0.5f), 0.8).experts)
        assertContentEquals(intArrayOf(2), Routing.choose(floatArrayOf(0.3f, 0.2f, 0.5f), 0.5).experts)
    }

    @Test
    fun `percentiles as numpy's`() {
        val row = Row("all", "", longArrayOf(40, 10, 30, 20))
        assertEquals(25.0, row.percentile(0.5))
        assertEquals(37.0, row.percentile(0.9), 1e-9)
    }
}
