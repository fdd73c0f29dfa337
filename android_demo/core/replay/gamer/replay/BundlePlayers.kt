package gamer.replay

import gamer.bundle.Bundle
import gamer.bundle.Manifest
import gamer.bundle.ManifestJson
import gamer.bundle.Prefixes
import gamer.bundle.Ranking
import gamer.cues.Gazetteer
import gamer.jvm.JdbcDatabase
import gamer.models.Drafts
import gamer.models.common
import gamer.search.Request
import gamer.tokens.Tokenizer
import java.io.File
import java.util.Base64
import org.json.JSONArray
import org.json.JSONObject

/** Suite `manifest`. */
class ManifestPlayer(private val folder: File) : Player {
    override fun play(case: Case): Any? {
        val g = case.given
        return when (g.getString("op")) {
            "read" -> told(ManifestJson.parse(text(g), "x"))
            "artifact" -> json("path" to ManifestJson.parse(text(g), "x").artifact(g.getString("role"), g.getString("target")).path)
            "file" -> json("path" to ManifestJson.parse(text(g), "x").file(g.getString("name")).path)
            "path" -> Bundle(Copies.stage(), golden()).inside(g.getString("path")).let { json("inside" to true) }
            "check" -> check(g)
            else -> throw IllegalArgumentException("op ${g.getString("op")}")
        }
    }

    private fun golden(): Manifest = ManifestJson.parse(File(folder, "../manifest_v1.json").readText(), "x")

    private fun text(g: JSONObject): String {
        if (g.has("text")) return g.getString("text")
        val raw = JSONObject(File(folder, g.getString("file")).readText())
        if (g.has("drop")) raw.remove(g.getString("drop"))
        if (g.has("set")) g.getJSONArray("set").let { set(raw, it.getJSONArray(0), it.get(1)) }
        return raw.toString()
    }

    private fun set(raw: JSONObject, steps: JSONArray, value: Any) {
        var at: Any = raw
        for (i in 0 until steps.length() - 1) at = if (at is JSONArray) at.get(steps.getInt(i)) else (at as JSONObject).get(steps.getString(i))
        val last = steps.length() - 1
        if (at is JSONArray) at.put(steps.getInt(last), value) else (at as JSONObject).put(steps.getString(last), value)
    }

    private fun check(g: JSONObject): JSONObject {
        val stage = Copies.stage()
        val files = g.getJSONObject("files")
        for (name in files.keys().asSequence().map { it.toString() }) {
            File(stage, name).also { it.parentFile.mkdirs() }.writeBytes(Base64.getDecoder().decode(files.getString(name)))
        }
        File(stage, "manifest.json").writeText(g.getString("text"))
        Bundle.open(stage).checkAll()
        return json("whole" to true)
    }

    private fun told(m: Manifest): JSONObject {
        val r = m.ranking ?: Ranking()
        return json(
            "recipe" to m.recipe, "quant" to m.quant, "text_encoder" to m.textEncoder, "image_encoder" to m.imageEncoder, "dim" to m.dim,
            "prompts" to JSONObject(m.prompts), "text_prompts" to list(listOf(m.textPrompts.query, m.textPrompts.memory)), "licences" to JSONObject(m.licences),
            "components" to list(m.components.map { list(listOf(it.role, it.trained, it.macs)) }),
            "artifacts" to list(m.artifacts.map { a ->
                list(listOf(a.role, a.target, a.path, a.bytes, a.sha256, list(a.inputs.map { list(listOf(it.name, list(it.shape), it.dtype)) })))
            }),
            "files" to list(m.files.map { list(listOf(it.name, it.path, it.bytes, it.sha256)) }),
            "prefixes" to list(m.prefixes.map { list(listOf(it.prompt, it.target, it.tokens, it.path)) }),
            "preprocessing" to m.preprocessing?.let { list(listOf(it.resize, it.crop, it.interpolation, it.fit, it.least)) },
            "language" to m.language?.let { list(listOf(it.layers, it.kvHeads, it.headDim, it.maxSeq, list(it.eosIds))) },
            "thresholds" to list(listOf(m.thresholds.delta, m.thresholds.rho, m.thresholds.k, m.thresholds.paperDelta)),
            "ranking" to json(
                "text" to r.text, "image" to r.image, "dpe" to r.dpe, "title" to r.title, "words" to r.words, "coverage" to r.coverage,
                "context_words" to r.contextWords, "context_coverage" to r.contextCoverage, "entity" to r.entity, "related" to r.related, "cue" to r.cue, "here" to r.here,
                "here_cosine" to r.hereCosine, "here_coverage" to r.hereCoverage, "here_cue" to r.hereCue,
            ),
        )
    }
}

/** Suite `prefix`. */
class PrefixPlayer(private val suite: Suite) : Player {
    private val tokenizer = Tokenizer.read(suite.file(suite.shared.getString("tokenizer")))

    override fun play(case: Case): Any? {
        val g = case.given
        return when (g.getString("op")) {
            "split" -> Prefixes.split(g.getString("prompt")).let { (fixed, rest) -> json("fixed" to fixed, "rest" to rest) }
            "fill" -> Prefixes.encode(tokenizer, g.getString("prompt"), g.getString("query"), g.getString("notes")).let {
                json("fixed" to list(it.fixed), "rest" to list(it.rest))
            }
            "made_from" -> json("sha256" to Prefixes.madeFrom(manifest(g), "onnx", g.ints("ids")))
            "load" -> load(g)
            "drafts" -> json("guesses" to list(drafted(g.ints("prompt").asList(), g.ints("text").asList()).map { list(it) }))
            else -> throw IllegalArgumentException("op ${g.getString("op")}")
        }
    }

    private fun manifest(g: JSONObject): Manifest {
        val raw = JSONObject(File(suite.folder, "../manifest_v1.json").readText())
        if (g.has("artifacts")) raw.put("artifacts", g.getJSONArray("artifacts")).put("language", g.getJSONObject("language")).put("prefixes", list(listOf(g.getJSONObject("entry"))))
        if (g.has("decoder")) raw.put("artifacts", list(listOf("decoder", "embed").map { role ->
            JSONObject(raw.getJSONArray("artifacts").getJSONObject(0).toString()).put("role", "llm_$role").put("target", "onnx").put("sha256", g.getString(role))
        }))
        return ManifestJson.parse(raw.toString(), "x")
    }

    private fun drafted(prompt: List<Int>, text: List<Int>): List<List<Int>> {
        val drafts = Drafts(prompt)
        val guesses = ArrayList<List<Int>>()
        var (at, told) = 0 to 0
        while (at < text.size) {
            at += 1
            val guess = drafts.guess(text.subList(told, at), 7)
            val right = common(guess, text.drop(at))
            if (guess.isNotEmpty()) drafts.judge(guess.size, right)
            guesses.add(guess)
            told = at
            at += right
        }
        return guesses
    }

    private fun load(g: JSONObject): Any? {
        val manifest = manifest(g)
        val stage = Copies.stage()
        File(stage, g.getJSONObject("entry").getString("path")).also { it.parentFile.mkdirs() }.writeBytes(g.bytes("npy"))
        val found = Prefixes.load(Bundle(stage, manifest), "onnx", "refine", g.ints("ids")) ?: return null
        val values = found.cache.floats()
        return json("shape" to list(found.cache.shape), "last" to list(values.copyOfRange(values.size - 4, values.size)))
    }
}

/**
 * Suite `errors`: requests that a search refuses before it opens anything, and files that are not a
 * gazetteer.
 */
object ErrorPlayer {
    fun play(g: JSONObject, folder: File): Any? {
        if (g.getString("op") == "gazetteer") return Gazetteer.open(File(folder, g.getString("file")), JdbcDatabase).use { json() }
        val query = g.get("query").let { if (it is JSONArray) it.getString(0).repeat(it.getInt(1)) else it.toString() }
        Request.check(query, g.getInt("k"), g.getString("refined_by"), g.getString("mode"))
        return json()
    }
}
