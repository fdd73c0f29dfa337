package gamer.bench

import gamer.bundle.Bundle
import gamer.bundle.MANIFEST_NAME
import gamer.image.Pixels
import gamer.models.Generate
import gamer.models.Models
import gamer.models.Ort
import gamer.models.Units
import gamer.search.Engine
import java.io.File
import java.time.LocalDateTime

/**
 * Measures the layers of searches, and each component of the bundle by itself, on the inputs of `gamer bench latency`. The first
 * round is not counted. [progress]: called with what is measured; it may throw to end the measurement.
 */
class Bench(private val models: Models, private val progress: (String) -> Unit = {}) {
    private val manifest = models.manifest

    /** The times of all layers for [queries], [rounds] times. */
    fun layers(engine: Engine, queries: List<String>, rounds: Int, now: LocalDateTime = LocalDateTime.now()): List<Row> {
        val samples = LinkedHashMap<String, ArrayList<Long>>()
        for (round in 0..rounds) for (query in queries) {
            progress("searches, $round of $rounds")
            val begin = System.nanoTime()
            val spent = engine.search(query, now = now).trace.milliseconds
            val whole = System.nanoTime() - begin
            if (round == 0) continue
            for ((layer, ms) in spent) samples.getOrPut(layer) { ArrayList() }.add((ms * 1e6).toLong())
            samples.getOrPut("all") { ArrayList() }.add(whole)
        }
        return samples.map { (layer, kept) -> Row(layer, "", kept.toLongArray()) }
    }

    /**
     * The times of the towers, of the router and each expert, of the router with those that it chooses, and of one refinement's
     * prefill and decoding, [rounds] times each. Components that the bundle lacks are left out.
     */
    fun components(rounds: Int): List<Row> {
        val rows = arrayListOf(timed("text_tower", rounds) { models.text.encode(QUERY) })
        val roles = manifest.artifacts.filter { it.target == models.target }.map { it.role }
        if ("image_tower" in roles) {
            val photo = Pixels(WIDTH, HEIGHT, ByteArray(3 * WIDTH * HEIGHT) { (it * 31 % 251).toByte() })
            rows.add(timed("image_tower", rounds) { models.see(photo) })
            val patches = models.see(photo).patches
            if (patches != null && "dpe_router" in roles) {
                val given = mapOf("patches" to patches)
                for (role in roles.filter { it.startsWith("dpe_") }.sorted().reversed()) rows.add(timed(role, rounds) { models.session(role).run(given) })
                rows.add(timed("dpe", rounds) { models.project(patches) })
            }
        }
        if (manifest.language != null && "llm_decoder" in roles) rows += language(rounds)
        return rows
    }

    private fun language(rounds: Int): List<Row> {
        val prompt = models.prompt("refine", QUERY)
        val prefill = ArrayList<Long>()
        val after = ArrayList<Long>()
        val decode = ArrayList<Long>()
        for (round in 0..rounds) {
            progress("llm, $round of $rounds")
            val said = models.languageModel.generate(Generate(prompt.ids, TOKENS, isPlain = true))
            models.languageModel.forget()
            val known = prompt.prefix?.let { models.languageModel.generate(Generate(prompt.ids, 1, prefix = it)) }
            if (round == 0) continue
            prefill.add(said.firstNs)
            known?.let { after.add(it.firstNs) }
            if (said.ids.size > 1) decode.add(said.decodeNs / (said.ids.size - 1))
        }
        return listOf("llm_prefill" to prefill, "llm_prefill_after_prefix" to after, "llm_decode" to decode)
            .filter { it.second.isNotEmpty() }.map { (step, samples) -> Row("component", step, samples.toLongArray()) }
    }

    private fun timed(name: String, rounds: Int, work: () -> Any): Row {
        fun once(round: Int): Long {
            progress("$name, $round of $rounds")
            val begin = System.nanoTime()
            work()
            return System.nanoTime() - begin
        }
        val first = once(0)
        return Row("component", name, LongArray(rounds) { once(it + 1) }, first)
    }

    /** SHA-256 of the bundle's manifest, which contains the hashes of all its files. */
    fun bundleSha256(): String = Bundle.digest(File(models.bundle.folder, MANIFEST_NAME)).second

    companion object {
        const val QUERY = "coffee I photographed last spring"
        private const val WIDTH = 800
        private const val HEIGHT = 600
        private const val TOKENS = 16
        private const val PROFILED = 3

        /**
         * The operators of every component, by ONNX Runtime's profiler; each is the mean over the component's runs. [open]: opens the
         * bundle with a backend. [folder]: for the profiles, which are removed again.
         */
        fun operators(open: (Ort) -> Models, spins: Boolean, folder: File, progress: (String) -> Unit): List<Operator> {
            folder.deleteRecursively()
            folder.mkdirs()
            try {
                open(Ort(spins, folder)).use { Bench(it) { said -> progress("operators: $said") }.components(PROFILED) }
                return folder.listFiles().orEmpty().sorted().flatMap(::profiled)
            } finally {
                folder.deleteRecursively()
            }
        }

        /** One profile: an event in each line, named after its component. */
        private fun profiled(file: File): List<Operator> {
            var runs = 0
            val spent = LinkedHashMap<String, Pair<Int, Long>>()
            file.forEachLine { line ->
                if ("\"model_run\"" in line) runs++
                val kind = NODE.find(line)?.groupValues?.get(1)
                val us = DURATION.find(line)?.groupValues?.get(1)?.toLong()
                if (kind == null || us == null || "_kernel_time\"" !in line) return@forEachLine
                val (times, sum) = spent[kind] ?: (0 to 0L)
                spent[kind] = times + 1 to sum + us
            }
            val step = file.name.substringBefore(Ort.PROFILE)
            return spent.map { (kind, all) -> Operator(step, kind, all.first / maxOf(runs, 1), all.second * 1e3 / maxOf(runs, 1)) }
        }

        private val NODE = Regex("\"op_name\" ?: ?\"([^\"]*)\"")
        private val DURATION = Regex("\"dur\" ?: ?([0-9]{1,18})")

        /** What a measurement calls a backend. */
        fun named(target: String, units: Units): String = if (units.isAccelerator) "$target:${units.said}" else target
    }
}
