package gamer.app

import android.content.Context
import android.system.Os
import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.bench.Bench
import gamer.bench.Measurement
import gamer.bench.Ran
import gamer.cues.CueTables
import gamer.indexing.IndexReport
import gamer.indexing.IndexRun
import gamer.indexing.PhotoEncoder
import gamer.indexing.PhotoSource
import gamer.indexing.Renewal
import gamer.indexing.MarkList
import gamer.indexing.Naming
import gamer.indexing.PeopleSearch
import gamer.indexing.SkipList
import gamer.models.Backend
import gamer.models.ByUnits
import gamer.models.Models
import gamer.models.OrtBackend
import gamer.search.Answer
import gamer.search.Engine
import gamer.search.Hit
import gamer.search.WarmEngine
import java.io.File
import java.util.Locale

/**
 * Opens the core with ONNX Runtime, Android's SQLite and the cue rules in the app's assets. Each function
 * throws errors with a message of one line.
 */
object Cores {
    init {
        // ONNX Runtime reads the variable when it is loaded, which happens only in the functions below.
        Os.setenv("ORT_DISABLE_TELEMETRY", "1", true)
    }

    fun search(context: Context): Finder {
        val (files, runner) = Files(context) to Runner.chosen(context)
        val bundle = searched(files)
        return Finder(WarmEngine(bundle, files.album, rules(context), runner.backend!!, AndroidDatabase, threads(), context.cacheDir), bundle, runner)
    }

    /** The bundle whose vectors the album has. */
    fun searched(files: Files): File = files.run { Renewal.searched(album, AndroidDatabase, bundle, before) }

    fun index(context: Context): Indexing =
        Files(context).run { Indexing(Models.open(bundle, Runner.chosen(context).backend!!.resting, AndroidDatabase, threads(), cache = context.cacheDir), this, Wish.PEOPLE.isChosen(context)) }

    /** Changes who is who in the album, whose writer is held meanwhile; the memories of the photos follow. */
    fun naming(context: Context, change: Naming.(AlbumWriter) -> Unit) = IndexJob.pausing(context) {
        val files = Files(context)
        Models.open(searched(files), Runner.chosen(context).backend!!, AndroidDatabase, threads(), cache = context.cacheDir).use { models ->
            val encoder = PhotoEncoder(models)
            AlbumWriter.extend(files.album, AndroidDatabase).use { Naming(encoder::retold, encoder::names).change(it) }
        }
    }

    /**
     * The times of every component of a bundle, and of the layers of searches in [album] if it is not null; with [ops] of the
     * operators, too. [threads]: 0 for those of searches. [progress]: called on this thread; it may throw to end it.
     */
    fun measure(context: Context, bundle: File, album: File?, runner: Runner, rounds: Int, ops: Boolean, threads: Int = 0, progress: (String) -> Unit): Measurement {
        val count = if (threads > 0) threads else threads()
        fun open(backend: Backend): Models = Models.open(bundle, backend, AndroidDatabase, count, cache = context.cacheDir)
        val before = Condition.now(context)
        return open(runner.backend!!).use { models ->
            val bench = Bench(models, progress)
            val components = bench.components(rounds) // first, so that each one's first run opens it
            val layers = album?.let { file ->
                Album.open(file, AndroidDatabase).use { bench.layers(Engine.over(models, it, CueTables.read(rules(context))), QUERIES, rounds) }
            }.orEmpty()
            val after = Condition.now(context) // the profiler takes time of its own
            val operators = if (ops && runner.units != null) {
                Bench.operators({ open(ByUnits(it, runner.units)) }, true, File(context.cacheDir, "profiles"), progress)
            } else emptyList()
            val ran = Ran(runner.named, runner.backend!!.engine, count, bench.bundleSha256(), models.manifest.recipe)
            Measurement(Condition.device(context), ran, before, after, layers + components, operators)
        }
    }

    private fun rules(context: Context): String = context.assets.open("cue_rules.json").use { it.readBytes().toString(Charsets.UTF_8) }

    /**
     * Half of the processors, because about half of a phone's cores are fast; a search ends before the others
     * would help.
     */
    private fun threads(): Int = (Runtime.getRuntime().availableProcessors() / 2).coerceIn(1, 4)

    private val QUERIES = listOf(Bench.QUERY, "a dog on the beach", "dinner with friends at night")
}

/** Runs searches, by this runner. Not thread-safe. */
class Finder(private val warm: WarmEngine, val bundle: File, val runner: Runner) : AutoCloseable {
    /** [rewords]: by the language model, where the bundle has one. */
    fun search(query: String, rewords: Boolean): Found {
        val engine = warm.get()
        val isReworded = rewords && engine.models.run { manifest.hasLanguage && target == OrtBackend.target }
        val answer = engine.ask(query, SHOWN, if (isReworded) "llm" else "fast")
        val count = answer.count.takeUnless { answer.isDoubtful && answer.note != null } // the note says more
        return Found(answer.hits.map(::shown), answer.presence, answer.remarks + listOfNotNull(answer.note), count ?: answer.hits.size, trace(answer))
    }

    /** Lets go of the album, until the next search. */
    fun rest() = warm.rest()

    override fun close() = warm.close()

    private fun shown(hit: Hit): FoundPhoto {
        val why = hit.parts.filterValues { it != 0.0 }.map { "${it.key} %+.2f".format(Locale.ROOT, it.value) } + hit.matched.map { "node $it" } +
            listOfNotNull(hit.clip?.let { "seen at %.0f s".format(Locale.ROOT, it.second) })
        val likely = "likely %.0f %%\n%s".format(Locale.ROOT, hit.probability * 100, why.joinToString(", "))
        return FoundPhoto(hit.id, hit.path, hit.memory, likely, hit.clip?.let { (1_000 * it.second).toLong() })
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

    private companion object {
        const val SHOWN = 60 // photos of the grid
    }
}

/** Encodes photos and adds them to the album, which is created if there is none. */
class Indexing(private val models: Models, private val files: Files, private val isWithPeople: Boolean) : AutoCloseable {
    private val skips = SkipList(files.skips)
    private val marks = MarkList(files.marks)
    private val meta = models.manifest.run { AlbumMeta(textEncoder, imageEncoder, dim, thresholds.delta) }

    /**
     * Removes the photos that left the phone and adds those that the album lacks; an album of another model's encoders is encoded
     * again before. Returns false if it was stopped before its end.
     */
    fun run(store: PhotoStore, isStopped: () -> Boolean, progress: (IndexReport) -> Unit): Boolean {
        val source = PhoneSource(store, models.manifest.pixels().least)
        val encoder = PhotoEncoder(models, source::large)
        if (isOfAnother() && !Renewal(source, files.album, AndroidDatabase, skips, encoder::encode).run(meta, isStopped, progress, encoder::names)) return false
        if (Cores.searched(files) == files.bundle) files.before.deleteRecursively()
        val writer = if (files.hasAlbum()) AlbumWriter.extend(files.album, AndroidDatabase) else AlbumWriter.create(files.album, meta, AndroidDatabase)
        val isWhole = writer.use { IndexRun(source, it, skips, marks, people(source, encoder), encoder::encode).run(isStopped, progress, encoder::names) }
        if (isWhole && models.labels.isNotEmpty()) models.labelVectors // searches find them kept
        return isWhole
    }

    /** Null where nobody asked for people, or the model does not find them. */
    private fun people(source: PhoneSource, encoder: PhotoEncoder): PeopleSearch<Shot>? =
        if (isWithPeople && models.hasFaces) models.faces.let { PeopleSearch(it.name, it::read, Naming(encoder::retold, encoder::names), skips, source::forFaces) } else null

    private fun isOfAnother(): Boolean = files.hasAlbum() && Album.open(files.album, AndroidDatabase).use {
        it.meta.textEncoder != meta.textEncoder || it.meta.imageEncoder != meta.imageEncoder
    }

    override fun close() = models.close()
}
