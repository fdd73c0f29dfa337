package gamer.bundle

import gamer.common.BundleError

/**
 * The schema versions that can be read. Version 1 has fixtures for some components only, and its parity does
 * not name the kernels.
 */
val READABLE = listOf(1, 2, 3)
const val MANIFEST_NAME = "manifest.json"

/**
 * One input or output of a graph. [shape] holds `Int`s, or `String` names for dimensions that may vary;
 * [dtype] is numpy's name.
 */
data class TensorSpec(val name: String, val shape: List<Any>, val dtype: String)

/** A file named in the manifest, with its size in bytes and its SHA-256 in lower-case hexadecimal. */
interface Promised {
    val path: String
    val bytes: Long
    val sha256: String
}

/**
 * How close an artifact's outputs are to those of the fp32 torch model on the same inputs. [minimum]: the
 * worst cosine, not below [threshold]; null where the artifact was not run. [kernels]: the engine, version
 * and processor features that the figure holds for; "" in bundles from before it was recorded.
 */
data class Parity(val threshold: Double, val minimum: Double? = null, val kernels: String = "")

/** One network's file for one target. */
data class Artifact(
    val role: String,
    val target: String,
    val quant: String,
    override val path: String,
    override val bytes: Long,
    override val sha256: String,
    val inputs: List<TensorSpec>,
    val outputs: List<TensorSpec>,
    val parity: Parity,
) : Promised

/** One network of the recipe. [macs]: multiply-adds on [macsPer]; [trained]: false for random weights. */
data class Component(
    val role: String,
    val architecture: String,
    val source: String,
    val trained: Boolean,
    val parameters: Long,
    val macs: Long,
    val macsPer: String,
)

/**
 * Pixels → tensor: shorter side to [resize] (antialiased), centre crop [crop]; (x - mean) / std is computed
 * inside the graph. [fit]: "cut", the picture's centre is cut out at pixel borders and resized; "crop",
 * exactly the centre of the resized picture; "squash", both sides become [crop], whatever the picture's
 * shape.
 */
data class Preprocessing(val resize: Int, val crop: Int, val interpolation: String, val mean: Double, val std: Double, val fit: String = "cut") {
    /** Pixels that a picture's shorter side keeps when it is decoded: twice those of the input, to leave detail for the antialiased resize. */
    val least: Int get() = 2 * maxOf(resize, crop)
}

/**
 * The parameters of the decoder that its graph does not hold: sizes of the KV cache, rotary base, and the ids
 * that stop generation. [startId]: the id that an encoder-decoder's answer begins with.
 */
data class Language(
    val layers: Int,
    val kvHeads: Int,
    val headDim: Int,
    val hidden: Int,
    val maxSeq: Int,
    val ropeTheta: Double,
    val eosIds: List<Int>,
    val startId: Int? = null,
)

/** The threshold δ of layer 2, ρ of the router (paper Eq. 1), and the number K of hits. */
data class Thresholds(val delta: Double, val rho: Double, val k: Int, val deltaFrom: String, val paperDelta: Double? = null)

/**
 * The weights of the fused score, in log-odds, by the names of its summands. `here…`: the weights of the
 * logistic for the probability that the album holds what the query means.
 */
data class Ranking(
    val text: Double = 7.6,
    val image: Double = 4.6,
    val dpe: Double = 12.0,
    val title: Double = 2.0,
    val words: Double = 0.16,
    val coverage: Double = 1.34,
    val contextWords: Double = 0.063,
    val contextCoverage: Double = 4.58,
    val entity: Double = 1.51,
    val related: Double = 0.5,
    val cue: Double = 0.84,
    val here: Double = -4.19,
    val hereCosine: Double = 10.14,
    val hereCoverage: Double = 2.93,
    val hereCue: Double = 0.55,
) {
    fun weight(name: String): Double = when (name) {
        "text" -> text
        "image" -> image
        "dpe" -> dpe
        "title" -> title
        "words" -> words
        "coverage" -> coverage
        "context_words" -> contextWords
        "context_coverage" -> contextCoverage
        "entity" -> entity
        "related" -> related
        "cue" -> cue
        else -> throw IllegalArgumentException(name)
    }
}

/**
 * Vectors of photos from trained experts (paper section 3.3), for layer 3. [name]: in the album; the part
 * before the first ":" names its weight in [Ranking], the last is a digest of the experts, so that no vector
 * is compared with another bundle's. [query]: whose state becomes v_Q, "text" (the text tower's vector) or
 * "llm" (the decoder's state). [dim]: of the vectors.
 */
data class Channel(val name: String, val query: String, val dim: Int)

/** A file of the bundle that is not an artifact: tokenizer, labels, gazetteer, fixture, notice. */
data class DataFile(val name: String, override val path: String, override val bytes: Long, override val sha256: String) : Promised

/** The decoder's cache of a prompt's fixed beginning (.npy), [tokens] long. [madeFrom]: see [Prefixes]. */
data class PrefixFile(
    val prompt: String,
    val target: String,
    val tokens: Int,
    val madeFrom: String,
    override val path: String,
    override val bytes: Long,
    override val sha256: String,
) : Promised

/** Words that the text tower was trained to get before a text: before a query, and before a memory or a name. */
data class TextPrompts(val query: String = "", val memory: String = "")

/**
 * The content of `manifest.json`, typed. Fields that only reports use (tools, most of parity) are checked but
 * not stored. [preprocessing]: null without an image tower; [language]: null without a language model.
 * [randomParts]: the parts that were filled with random numbers on request; searches refuse such a bundle.
 * [channels]: those that trained experts add to "text" and "image".
 */
data class Manifest(
    val schemaVersion: Int,
    val recipe: String,
    val quant: String,
    val textEncoder: String,
    val imageEncoder: String,
    val dim: Int,
    val components: List<Component>,
    val artifacts: List<Artifact>,
    val preprocessing: Preprocessing?,
    val language: Language?,
    val thresholds: Thresholds,
    val prompts: Map<String, String>,
    val files: List<DataFile>,
    val licences: Map<String, String>,
    val prefixes: List<PrefixFile>,
    val ranking: Ranking?,
    val randomParts: List<String>,
    val channels: List<Channel>,
    val textPrompts: TextPrompts,
) {
    /** Everything that has a path, a size and a hash: a file, or a directory of files. */
    val entries: List<Promised> get() = files + artifacts + prefixes

    /** Whether there is a language model that the core runs: one without an encoder, for ONNX Runtime. */
    val hasLanguage: Boolean
        get() = language != null && language.startId == null && listOf("llm_embed", "llm_decoder").all { role -> artifacts.any { it.role == role && it.target == "onnx" } }

    /** The decoder's parameters. Raises [BundleError] for a bundle without a language model. */
    fun decoder(): Language = language
        ?: throw BundleError("bundle $recipe has no language model: refine fast, or export a recipe that has one")

    /** How photos become the image tower's input. Raises [BundleError] for a bundle without one. */
    fun pixels(): Preprocessing = preprocessing ?: throw BundleError("bundle $recipe has no image tower: export a recipe that has one")

    fun hasFile(name: String): Boolean = files.any { it.name == name }

    fun component(role: String): Component = only(components.filter { it.role == role }, "component '$role'")

    /** The artifact of [role] for [target]. Raises [BundleError], naming the targets that the bundle has. */
    fun artifact(role: String, target: String): Artifact =
        artifacts.firstOrNull { it.role == role && it.target == target } ?: throw BundleError(
            "bundle has no $target artifact for $role; it holds ${artifacts.map { it.target }.toSortedSet().joinToString(", ")}: " +
                "export again with --targets $target",
        )

    fun prompt(name: String): String = prompts[name]
        ?: throw BundleError("bundle has no prompt '$name'; it holds ${prompts.keys.sorted().joinToString(", ")}: export it again")

    /**
     * The golden arrays of a component by name (`want` is the output of fp32 torch): fixtures/ROLE.NAME.npy,
     * or those of its family.
     */
    fun golden(role: String): Map<String, DataFile> = files
        .filter { f -> listOf(role, role.substringBefore('_')).any { f.name.startsWith("fixtures/$it.") } && f.name.endsWith(".npy") }
        .associateBy { f -> f.name.split('.').let { it[it.size - 2] } }

    fun file(name: String): DataFile = only(files.filter { it.name == name }, "file '$name'")

    private fun <T> only(found: List<T>, what: String): T =
        found.singleOrNull() ?: throw BundleError("bundle manifest names no $what: export it again")
}
