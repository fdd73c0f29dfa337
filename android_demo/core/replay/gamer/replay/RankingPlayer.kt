package gamer.replay

import gamer.album.Preferences
import gamer.album.Rows
import gamer.album.Word
import gamer.album.WordScores
import gamer.bundle.Ranking
import gamer.search.Clue
import gamer.search.Confidence
import gamer.search.Conversations
import gamer.search.Known
import gamer.search.Ranker
import gamer.search.Unknown
import org.json.JSONObject

/** Suite `ranking`. */
object RankingPlayer {
    private val FEATURES = listOf("text", "image", "dpe", "words", "coverage", "context_words", "context_coverage", "entity", "related", "cue")

    fun play(g: JSONObject): Any? = when (g.getString("op")) {
        "rank" -> rank(g)
        "evidence" -> json("values" to list(Ranker.evidence(g.objects("clues").map { Clue(it.flags("known"), it.flags("inside"), it.getDouble("trust")) }, g.ints("rows"))))
        "unknown" -> json("values" to list(Unknown.expected(known(g.getJSONObject("of")), known(g.getJSONObject("among")))))
        "context" -> context(g)
        "presence" -> json("here" to Ranker.presence(weights(g), g.getDouble("cosine"), g.getDouble("coverage"), g.getDouble("cue")))
        "judged" -> json("values" to list(Confidence.judged(g.reals("scores"), g.reals("probabilities"), g.getDouble("presence"))))
        "reorder" -> reorder(g)
        else -> throw IllegalArgumentException("op ${g.getString("op")}")
    }

    fun weights(g: JSONObject): Ranking {
        val w = g.getJSONObject("weights")
        fun of(name: String) = w.getDouble(name)
        // Fixtures of rankings without experts do not name their weight.
        val dpe = if (w.has("dpe")) of("dpe") else Ranking().dpe
        return Ranking(
            of("text"), of("image"), dpe, Ranking().title, of("words"), of("coverage"), of("context_words"), of("context_coverage"), of("entity"), of("related"), of("cue"),
            of("here"), of("here_cosine"), of("here_coverage"), of("here_cue"),
        )
    }

    private fun rank(g: JSONObject): JSONObject {
        val features = g.getJSONObject("features")
        val parts = Ranker.weighted(FEATURES.filter { features.has(it) }.associateWith { features.floats(it) }, weights(g))
        val total = Ranker.total(parts)
        return json("order" to list(Rows.descending(total).take(g.getInt("k"))), "scores" to list(total), "probabilities" to list(Ranker.likelihoods(parts)))
    }

    private fun known(g: JSONObject): Known {
        val parts = g.getJSONObject("parts")
        return Known(FEATURES.filter { parts.has(it) }.associateWith { parts.floats(it) }, g.flags("told"), g.flags("seen"))
    }

    private fun context(g: JSONObject): JSONObject {
        val times = g.getJSONArray("times").let { a -> LongArray(a.length()) { if (a.isNull(it)) Long.MIN_VALUE else a.getLong(it) } }
        val words = g.objects("words").map { Word(it.getString("text"), it.ints("rows"), it.floats("bm25"), it.getDouble("rarity")) }
        val (around, held) = Ranker.context(WordScores(words, times.size), Conversations(times, g.flags("said")), g.ints("rows"))
        return json("words" to list(around), "coverage" to list(held))
    }

    private fun reorder(g: JSONObject): JSONObject {
        fun pairs(name: String) = g.getJSONArray(name).arrays().map { it.getInt(0) to it.getInt(1) }
        val linked = g.getJSONArray("linked").arrays().associate { row -> row.getInt(0) to row.getJSONArray(1).let { a -> (0 until a.length()).map { a.getInt(it) }.toSet() } }
        return json("rows" to list(Preferences.reorder(g.ints("ranked").toList(), pairs("photos") + Preferences.betweenPhotos(pairs("entities"), linked))))
    }
}
