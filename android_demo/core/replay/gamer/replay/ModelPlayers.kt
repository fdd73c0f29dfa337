package gamer.replay

import gamer.cues.CueTables
import gamer.image.Pixels
import gamer.jvm.JdbcDatabase
import gamer.models.CueQuotes
import gamer.models.Generate
import gamer.models.Models
import gamer.models.OrtBackend
import gamer.questions.QuestionReader
import gamer.questions.Vocabulary
import gamer.questions.Wanted
import gamer.search.Answer
import gamer.search.Engine
import gamer.search.SearchOptions
import java.io.File
import java.time.LocalDateTime
import org.json.JSONObject

/** Suites `embed_text`, `embed_image`, `dpe` and `llm`: a bundle's models. */
class ModelPlayer(private val suite: Suite) : Player {
    private val models = suite.shared.getString("bundle").let { bundle -> opened.getOrPut(bundle) { Models.open(File(bundle), OrtBackend, JdbcDatabase) } }

    override fun play(case: Case): Any? = when (suite.name) {
        "embed_text" -> text(case.given)
        "embed_image" -> models.see(pixels(case.given)).let { code ->
            json("embedding" to list(code.embedding), "labels" to list(code.labels.map { (name, share) -> list(listOf(name, real(share))) }))
        }
        "dpe" -> dpe(case.given)
        "llm" -> llm(case.given)
        else -> throw IllegalArgumentException(suite.name)
    }

    private fun text(g: JSONObject): JSONObject =
        if (g.optString("op") == "chunks") json("chunks" to list(models.text.chunks(g.getString("text")))) else json("embedding" to list(models.text.encode(g.getString("text"))))

    private fun pixels(g: JSONObject) = Pixels(g.getInt("width"), g.getInt("height"), g.bytes("rgb"))

    private fun dpe(g: JSONObject): JSONObject {
        val out = models.project(models.see(pixels(g)).patches!!, g.getDouble("rho"))
        return json(
            "experts" to list(out.route.experts), "weights" to list(out.route.weights), "shape" to list(out.shape.toList()),
            "first" to list(out.prompts.copyOf(8)),
        )
    }

    private fun llm(g: JSONObject): Any? {
        if (g.getString("op") == "cues") {
            return CueQuotes.read(models, g.getString("query"))?.let { json("time" to it.time, "place" to it.place, "text" to it.text) }
        }
        val prompt = models.prompt(g.getString("prompt"), g.getString("query"), g.getString("notes"))
        models.languageModel.forget() // so that `computed` depends on no other case
        fun generated() = models.languageModel.generate(Generate(prompt.ids, g.getInt("max_new"), g.texts("stop"), prefix = prompt.prefix, isPlain = !g.getBoolean("prefix")))
        val said = generated()
        if (g.getBoolean("prefix")) {
            val again = generated()
            require(again.ids.contentEquals(said.ids) && again.computed == 2) { "${again.computed} positions computed again; '${said.text}', then '${again.text}'" }
        }
        return json("prompt_ids" to list(prompt.ids), "ids" to list(said.ids), "text" to said.text, "ended" to said.ended, "computed" to said.computed)
    }

    private companion object {
        val opened = HashMap<String, Models>()
    }
}

/** Suite `asked`: questions in relation to an anchor. */
class AskedPlayer(suite: Suite) : Player {
    private val rules = File(System.getProperty("gamer.rules")).readText()
    private val engine = Engine.open(File(suite.shared.getString("bundle")), File(suite.shared.getString("album")), rules, OrtBackend, JdbcDatabase)
    private val reader = QuestionReader(Vocabulary(CueTables.read(rules).questions))
    private val times = suite.shared.texts("times")

    override fun play(case: Case): Any? {
        val g = case.given
        if (g.getString("op") == "read") return json("read" to list(fields(reader.read(g.getString("text"), g.getString("language"), isTime = { it.lowercase() in times }).wanted)))
        val answer = engine.ask(g.getString("query"), MOST, now = LocalDateTime.parse(g.getString("now")))
        if (g.getString("op") == "told") return json("told" to answer.note?.takeIf { it.code == "line" }?.text.orEmpty())
        return json("ids" to list(if (answer.remarks.any { it.code == "anchor" }) answer.hits.map { it.id } else emptyList()))
    }

    private fun fields(w: Wanted): List<Any> {
        val wanted = listOf(w.asks, w.target, w.order, w.number, w.isOccasion, w.isExhaustive)
        return if (w.anchor.isEmpty()) wanted else wanted + listOf(w.relation, w.unit, w.anchor, w.other, w.anchorOrder, w.withAnchor, w.shift, w.side)
    }

    private companion object {
        const val MOST = 20
    }
}

/** Suites `search`, `search_glossed` and `search_found`: complete searches. */
class SearchPlayer(suite: Suite) : Player {
    private val engine = Engine.open(
        File(suite.shared.getString("bundle")), File(suite.shared.getString("album")), File(System.getProperty("gamer.rules")).readText(), OrtBackend, JdbcDatabase,
    )

    override fun play(case: Case): Any? {
        val g = case.given
        val now = LocalDateTime.parse(g.getString("now"))
        val (query, k, refinedBy) = Triple(g.getString("query"), g.getInt("k"), g.getString("refined_by"))
        val gloss = g.optBoolean("gloss", true)
        if (g.optBoolean("wishes")) return told(engine.find(query, k, refinedBy, g.getString("mode"), now, gloss))
        return told(engine.search(query, k, refinedBy, g.getString("mode"), now, SearchOptions(gloss = gloss)))
    }

    private fun told(answer: Answer): JSONObject {
        val t = answer.trace
        return json(
            "hits" to list(answer.hits.map {
                json(
                    "id" to it.id, "row" to it.row, "taken_at" to it.takenAt, "score" to it.score, "probability" to it.probability,
                    "parts" to JSONObject(it.parts), "memory" to it.memory, "matched" to list(it.matched.sorted()), "copies" to list(it.copies),
                )
            }),
            "trace" to json(
                "cues" to list(t.cues), "cube_lines" to list(t.cubeLines), "refined" to t.refined, "refined_by" to t.refinedBy, "delta" to t.delta,
                "entities" to list(t.entities.map { it.name }.sorted()), "left" to JSONObject(t.left), "linked" to t.linked, "widened" to t.widened,
                "plan" to t.plan, "mode" to t.mode,
            ),
            "presence" to answer.presence, "count" to answer.count, "note" to answer.note?.toString(),
        )
    }
}
