package gamer.bundle

import gamer.common.BundleError
import org.json.JSONException
import org.json.JSONObject
import org.json.JSONTokener

/**
 * `manifest.json` → [Manifest]. Manifests are untrusted: raises [BundleError] naming the first field that
 * does not fit.
 */
object ManifestJson {
    // Numbers that neither a double nor an integer can hold.
    private val HUGE = Regex("(?<=[:,\\[\\s])-?[0-9]+(?:\\.[0-9]+)?[eE]\\+?[0-9]{4,}|(?<=[:,\\[\\s])-?[0-9]+(?:\\.[0-9]+)?[eE]\\+?(?:[4-9][0-9]{2}|3[1-9][0-9])(?![0-9])")
    private val TOP = listOf(
        "schema_version", "recipe", "quant", "text_encoder", "image_encoder", "dim", "components", "artifacts", "preprocessing", "language",
        "thresholds", "prompts", "files", "licences", "tools",
    )
    private val PROVEN = listOf("minimum", "mean", "top1", "top1_threshold", "inputs", "executed_by", "kernels", "outputs")
    private val MORE = listOf("window", "rope_theta_local", "buckets", "distance", "start_id")
    private val WEIGHTS = listOf(
        "text", "image", "dpe", "title", "words", "coverage", "context_words", "context_coverage", "entity", "related", "cue", "here",
        "here_cosine", "here_coverage", "here_cue",
    )
    private val CHANNEL = Regex("dpe:[a-z]{1,16}:[0-9a-f]{8}")
    private val ASKED = setOf("text", "llm")

    fun parse(text: String, where: String): Manifest {
        val raw = try {
            JSONTokener(HUGE.replace(text, "null")).nextValue()
        } catch (error: JSONException) {
            throw BundleError("$where: not JSON (${error.message?.take(80)})")
        } catch (error: StackOverflowError) {
            throw BundleError("$where: not JSON (nested too deep)")
        }
        val version = (raw as? JSONObject)?.opt("schema_version")
        if (version !is Int) throw BundleError("$where: no schema_version: this is not a bundle manifest")
        if (version !in READABLE) {
            throw BundleError("$where: schema version $version, this program reads ${READABLE.first()} to ${READABLE.last()}: update it, or export again")
        }
        try {
            return read(raw).also { within(it) }
        } catch (error: Misfit) {
            throw BundleError("$where: field ${error.message}: export the bundle again")
        }
    }

    private fun read(raw: Any?): Manifest {
        val f = Fields(raw, "manifest", TOP, listOf("prefixes", "ranking", "settings", "random_parts", "channels", "text_prompts", "budgets"))
        if (f.has("budgets")) f.list("budgets", ::budget)
        if (f.has("settings") && f.any("settings") != null) f.texts("settings")
        f.texts("tools")
        return Manifest(
            f.int("schema_version"), f.text("recipe"), f.text("quant"), f.text("text_encoder"), f.text("image_encoder"), f.int("dim"),
            f.list("components", ::component), f.list("artifacts", ::artifact), f.any("preprocessing")?.let { preprocessing(it) }, f.any("language")?.let { language(it) },
            thresholds(f.any("thresholds")), f.texts("prompts"), f.list("files", ::dataFile), f.texts("licences"),
            if (f.has("prefixes")) f.list("prefixes", ::prefixFile) else emptyList(),
            if (f.has("ranking") && f.any("ranking") != null) ranking(f.any("ranking")) else null,
            if (f.has("random_parts")) f.list("random_parts") { value, at -> Fields.textOf(value, at) } else emptyList(),
            if (f.has("channels")) f.list("channels", ::channel) else emptyList(),
            if (f.has("text_prompts") && f.any("text_prompts") != null) textPrompts(f.any("text_prompts")) else TextPrompts(),
        )
    }

    private fun component(raw: Any?, at: String): Component {
        val f = Fields(raw, at, listOf("role", "architecture", "source", "trained", "parameters", "macs", "macs_per"))
        return Component(f.text("role"), f.text("architecture"), f.text("source"), f.flag("trained"), f.long("parameters"), f.long("macs"), f.text("macs_per"))
    }

    private fun artifact(raw: Any?, at: String): Artifact {
        val f = Fields(raw, at, listOf("role", "target", "quant", "path", "bytes", "sha256", "inputs", "outputs", "parity", "export_seconds"), listOf("export_peak_bytes", "contract", "placement"))
        f.real("export_seconds")
        if (f.has("export_peak_bytes")) f.long("export_peak_bytes")
        if (f.has("contract") && f.any("contract") != null) contract(f.any("contract"), f.at("contract"))
        if (f.has("placement") && f.any("placement") != null) placement(f.any("placement"), f.at("placement"))
        return Artifact(
            f.text("role"), f.text("target"), f.text("quant"), f.text("path"), f.long("bytes"), f.text("sha256"), f.list("inputs", ::tensor),
            f.list("outputs", ::tensor), parity(f.any("parity"), f.at("parity")),
        )
    }

    /** Checks what a caller without this library has to do; the library knows it, and stores nothing. */
    private fun contract(raw: Any?, at: String) {
        val f = Fields(raw, at, listOf("inputs", "outputs"), listOf("golden"))
        f.list("inputs") { input, where ->
            val i = Fields(input, where, listOf("name", "holds", "layout", "prepare"), listOf("range", "normalised_by", "file", "max_length", "pad_to"))
            for (name in listOf("name", "holds", "layout", "prepare")) i.text(name)
            for (name in listOf("normalised_by", "file")) if (i.has(name)) i.text(name)
            for (name in listOf("max_length", "pad_to")) if (i.has(name)) i.long(name)
            if (i.has("range")) i.list("range") { value, place -> Fields.realOf(value, place) }
        }
        f.list("outputs") { output, where ->
            val o = Fields(output, where, listOf("name", "holds"), listOf("unit_length"))
            for (name in listOf("name", "holds")) o.text(name)
            if (o.has("unit_length")) o.flag("unit_length")
        }
        if (!f.has("golden") || f.any("golden") == null) return
        val g = Fields(f.any("golden"), f.at("golden"), listOf("inputs", "steps", "output", "want", "cosine"), listOf("texts"))
        g.texts("inputs")
        for (name in listOf("steps", "output", "want")) g.text(name)
        if (g.has("texts")) g.text("texts")
        g.real("cosine")
    }

    /** Checks where an artifact's operations ran, which is for people: nothing is stored. */
    private fun placement(raw: Any?, at: String) {
        val f = Fields(raw, at, listOf("by", "operations"), listOf("predictions", "delegates", "memory"))
        f.text("by")
        for (name in listOf("delegates", "memory")) if (f.has(name)) f.long(name)
        f.list("operations") { operation, where ->
            val o = Fields(operation, where, listOf("where", "kernel", "operator", "count"))
            for (name in listOf("where", "kernel", "operator")) o.text(name)
            o.long("count")
        }
        if (f.has("predictions")) f.list("predictions", ::prediction)
    }

    private fun prediction(raw: Any?, at: String) {
        val f = Fields(raw, at, listOf("engine", "taken", "all", "partitions", "left", "source"), listOf("fixed"))
        for (name in listOf("engine", "source")) f.text(name)
        for (name in listOf("taken", "all", "partitions")) f.long(name)
        f.list("left") { left, where ->
            val l = Fields(left, where, listOf("operator", "count", "why"), listOf("change"))
            for (name in listOf("operator", "why")) l.text(name)
            l.long("count")
            if (l.has("change")) l.text("change")
        }
        if (f.has("fixed")) f.list("fixed") { value, where -> Fields.textOf(value, where) }
    }

    private fun parity(raw: Any?, at: String): Parity {
        val f = Fields(raw, at, listOf("status", "metric", "threshold"), PROVEN)
        f.text("status")
        f.text("metric")
        for (name in listOf("mean", "top1", "top1_threshold")) if (f.has(name)) f.maybeReal(name)
        if (f.has("inputs")) f.long("inputs")
        if (f.has("executed_by")) f.text("executed_by")
        if (f.has("outputs")) f.reals("outputs")
        return Parity(f.real("threshold"), if (f.has("minimum")) f.maybeReal("minimum") else null, if (f.has("kernels")) f.text("kernels") else "")
    }

    /** Checks what a component's bits were chosen from, which is for the report: nothing is stored. */
    private fun budget(raw: Any?, at: String) {
        val f = Fields(raw, at, listOf("role", "target", "curve", "uniform", "chosen"))
        for (name in listOf("role", "target")) f.text(name)
        for (name in listOf("curve", "uniform")) f.list(name, ::budgetPoint)
        budgetPoint(f.any("chosen"), f.at("chosen"))
    }

    private fun budgetPoint(raw: Any?, at: String) {
        val f = Fields(raw, at, listOf("bytes", "loss"), listOf("quant"))
        f.long("bytes")
        f.real("loss")
        if (f.has("quant")) f.text("quant")
    }

    private fun tensor(raw: Any?, at: String): TensorSpec {
        val f = Fields(raw, at, listOf("name", "shape", "dtype"))
        val shape = f.list("shape") { value, where -> if (value is String) value else Fields.longOf(value, where).toInt() as Any }
        return TensorSpec(f.text("name"), shape, f.text("dtype"))
    }

    private fun preprocessing(raw: Any?): Preprocessing {
        val f = Fields(raw, "manifest.preprocessing", listOf("resize", "crop", "interpolation", "mean", "std"), listOf("channel_mean", "channel_std", "fit", "normalised_by"))
        if (f.has("normalised_by")) f.text("normalised_by")
        for (name in listOf("channel_mean", "channel_std")) {
            val values = if (f.has(name)) f.list(name) { value, at -> Fields.realOf(value, at) } else emptyList()
            if (values.size !in setOf(0, 3) || (name == "channel_std" && values.any { it <= 0 })) {
                throw Misfit("preprocessing.channel_mean, channel_std: three numbers each are wanted, deviations above zero")
            }
        }
        return Preprocessing(f.int("resize"), f.int("crop"), f.text("interpolation"), f.real("mean"), f.real("std"), if (f.has("fit")) f.text("fit") else "cut")
    }

    private fun language(raw: Any?): Language {
        val f = Fields(raw, "manifest.language", listOf("layers", "kv_heads", "head_dim", "hidden", "max_seq", "rope_theta", "eos_ids"), MORE)
        bound("language.window", if (f.has("window")) f.int("window") else 0, 0, 1 shl 20)
        bound("language.buckets", if (f.has("buckets")) f.int("buckets") else 0, 0, 1024)
        bound("language.distance", if (f.has("distance")) f.int("distance") else 0, 0, 1 shl 20)
        if (f.has("rope_theta_local")) f.real("rope_theta_local")
        return Language(
            f.int("layers"), f.int("kv_heads"), f.int("head_dim"), f.int("hidden"), f.int("max_seq"), f.real("rope_theta"),
            f.list("eos_ids") { value, at -> Fields.longOf(value, at).toInt() }, if (f.has("start_id") && f.any("start_id") != null) f.int("start_id") else null,
        )
    }

    private fun thresholds(raw: Any?): Thresholds {
        val f = Fields(raw, "manifest.thresholds", listOf("delta", "rho", "k", "delta_from"), listOf("paper_delta"))
        return Thresholds(f.real("delta"), f.real("rho"), f.int("k"), f.text("delta_from"), if (f.has("paper_delta")) f.maybeReal("paper_delta") else null)
    }

    private fun dataFile(raw: Any?, at: String): DataFile {
        val f = Fields(raw, at, listOf("name", "path", "bytes", "sha256"))
        return DataFile(f.text("name"), f.text("path"), f.long("bytes"), f.text("sha256"))
    }

    private fun prefixFile(raw: Any?, at: String): PrefixFile {
        val f = Fields(raw, at, listOf("prompt", "target", "tokens", "made_from", "path", "bytes", "sha256"))
        return PrefixFile(f.text("prompt"), f.text("target"), f.int("tokens"), f.text("made_from"), f.text("path"), f.long("bytes"), f.text("sha256"))
    }

    private fun channel(raw: Any?, at: String): Channel {
        val f = Fields(raw, at, listOf("name", "query", "dim"))
        return Channel(f.text("name"), f.text("query"), f.int("dim"))
    }

    private fun textPrompts(raw: Any?): TextPrompts {
        val f = Fields(raw, "manifest.text_prompts", emptyList(), listOf("query", "memory"))
        return TextPrompts(if (f.has("query")) f.text("query") else "", if (f.has("memory")) f.text("memory") else "")
    }

    private fun ranking(raw: Any?): Ranking {
        val f = Fields(raw, "manifest.ranking", emptyList(), WEIGHTS + "fitted")
        if (f.has("fitted")) f.text("fitted")
        val d = Ranking()
        fun w(name: String, default: Double) = if (f.has(name)) f.real(name) else default
        return Ranking(
            w("text", d.text), w("image", d.image), w("dpe", d.dpe), w("title", d.title), w("words", d.words), w("coverage", d.coverage),
            w("context_words", d.contextWords), w("context_coverage", d.contextCoverage), w("entity", d.entity), w("related", d.related), w("cue", d.cue), w("here", d.here),
            w("here_cosine", d.hereCosine), w("here_coverage", d.hereCoverage), w("here_cue", d.hereCue),
        )
    }

    /** Bounds on the sizes by which a reader allocates memory. */
    private fun within(m: Manifest) {
        val p = m.preprocessing
        val s = m.language
        if (p != null) {
            bound("preprocessing.crop", p.crop, 1, 2048)
            bound("preprocessing.resize", p.resize, p.crop, 4096)
        }
        if (s != null) {
            bound("language.layers", s.layers, 1, 512)
            bound("language.kv_heads", s.kvHeads, 1, 512)
            bound("language.head_dim", s.headDim, 2, 1024)
            bound("language.hidden", s.hidden, 1, 65_536)
            bound("language.max_seq", s.maxSeq, 1, 1 shl 17)
        }
        m.channels.forEachIndexed { n, channel -> bound("channels.$n.dim", channel.dim, 1, 65_536) }
        bound("thresholds.k", m.thresholds.k, 1, 1000)
        bound("dim", m.dim, 1, 65_536)
        if (s != null && "refine" !in m.prompts) throw Misfit("prompts: refine missing")
        val untrained = m.components.firstOrNull { it.role.startsWith("dpe_") && !it.trained }
        if (m.channels.isNotEmpty() && untrained != null) throw Misfit("channels: ${untrained.role} is not trained: its vectors would find nothing")
        for (c in m.channels) if (!CHANNEL.matches(c.name) || c.query !in ASKED) throw Misfit("channels: '${c.name.take(60)}' of queries by '${c.query.take(20)}'")
        if (m.artifacts.any { a -> (a.inputs + a.outputs).any { it.shape.isEmpty() } }) throw Misfit("artifacts: a tensor without a shape")
    }

    private fun bound(name: String, value: Int, least: Int, most: Int) {
        if (value < least || value > most) throw Misfit("$name: $value outside $least..$most")
    }
}
