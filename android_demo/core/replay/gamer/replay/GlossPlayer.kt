package gamer.replay

import gamer.album.Album
import gamer.cues.CueReader
import gamer.cues.CueTables
import gamer.glosses.Choice
import gamer.glosses.Gloss
import gamer.glosses.GlossTable
import gamer.glosses.Guess
import gamer.glosses.Names
import gamer.glosses.Piece
import gamer.glosses.Reader
import gamer.glosses.folded
import gamer.glosses.latin
import gamer.glosses.sound
import gamer.glosses.spoken
import gamer.jvm.JdbcDatabase
import java.io.File
import kotlin.math.roundToInt
import org.json.JSONObject

/** Suite `glosses`: queries in other languages, read word by word. */
class GlossPlayer(private val suite: Suite) : Player {
    private val stage = Copies.stage()
    private val tables = suite.shared.getJSONObject("tables").let { all -> listOf("de", "fr", "es", "ru", "ja").associateWith { all.bytes(it) } }
    private val names = Names(suite.shared.texts("names"))
    private val reader = CueReader(CueTables.read(File(System.getProperty("gamer.rules")).readText()), null).let { cues ->
        val vocabulary = suite.shared.getString("vocabulary").split(' ').mapIndexed { id, token -> token to id }.asSequence()
        Reader(tables.map { (code, data) -> table("glosses-$code.bin", data) }, Guess.ranks(vocabulary), cues::languageOf)
    }

    override fun play(case: Case): Any? {
        val g = case.given
        return when (g.getString("op")) {
            "read" -> read(g)
            "album" -> inAlbum(g)
            "letters" -> g.getString("text").split(' ').map { latin(it) }.let { words ->
                json("latin" to words.joinToString(" "), "spoken" to words.joinToString(" ") { spoken(it) }, "sound" to words.joinToString(" ") { sound(spoken(it)) })
            }
            "latin" -> json("text" to latin(g.getString("text")))
            "folded" -> json("text" to folded(g.getString("text")))
            "like" -> json("names" to list(g.texts("words").map { names.like(it, g.getDouble("least")) }))
            "damaged" -> table("damaged-${case.id}.bin", edited(tables.getValue("de"), g)).let { table ->
                json("glosses" to suite.shared.texts("asked").joinToString("|") { told(table.lookup(folded(it))) })
            }
            else -> throw IllegalArgumentException("op ${g.getString("op")}")
        }
    }

    private fun table(name: String, data: ByteArray): GlossTable = GlossTable(File(stage, name).also { it.writeBytes(data) })

    private fun read(g: JSONObject): JSONObject? {
        val reading = reader.read(g.getString("query"), names) ?: return null
        val held = (if (g.has("held")) g.texts("held") else suite.shared.texts("held")).toSet()
        val out = json("language" to reading.language, "pieces" to reading.pieces.joinToString("|") { told(it) })
        Choice.chosen(reading) { it in held }?.let { glossed ->
            out.put("text", glossed.text).put("forms", glossed.forms.joinToString("|") { it.joinToString("/") }).put("lines", glossed.lines.joinToString("|"))
        }
        return out
    }

    private fun told(piece: Piece): String {
        if (piece.options.isEmpty()) return piece.said
        val word = if (piece.word == piece.said) "" else "=${piece.word}"
        return "${piece.said}$word${if (piece.isEnglish) "*" else ""}:${told(piece.options)}"
    }

    private fun told(glosses: List<Gloss>): String = glosses.joinToString("/") { "${it.text} ${(255 * it.weight).roundToInt()}" }

    /** With FTS5 and without it; both must give the same. */
    private fun inAlbum(g: JSONObject): JSONObject {
        val (found, own) = listOf(false, true).map { isOwn ->
            Album.open(Copies.of(suite.folder, g), JdbcDatabase).use { album ->
                album.ownWords = isOwn
                val glossed = Choice.chosen(reader.read(g.getString("query"), Names(album.listedEntities()))!!, album::holds)!!
                val words = album.words(glossed.text, glossed.forms).words
                json("text" to glossed.text, "words" to list(words.map { json("text" to it.text, "rows" to list(it.rows), "bm25" to list(it.bm25)) }))
            }
        }
        difference(found, own, suite.tolerance)?.let { throw IllegalStateException("without FTS5 $it") }
        return found
    }
}
