package gamer.bench

import gamer.bundle.Bundle
import gamer.bundle.MANIFEST_NAME
import gamer.image.Pixels
import gamer.models.Generate
import gamer.search.Engine
import java.io.File
import java.time.LocalDateTime

/**
 * Measures the layers of searches, and each component of the bundle by itself. The first round is not
 * counted.
 */
class Bench(private val engine: Engine) {
    private val manifest = engine.models.manifest

    /** The times of all layers for [queries], [rounds] times. */
    fun layers(queries: List<String>, rounds: Int, now: LocalDateTime): List<Row> {
        val samples = LinkedHashMap<String, ArrayList<Long>>()
        for (round in 0..rounds) for (query in queries) {
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
     * The times of the towers, of the router with its experts, and of one refinement's prefill and decoding,
     * [rounds] times each. Components that the bundle lacks are left out.
     */
    fun components(rounds: Int): List<Row> {
        val models = engine.models
        val rows = arrayListOf(timed("text_tower", rounds) { models.text.encode("a dog on the beach at sunset") })
        if (manifest.preprocessing != null) {
            val photo = Pixels(640, 480, ByteArray(3 * 640 * 480) { (it * 31 % 251).toByte() })
            rows.add(timed("image_tower", rounds) { models.see(photo) })
            val patches = models.see(photo).patches
            if (patches != null && manifest.artifacts.any { it.role == "dpe_router" }) rows.add(timed("dpe", rounds) { models.project(patches) })
        }
        if (manifest.language != null) rows += language(rounds)
        return rows
    }

    private fun language(rounds: Int): List<Row> {
        val prompt = engine.models.prompt("refine", "show me photos where my dog swims in the lake")
        val prefill = ArrayList<Long>()
        val decode = ArrayList<Long>()
        for (round in 0..rounds) {
            val said = engine.models.languageModel.generate(Generate(prompt.ids, TOKENS))
            if (round == 0) continue
            prefill.add(said.firstNs)
            if (said.ids.size > 1) decode.add(said.decodeNs / (said.ids.size - 1))
        }
        return listOf(Row("component", "llm_prefill", prefill.toLongArray()), Row("component", "llm_decode", decode.toLongArray())).filter { it.samples.isNotEmpty() }
    }

    private fun timed(name: String, rounds: Int, work: () -> Any): Row {
        work()
        return Row("component", name, LongArray(rounds) {
            val begin = System.nanoTime()
            work()
            System.nanoTime() - begin
        })
    }

    /** SHA-256 of the bundle's manifest, which contains the hashes of all its files. */
    fun bundleSha256(): String = Bundle.digest(File(engine.models.bundle.folder, MANIFEST_NAME)).second

    private companion object {
        const val TOKENS = 16
    }
}
