package gamer.replay

import gamer.album.AlbumWriter
import gamer.album.Memory
import gamer.album.Photo
import gamer.bench.Bench
import gamer.bench.Device
import gamer.bench.Measurement
import gamer.bench.Ran
import gamer.bench.State
import gamer.common.GamerError
import gamer.image.Pixels
import gamer.indexing.Look
import gamer.indexing.PhotoEncoder
import gamer.jvm.JdbcDatabase
import gamer.models.Backend
import gamer.models.Models
import gamer.models.OrtBackend
import gamer.search.Answer
import gamer.search.Engine
import java.io.File
import java.time.LocalDate
import java.time.LocalDateTime
import kotlin.io.path.createTempDirectory
import kotlin.system.exitProcess
import org.json.JSONObject

/**
 * Searches, measurements and indexing on the JVM. `BUNDLE ALBUM QUERY [--now DATE] [-k N] [--refine
 * off|fast|llm] [--mode fused|paper]` prints the answer and the trace as JSON, in the form of `gamer search
 * --json`. `--bench N` measures instead and prints the measurement; `bench BUNDLE --bench N` the components alone; `--ops true`: operators, too. `--add PHOTO.json` encodes one photo and
 * adds it to the album: id, path, taken_at, lat, lon, memories, and pixels as width, height and rgb (base64).
 * `check BUNDLE` opens every component and prints the worst cosine of each one's golden inputs. `finish ALBUM` builds the
 * segments that are due, for an album whose entities have their vectors.
 */
object Runner {
    @JvmStatic
    fun main(arguments: Array<String>) {
        try {
            val (options, plain) = parsed(arguments)
            require(plain.size >= 2) { "BUNDLE ALBUM [QUERY] are wanted" }
            println(
                when {
                    plain[0] == "bench" -> opened(plain[1]).use { measured(it, null, emptyList(), options) }
                    plain[0] == "check" -> checked(plain[1])
                    plain[0] == "finish" -> finished(plain[1])
                    "add" in options -> added(plain[0], plain[1], options.getValue("add"))
                    else -> answered(plain, options)
                },
            )
        } catch (error: GamerError) {
            System.err.println(error.message)
            exitProcess(1)
        } catch (error: IllegalArgumentException) {
            System.err.println(error.message)
            exitProcess(2)
        }
    }

    private fun parsed(arguments: Array<String>): Pair<Map<String, String>, List<String>> {
        val options = HashMap<String, String>()
        val plain = ArrayList<String>()
        var i = 0
        while (i < arguments.size) {
            if (arguments[i].startsWith("-") && i + 1 < arguments.size) options[arguments[i].trimStart('-')] = arguments[++i] else plain.add(arguments[i])
            i++
        }
        return options to plain
    }

    private fun checked(bundle: String): JSONObject = opened(bundle).use { models ->
        models.manifest.artifacts.filter { it.target == OrtBackend.target }.forEach { models.session(it.role) }
        JSONObject(models.verdicts.mapValues { (_, verdict) -> json("cosine" to verdict.cosine, "source" to verdict.source) })
    }

    private fun finished(album: String): JSONObject {
        val begun = System.nanoTime()
        AlbumWriter.extend(File(album), JdbcDatabase).use { writer -> writer.finish { names -> throw IllegalArgumentException("no encoder for ${names[0]}") } }
        return json("ms" to (System.nanoTime() - begun) / 1e6)
    }

    private fun answered(plain: List<String>, options: Map<String, String>): JSONObject {
        val rules = File(System.getProperty("gamer.rules")).readText()
        val now = options["now"]?.let { if ('T' in it) LocalDateTime.parse(it) else LocalDate.parse(it).atStartOfDay() } ?: LocalDateTime.now()
        return Engine.open(File(plain[0]), File(plain[1]), rules, OrtBackend, JdbcDatabase).use { engine ->
            if ("bench" in options) return measured(engine.models, engine, plain.drop(2), options, now)
            val k = options["k"]?.toInt() ?: engine.models.manifest.thresholds.k
            told(engine.search(plain[2], k, options["refine"] ?: "fast", options["mode"] ?: "fused", now))
        }
    }

    private fun opened(bundle: String, backend: Backend = OrtBackend): Models = Models.open(File(bundle), backend, JdbcDatabase)

    private fun measured(models: Models, engine: Engine?, queries: List<String>, options: Map<String, String>, now: LocalDateTime = LocalDateTime.now()): JSONObject {
        val bench = Bench(models)
        val rounds = options.getValue("bench").toInt()
        val asked = queries.ifEmpty { listOf(Bench.QUERY, "my cat", "rocket launch in Florida last summer") }
        val components = bench.components(rounds) // first, so that each one's first run opens it
        val rows = engine?.let { bench.layers(it, asked, rounds, now) }.orEmpty() + components
        val folder = createTempDirectory("profiles").toFile()
        val operators = if ("ops" in options) Bench.operators({ opened(models.bundle.folder.path, it) }, true, folder) {} else emptyList()
        val system = "${System.getProperty("os.name")} ${System.getProperty("os.version")}, Java ${System.getProperty("java.version")}"
        val ran = Ran(OrtBackend.target, OrtBackend.engine, 2, bench.bundleSha256(), models.manifest.recipe)
        return Measurement(Device(options["device"] ?: System.getProperty("os.arch"), system), ran, State(), State(), rows, operators).json()
    }

    private fun added(bundle: String, album: String, photo: String): JSONObject {
        val g = JSONObject(File(photo).readText())
        val known = Photo(
            g.getString("id"), g.textOrNull("path"), g.longOrNull("taken_at"), lat = g.realOrNull("lat"), lon = g.realOrNull("lon"),
            memories = if (g.has("memories")) g.objects("memories").map { Memory(it.getString("source"), it.getString("text")) } else emptyList(),
        )
        val pixels = if (g.has("rgb")) Pixels(g.getInt("width"), g.getInt("height"), g.bytes("rgb")) else null
        Models.open(File(bundle), OrtBackend, JdbcDatabase).use { models ->
            val encoder = PhotoEncoder(models)
            val encoded = encoder.encode(known, pixels?.let(::Look)) ?: throw IllegalArgumentException("$photo: neither pixels nor memories")
            AlbumWriter.extend(File(album), JdbcDatabase).use { writer ->
                writer.add(listOf(encoded))
                writer.finish(encode = encoder::names)
            }
            return json(
                "id" to encoded.photo.id, "memories" to list(encoded.photo.memories.map { json("source" to it.source, "text" to it.text) }),
                "mentions" to list(encoded.mentions.map { list(listOf(it.name, it.kind, it.parent, it.relation)) }),
                "vectors" to JSONObject(encoded.vectors.mapValues { it.value.size }),
            )
        }
    }

    private fun told(answer: Answer): JSONObject {
        val t = answer.trace
        return json(
            "hits" to list(answer.hits.map {
                json(
                    "row" to it.row, "id" to it.id, "path" to it.path, "taken_at" to it.takenAt, "lat" to it.lat, "lon" to it.lon, "score" to it.score,
                    "probability" to it.probability, "parts" to JSONObject(it.parts), "memory" to it.memory, "matched" to list(it.matched), "copies" to list(it.copies),
                    "clip" to it.clip?.let { clip -> json("start" to clip.start, "end" to clip.end, "second" to clip.second) },
                )
            }),
            "trace" to json(
                "query" to t.query, "cues" to list(t.cues), "cube_lines" to list(t.cubeLines), "cubes" to list(t.cubes.map { json(it) }), "refined" to t.refined,
                "refined_by" to t.refinedBy, "delta" to t.delta,
                "entities" to list(t.entities.map {
                    json(
                        "row" to it.row, "name" to it.name, "kind" to it.kind, "similarity" to it.similarity.toDouble(), "photos" to list(it.photos),
                        "reached" to list(it.reached),
                    )
                }),
                "left" to JSONObject(t.left), "linked" to t.linked, "widened" to t.widened, "load_ms" to t.loadMs, "milliseconds" to JSONObject(t.milliseconds),
                "plan" to t.plan, "mode" to t.mode, "models" to t.models,
            ),
            "presence" to answer.presence, "count" to answer.count, "note" to answer.note?.toString(),
        )
    }
}
