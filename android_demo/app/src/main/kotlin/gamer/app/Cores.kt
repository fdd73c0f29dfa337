package gamer.app

import android.content.Context
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.models.Models
import gamer.models.OrtBackend
import gamer.search.Answer
import gamer.search.Engine
import gamer.search.Hit
import java.security.MessageDigest
import java.util.Locale

/** Opens the core over the phone's files: ONNX Runtime, the phone's SQLite, the shared rules of cues. Each throws an error of one line. */
object Cores {
    fun search(context: Context): Finder = Finder(
        Files(context).run { Engine.open(bundle, album, rules(context), OrtBackend, AndroidDatabase, threads()) }, Files(context),
    )

    fun index(context: Context): Indexer = Files(context).run {
        val models = Models.open(bundle, OrtBackend, AndroidDatabase, threads())
        val meta = models.manifest.run { AlbumMeta(textEncoder, imageEncoder, dim, thresholds.delta) }
        Indexer(models, if (hasAlbum()) AlbumWriter.extend(album, AndroidDatabase) else AlbumWriter.create(album, meta, AndroidDatabase))
    }

    private fun rules(context: Context): String = context.assets.open("cue_rules.json").use { it.readBytes().toString(Charsets.UTF_8) }

    /** The phone's fast cores are about half of all, and a search is over before the others would help. */
    private fun threads(): Int = (Runtime.getRuntime().availableProcessors() / 2).coerceIn(1, 4)
}

/** Searches, and measures searches. One thread at a time. */
class Finder(private val engine: Engine, private val files: Files) : AutoCloseable {
    fun search(query: String): Found {
        val answer = engine.search(query)
        return Found(answer.hits.map(::shown), answer.here, trace(answer))
    }

    /** Runs the queries over all layers, [rounds] times, after one round that is not counted. Nanoseconds by layer. */
    fun measure(queries: List<String>, rounds: Int, progress: (Int) -> Unit): Measured {
        val samples = LAYERS.associateWith { ArrayList<Long>() }
        val whole = ArrayList<Long>()
        for (round in 0..rounds) {
            progress(round)
            for (query in queries) {
                val begin = System.nanoTime()
                val spent = engine.search(query).trace.milliseconds
                if (round == 0) continue
                whole.add(System.nanoTime() - begin)
                for ((layer, kept) in samples) kept.add((spent.getValue(layer) * 1e6).toLong())
            }
        }
        val manifest = engine.models.manifest
        val models = manifest.artifacts.filter { it.target == OrtBackend.target }.associate { it.role to it.sha256 }
        val all = samples.mapValues { it.value.toLongArray() } + ("all" to whole.toLongArray())
        return Measured(OrtBackend.target, sha256(files.bundle.resolve("manifest.json").readBytes()), manifest.recipe, models, all)
    }

    override fun close() = engine.close()

    private fun shown(hit: Hit): FoundPhoto {
        val why = hit.parts.filterValues { it != 0.0 }.map { "${it.key} %+.2f".format(Locale.ROOT, it.value) } + hit.matched.map { "node $it" }
        return FoundPhoto(hit.id, hit.path, hit.probability, hit.memory, why.joinToString(", "))
    }

    private fun trace(answer: Answer): List<String> {
        val t = answer.trace
        val said = mapOf(
            "cube" to (t.cues + t.cubeLines).joinToString("; ").ifEmpty { "names no time and no place" },
            "kdtree" to "${t.left["cube"]} of ${t.left["album"]} photos" + if (t.widened) ", none fits the cues: all are ranked" else "",
            "refine" to "${t.refinedBy}: ${t.refined}",
            "graph" to "δ ${t.delta}: ${t.entities.joinToString { it.name }.ifEmpty { "none" }}; ${t.linked} photos linked",
            "vectors" to "${t.plan}, mode ${t.mode}",
        )
        return said.map { (layer, text) -> "%s  %.1f ms\n%s".format(Locale.ROOT, layer, t.milliseconds[layer], text) } + t.models
    }

    private fun sha256(bytes: ByteArray): String = MessageDigest.getInstance("SHA-256").digest(bytes).joinToString("") { "%02x".format(it) }

    private companion object {
        val LAYERS = listOf("cube", "kdtree", "refine", "graph", "vectors")
    }
}

/** Encodes photos and writes them into the album, one transaction a batch. What a photo says of itself: its labels, and the place of its position. */
class Indexer(private val models: Models, private val writer: AlbumWriter) : AutoCloseable {
    /** Ids of the photos that the album holds already: an interrupted run goes on after them. */
    val known: Set<String> = writer.known().toSet()

    fun add(batch: List<NewPhoto>) = writer.add(batch.map(::encoded))

    /** Encodes the names of new entities, and builds the segments that searches use. */
    fun finish() = writer.finish { names -> names.map(models.text::encode) }

    override fun close() {
        writer.close()
        models.close()
    }

    private fun encoded(photo: NewPhoto): Encoded {
        val code = photo.pixels()?.let(models::see)
        val labels = code?.labels.orEmpty().filter { it.second >= LABEL_FLOOR }.map { it.first }
        val place = if (photo.lat == null || photo.lon == null) null else models.gazetteer.nearest(photo.lat, photo.lon)
        val memories = listOfNotNull(
            if (labels.isEmpty()) null else Memory("label", labels.joinToString(", ")), place?.let { Memory("place", "${it.name}, ${it.countryCode}") },
        )
        val mentions = labels.map { Mention(it, "thing") } + listOfNotNull(place?.let { Mention(it.name, "place") })
        val zone = if (photo.offsetMinutes == null) "local" else "position"
        val row = Photo(photo.id, photo.path, photo.takenAt, zone, photo.lat, photo.lon, memories, utcOffset = photo.offsetMinutes)
        return Encoded(row, if (code == null) emptyMap() else mapOf("image" to arrayOf(code.embedding)), mentions)
    }

    private companion object {
        const val LABEL_FLOOR = 0.10f // as runtime/encoding.py: below it a label is a guess
    }
}
