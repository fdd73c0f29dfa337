package gamer.replay

import gamer.album.Box
import gamer.album.ClipPart
import gamer.album.Hnsw
import gamer.album.KdTree
import gamer.album.Links
import gamer.album.Photo
import gamer.album.Query
import gamer.album.Space
import gamer.album.VectorSet
import gamer.album.VectorSearch
import gamer.bundle.Preprocessing
import gamer.cues.CueTables
import gamer.image.Pixels
import gamer.image.Prepare
import gamer.indexing.ClipFrames
import gamer.indexing.Entities
import gamer.models.Routing
import gamer.questions.QuestionReader
import gamer.questions.Vocabulary
import gamer.tokens.Tokenizer
import java.io.File
import java.util.Base64
import org.json.JSONObject

/** The player of each suite; null for a suite that this program does not know. */
object Players {
    fun of(suite: Suite): Player? = when (suite.name) {
        "wordpiece", "bpe_bytelevel", "bpe_clip", "unigram", "unigram_bytes" -> tokens(suite)
        "resize" -> Player { resize(it.given) }
        "routing" -> Player { routing(it.given) }
        "clips" -> Player { clips(it.given) }
        "printed" -> PrintedPlayer(suite.shared.getJSONObject("pictures"))
        "kdtree" -> kdtree(suite)
        "graph" -> Player { graph(it.given) }
        "entities" -> Player { entities(it.given) }
        "vectors" -> vectors(suite)
        "hnsw" -> hnsw(suite)
        "album" -> AlbumPlayer(suite.folder)
        "lexical" -> LexicalPlayer(suite.folder)
        "cues" -> CuePlayer(suite)
        "questions" -> questions()
        "glosses" -> GlossPlayer(suite)
        "ranking" -> Player { RankingPlayer.play(it.given) }
        "manifest" -> ManifestPlayer(suite.folder)
        "prefix" -> PrefixPlayer(suite)
        "errors" -> Player { ErrorPlayer.play(it.given, suite.folder) }
        "lines" -> LinesPlayer(File(suite.shared.getString("bundle")))
        "faces" -> FacesPlayer(File(suite.shared.getString("bundle")))
        "embed_text", "embed_image", "dpe", "llm" -> ModelPlayer(suite)
        "search", "search_glossed", "search_found" -> SearchPlayer(suite)
        "asked" -> AskedPlayer(suite)
        else -> null
    }

    private fun tokens(suite: Suite): Player {
        val tokenizer = Tokenizer.read(suite.file(suite.shared.getString("tokenizer")))
        return Player { case ->
            val ids = tokenizer.encode(case.given.getString("text"))
            if (suite.name == "bpe_bytelevel") json("ids" to list(ids), "text" to tokenizer.decode(ids)) else json("ids" to list(ids))
        }
    }

    private fun resize(given: JSONObject): Any {
        val pixels = Pixels(given.getInt("width"), given.getInt("height"), given.bytes("rgb"))
        val spec = Preprocessing(given.getInt("resize"), given.getInt("crop"), given.getString("interpolation"), 127.0, 128.0, given.optString("fit", "cut"))
        val tensor = Prepare.tensor(pixels, spec)
        return json("pixels" to base64(ByteArray(tensor.size) { tensor[it].toInt().toByte() }))
    }

    private fun routing(given: JSONObject): Any {
        val route = Routing.choose(given.floats("weights"), given.getDouble("rho"))
        return json("experts" to list(route.experts), "shares" to list(route.weights))
    }

    private fun clips(given: JSONObject): Any = when (given.getString("op")) {
        "frames" -> json("times" to list(ClipFrames.spread(given.getLong("start"), given.getLong("end"), given.getInt("most"))))
        "cuts" -> json("cuts" to list(ClipFrames.cuts(given.ints("times").map { it.toLong() }.zip(given.reals("changes")), given.getLong("whole"))))
        "change" -> {
            val (before, after) = listOf("before", "after").map { given.getJSONObject(it) }.map { Pixels(it.getInt("width"), it.getInt("height"), it.bytes("rgb")) }
            json("change" to ClipFrames.change(ClipFrames.shares(before), ClipFrames.shares(after)))
        }
        "part" -> ClipPart(given.getLong("start"), given.getLong("end")).of(Photo(given.getString("id"), takenAt = given.longOrNull("taken_at"))).let {
            json("id" to it.id, "taken_at" to it.takenAt)
        }
        else -> given.getString("id").let { json("part" to ClipPart.named(it)?.run { list(listOf(start, end)) }, "whole" to ClipPart.whole(it)) }
    }

    private fun questions(): Player {
        val reader = QuestionReader(Vocabulary(CueTables.read(File(System.getProperty("gamer.rules")).readText()).questions))
        return Player { case ->
            val g = case.given
            if (g.getString("op") == "language") return@Player json("language" to reader.vocabulary.languageOfWishes(g.getString("text"), g.texts("languages")))
            if (g.getString("op") == "content") return@Player g.getString("text").let { json("content" to reader.phrases.content(it), "gone" to reader.phrases.goneTo(it)) }
            val excluded = if (g.has("excluded")) g.texts("excluded") else emptyList()
            val read = reader.read(
                g.getString("text"), g.optString("language"), g.optBoolean("marked", true), { g.has("has") && "${it.kind}:${it.value}" in g.texts("has") },
                isCue = { it in excluded },
            )
            json(
                "query" to read.query, "without" to list(read.without), "favourites" to read.favourites, "bare" to read.isBare, "pictures" to read.pictures,
                "facts" to list(read.without.map(reader::factOf)), "facets" to list(read.facets.map { "${it.kind}:${it.value}" }), "counts" to read.counts,
                "grouped" to read.grouped?.let { list(listOf(it.by, it.isMost, read.wanted.target)) },
                "ordered" to read.ordered?.let { list(listOf(it.order, it.number, it.target)) },
                "soon" to read.soon,
            )
        }
    }

    private fun kdtree(suite: Suite): Player {
        val trees = suite.shared.getJSONObject("trees")
        return Player { case ->
            val g = case.given
            val blob = if (g.has("blob")) g.bytes("blob") else Base64.getDecoder().decode(trees.getString(g.getString("tree")))
            val tree = KdTree.fromBytes(blob)
            val space = Space(tree, tree.size, IntArray(0), emptyArray())
            when (g.getString("op")) {
                "cubes" -> space.inCubes(g.objects("cubes").map { cube(it) }).let { json("rows" to list(it.rows), "inside" to list(it.inside)) }
                "range" -> json("rows" to list(tree.range(g.objects("boxes").map { Box(side(it, "low", Long.MIN_VALUE), side(it, "high", Long.MAX_VALUE)) })))
                "near" -> json(
                    "rows" to list(space.near(g.getInt("k"), g.realOrNull("lat"), g.realOrNull("lon"), g.longOrNull("taken_at"), g.getDouble("metres_an_hour"))),
                )
                else -> throw IllegalArgumentException("op ${g.getString("op")}")
            }
        }
    }

    private fun side(box: JSONObject, name: String, open: Long): LongArray =
        box.getJSONArray(name).let { a -> LongArray(3) { if (a.isNull(it)) open else a.getLong(it) } }

    private fun graph(given: JSONObject): Any {
        val edges = given.getJSONArray("edges").arrays()
        val parents = Links.of(edges.map { it.getInt(1) }.toIntArray(), edges.map { it.getInt(0) }.toIntArray(), given.getInt("nodes"))
        return json("rows" to list(Links.above(given.getInt("node"), parents, given.getInt("depth"))))
    }

    private fun entities(given: JSONObject): Any =
        json("mentions" to list(Entities.extract(given.getString("text")).map { list(listOf(it.name, it.kind, it.parent, it.relation)) }))

    private fun vectors(suite: Suite): Player {
        val sets = suite.shared.getJSONObject("sets")
        return Player { case ->
            val g = case.given
            if (g.getString("op") == "quantize") {
                val q = VectorSet.quantize(g.floats("vector"))
                return@Player json("codes" to list(q.codes.map { it.toInt() }), "scale" to real(q.scale), "fine" to base64(q.fine))
            }
            val set = set(sets.getJSONObject(g.getString("set")))
            val query = g.floats("query")
            if (g.getString("op") == "dot") {
                val ready = Query(query)
                json("scores" to list(FloatArray(set.size) { set.dot(ready, it) }))
            } else {
                val found = VectorSearch.exact(set, query, g.getInt("k"), if (g.isNull("rows")) null else g.ints("rows"))
                json("rows" to list(found.rows), "scores" to list(found.scores))
            }
        }
    }

    private fun set(raw: JSONObject): VectorSet =
        VectorSet(raw.getInt("dim"), raw.bytes("codes"), raw.floats("scales"), raw.ints("owners"), if (raw.isNull("fine")) null else raw.bytes("fine"))

    private fun hnsw(suite: Suite): Player {
        val blob = suite.shared.bytes("blob")
        val dim = suite.shared.getInt("dim")
        val codes = suite.shared.bytes("codes")
        val n = codes.size / dim
        val vectors = VectorSet(dim, codes, FloatArray(n) { 1f }, IntArray(n) { it }, null)
        return Player { case ->
            val behind = if (case.given.has("behind")) case.given.ints("behind") else IntArray(0)
            val graph = Hnsw.load(edited(blob, case.given), vectors, behind)
            json("positions" to list(graph.candidates(Query(case.given.floats("query")), case.given.getInt("count"))))
        }
    }
}
