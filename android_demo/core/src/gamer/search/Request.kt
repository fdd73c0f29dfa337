package gamer.search

import gamer.common.PyText
import gamer.common.RuntimeFailure

/** Checks the arguments of a search before anything is opened. */
object Request {
    val MODES = listOf("fused", "paper")
    const val MAX_K = 1000
    const val MAX_QUERY = 100_000

    fun check(query: String, k: Int, refinedBy: String, mode: String) {
        if (PyText.strip(query).isEmpty()) throw RuntimeFailure("the query is empty: say what is in the photo")
        val letters = PyText.codePoints(query)
        if (letters.any { it in 0xD800..0xDFFF }) throw RuntimeFailure("the query is not valid text: half of a character stands alone")
        if (letters.size > MAX_QUERY) throw RuntimeFailure("the query has ${letters.size} characters: give at most $MAX_QUERY")
        if (k !in 1..MAX_K) throw RuntimeFailure("k = $k: choose 1 to $MAX_K")
        if (refinedBy !in Refine.MODES) throw RuntimeFailure("unknown refinement '$refinedBy'; choose one of: ${Refine.MODES.joinToString(", ")}")
        if (mode !in MODES) throw RuntimeFailure("unknown mode '$mode'; choose one of: ${MODES.joinToString(", ")}")
    }
}
