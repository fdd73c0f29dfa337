package gamer.models

import gamer.bundle.Bundle
import gamer.bundle.Manifest
import gamer.bundle.Prefix
import gamer.bundle.Prefixes
import gamer.common.RuntimeFailure
import gamer.cues.Gazetteer
import gamer.album.DatabaseOpener
import gamer.image.Pixels
import gamer.image.Prepare
import gamer.tokens.Tokenizer
import java.io.File
import org.json.JSONArray

/**
 * The image tower's output for a photo: embedding [D] of length 1, patches [P][F] row by row, labels as
 * (name, probability), best first.
 */
class ImageCode(val embedding: FloatArray, val patches: Tensor?, val labels: List<Pair<String, Float>>)

/**
 * The DPE's output [P, H] row by row, the experts that ran with their weights, and the multiply-adds that
 * routing saved.
 */
class SoftPrompts(val prompts: FloatArray, val shape: LongArray, val route: Route, val macsSaved: Long)

/** A prompt's token ids, and the shipped cache of its fixed beginning. */
class Prompt(val ids: IntArray, val prefix: Prefix?)

/**
 * A bundle's models. Each is opened when first needed, after the hashes of its files and its outputs on this
 * processor were checked. Not thread-safe.
 */
class Models private constructor(
    val bundle: Bundle,
    private val backend: Backend,
    private val threads: Int,
    private val databases: DatabaseOpener,
    private val check: SelfCheck,
    private val cache: File?,
) : AutoCloseable {
    val manifest get() = bundle.manifest

    /** The backend's target. */
    val target: String get() = backend.target
    private val sessions = LinkedHashMap<String, Session>()
    private val prefixes = HashMap<String, Prefix?>()

    /** The result of the self-check of each opened component, by role. */
    val verdicts: Map<String, Verdict> get() = known
    private val known = LinkedHashMap<String, Verdict>()

    val text: TextEncoder by lazy { TextEncoder(session("text_tower"), Tokenizer.read(bundle.data("text_tokenizer.json")), manifest.textPrompts) }

    /**
     * What reads queries: the file [own], if it exists, else the bundle's adapter; null without either. An own
     * one that does not fit the text tower is passed over, with a notice.
     */
    fun queryAdapter(own: File): QueryAdapter? {
        val artifact = manifest.artifact("text_tower", target)
        val source = manifest.component("text_tower").source
        if (own.isFile) {
            try {
                return QueryAdapter.read(own).fitting(artifact, source)
            } catch (error: RuntimeFailure) {
                check.notice("${error.message}; searching without it")
            }
        }
        if (QueryAdapter.shapeOf(artifact) == null || !manifest.hasFile(QueryAdapter.FILE)) return null
        return QueryAdapter.read(bundle.data(QueryAdapter.FILE)).fitting(artifact, source)
    }

    private val openedGazetteer = lazy { Gazetteer.open(bundle.data("gazetteer.sqlite"), databases) }
    val gazetteer: Gazetteer by openedGazetteer

    /** The names of the classes that the image tower knows; none for a tower that shares the text tower's space. */
    val labels: List<String> by lazy {
        if (!manifest.hasFile("labels.json")) emptyList()
        else JSONArray(bundle.data("labels.json").readText()).let { a -> (0 until a.length()).map { a.getString(it) } }
    }

    /** float32 [classes][D]: the vectors of [labels], see [ClassNames]. */
    val labelVectors: Array<FloatArray> by lazy {
        val key = listOf(manifest.artifact("text_tower", target).sha256, manifest.files.first { it.name == "labels.json" }.sha256).joinToString("-") { it.take(16) }
        ClassNames.vectors(labels, manifest.dim, cache?.let { File(it, "names-$key.f32") }, text::encode)
    }
    val llmTokenizer: Tokenizer by lazy { Tokenizer.read(bundle.data("llm_tokenizer.json")) }
    val llmVocabulary: Vocabulary by lazy { Vocabulary.read(bundle.data("llm_tokenizer.json").readText()) }

    /** Whether the bundle has the networks that read text in pictures, for this backend. */
    val hasLines: Boolean get() = has(LineReader.DETECTOR, LineReader.RECOGNISER)
    val lines: LineReader by lazy {
        LineReader(session(LineReader.DETECTOR), session(LineReader.RECOGNISER), LineReader.characters(bundle.data(LineReader.CHARACTERS)))
    }

    /** Whether the bundle has the networks that find faces, for this backend. */
    val hasFaces: Boolean get() = has(FaceReader.DETECTOR, FaceReader.ENCODER)
    val faces: FaceReader by lazy {
        FaceReader(session(FaceReader.DETECTOR), session(FaceReader.ENCODER), Landmarks.of(bundle), manifest.component(FaceReader.ENCODER).source)
    }

    private fun has(vararg roles: String) = roles.all { role -> manifest.artifacts.any { it.role == role && it.target == target } }

    /** null for a language model that no grammar can hold, because its tokens are not known bytes. */
    val heldVocabulary: Vocabulary? by lazy {
        try {
            llmVocabulary
        } catch (error: RuntimeFailure) {
            null
        }
    }
    val languageModel: LanguageModel by lazy {
        val language = manifest.decoder()
        if (language.startId != null) throw RuntimeFailure("${bundle.folder}: its language model has an encoder, which this program does not run: refine fast")
        LanguageModel(session("llm_embed"), BoundDecoder(session("llm_decoder"), language), language, llmTokenizer::decode)
    }

    /**
     * The session of a component, loaded on first use. The hash of its artifact is checked first, and its
     * fixtures are run if its parity was measured on other kernels ([SelfCheck]). Raises [RuntimeFailure] if
     * its outputs are wrong on this processor.
     */
    fun session(role: String): Session = sessions.getOrPut(role) {
        val (session, verdict) = check.open(bundle, backend, role, threads)
        known[role] = verdict
        session
    }

    /** The backend, threads, arithmetic and loaded components, for a trace. */
    fun describe(): String {
        val loaded = sessions.keys.joinToString(", ") { "$it ${gamer.common.PyText.fixed(manifest.artifact(it, backend.target).bytes / 1e6, 0)}" }
        return "${backend.target}, $threads threads, no affinity, CPU arena; ${arithmetic()}; in memory, MB: ${loaded.ifEmpty { "nothing" }}"
    }

    /** The arithmetic of the loaded components, each kind once: "int8, VNNI; int4, VNNI". */
    fun arithmetic(): String = sessions.keys.sorted().map { role ->
        Processor.here.arithmetic(manifest.artifact(role, backend.target).quant, verdicts[role]?.units ?: Units.FUSED)
    }.distinct().joinToString("; ").ifEmpty { "nothing computed yet" }

    /**
     * Token ids of the bundle's prompt [name] with its placeholders filled in, and the shipped cache of its
     * fixed beginning.
     */
    fun prompt(name: String, query: String, notes: String = ""): Prompt {
        val ids = Prefixes.encode(llmTokenizer, manifest.prompt(name), query, notes)
        if (name !in prefixes) prefixes[name] = Prefixes.load(bundle, backend.target, name, ids.fixed)
        return Prompt(ids.all, prefixes[name])
    }

    /**
     * The embedding, the patches, and the five likeliest labels (first lemma of each; empty for a tower
     * without labels).
     */
    fun see(pixels: Pixels): ImageCode {
        val tower = session("image_tower")
        val out = tower.run(towerInput(tower, pixels, manifest))
        val found = out["label_probs"]?.toFloats()?.let { best(it) } ?: emptyList()
        return ImageCode(TextEncoder.unit(out.getValue("embedding").toFloats()), out["patches"], found)
    }

    private fun best(probabilities: FloatArray): List<Pair<String, Float>> =
        gamer.album.Rows.descending(probabilities).take(5).map { labels[it].split(",")[0].trim() to probabilities[it] }

    /**
     * Patches [1, P, F] → soft prompts in the LLM's embedding space: runs the router, then only the experts
     * that Eq. 1 chooses.
     */
    fun project(patches: Tensor, rho: Double = manifest.thresholds.rho): SoftPrompts {
        val weights = session("dpe_router").run(mapOf("patches" to patches)).getValue("weights").toFloats()
        val route = Routing.choose(weights, rho)
        var sum: FloatArray? = null
        var shape = LongArray(0)
        for ((at, expert) in route.experts.withIndex()) {
            val out = session("dpe_expert_$expert").run(mapOf("patches" to patches)).getValue("prompts")
            val values = out.toFloats()
            shape = out.shape.drop(1).toLongArray()
            if (sum == null) sum = FloatArray(values.size)
            for (i in values.indices) sum[i] += route.weights[at] * values[i]
        }
        val saved = weights.indices.filter { it !in route.experts }.sumOf { manifest.component("dpe_expert_$it").macs }
        return SoftPrompts(sum!!, shape, route, saved)
    }

    override fun close() {
        if (openedGazetteer.isInitialized()) gazetteer.close()
        sessions.values.forEach { it.close() }
        sessions.clear()
    }

    companion object {
        /** A picture as the input of an image tower; a tower that takes bytes resizes in its own graph. */
        internal fun towerInput(tower: Session, pixels: Pixels, manifest: Manifest): Map<String, Tensor> {
            val wanted = tower.artifact.inputs[0]
            if (wanted.dtype == "uint8") return mapOf(wanted.name to Tensor.bytes(pixels.bytes, pixels.height.toLong(), pixels.width.toLong(), 3))
            val side = manifest.pixels().crop.toLong()
            return mapOf(wanted.name to Tensor.floats(Prepare.tensor(pixels, manifest.pixels()), 1, side, side, 3))
        }

        /**
         * Opens a bundle and checks the hashes of the files read here. Raises [RuntimeFailure] for a bundle
         * of random weights unless [allowRandom]. [cache]: the folder for the results of self-checks; null to
         * measure at each opening. [notice]: called with lines that the user should see.
         */
        fun open(
            folder: File,
            backend: Backend,
            databases: DatabaseOpener,
            threads: Int = 2,
            allowRandom: Boolean = false,
            cache: File? = null,
            notice: (String) -> Unit = System.err::println,
        ): Models {
            val bundle = Bundle.open(folder)
            if (bundle.manifest.randomParts.isNotEmpty() && !allowRandom) {
                throw RuntimeFailure("$folder: random weights (${bundle.manifest.randomParts.joinToString(", ")}), for sizes and speed: it finds nothing")
            }
            bundle.manifest.artifact("text_tower", backend.target)
            bundle.checkFiles()
            if (bundle.manifest.schemaVersion == 1) {
                notice("$folder: of version 1, without fixtures: whether its components are right on this processor is not checked; export it again")
            }
            return Models(bundle, backend, threads, databases, SelfCheck(cache, notice), cache)
        }
    }
}
