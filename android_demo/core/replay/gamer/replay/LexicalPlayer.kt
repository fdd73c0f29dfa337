package gamer.replay

import gamer.album.Album
import gamer.album.WordScores
import gamer.album.Words
import gamer.indexing.Entities
import gamer.jvm.JdbcDatabase
import java.io.File
import org.json.JSONObject

/** Suite `lexical`: runs each query with SQLite's FTS5 and without it; both must give the same. */
class LexicalPlayer(private val folder: File) : Player {
    private val opened = HashMap<String, Pair<Album, Album>>()

    override fun play(case: Case): Any? {
        val g = case.given
        return when (g.getString("op")) {
            "words" -> words(g)
            "spellings" -> json("forms" to list(Words.spellings(g.getString("text")).map { list(it) }))
            "query_terms" -> json("words" to list(Words.queryTerms(g.getString("text"))))
            "canonical" -> json("text" to Entities.canonical(g.getString("text")))
            else -> throw IllegalArgumentException("op ${g.getString("op")}")
        }
    }

    private fun words(g: JSONObject): JSONObject {
        val (album, own) = opened.getOrPut(g.getString("file")) {
            Album.open(Copies.of(folder, g), JdbcDatabase) to Album.open(Copies.of(folder, g), JdbcDatabase).also { it.ownWords = true }
        }
        val found = told(album.words(g.getString("query")))
        difference(found, told(own.words(g.getString("query"))), TOLERANCE)?.let { throw IllegalStateException("without FTS5 $it") }
        return found
    }

    private fun told(found: WordScores): JSONObject = json(
        "words" to list(found.words.map { json("text" to it.text, "rows" to list(it.rows), "bm25" to list(it.bm25), "rarity" to it.rarity) }),
        "bm25" to list(found.bm25()), "coverage" to list(found.coverage()),
    )

    private companion object {
        const val TOLERANCE = 1e-5
    }
}
