package gamer.replay

import gamer.common.PyText
import gamer.jvm.JdbcDatabase
import gamer.models.OrtBackend
import gamer.search.WarmEngine
import java.io.File
import java.time.LocalDateTime
import org.json.JSONObject

/**
 * `BUNDLE ALBUM ROUNDS`: times what a person waits for, in an app that keeps its engine: the first search, which opens the
 * bundle and the album, and later ones. Prints one JSON object; times in milliseconds.
 */
object SearchBench {
    private val NOW = LocalDateTime.of(2025, 3, 1, 0, 0)
    private val QUERIES = listOf(
        "the dog on the beach", "birthday cake in the garden", "the castle we saw last summer", "concert in Berlin", "snow in 2015", "my cat in the kitchen",
        "market in Paris in spring 2019", "the glacier not in 2012",
    )

    @JvmStatic
    fun main(arguments: Array<String>) {
        val (bundle, album, rounds) = arguments
        val cache = File(album).absoluteFile.parentFile // the models' self-checks are kept, as in the app
        val rules = File(System.getProperty("gamer.rules")).readText()
        WarmEngine(File(bundle), File(album), rules, OrtBackend, JdbcDatabase, cache = cache).use { warm ->
            fun spent(query: String): Double {
                val begin = System.nanoTime()
                warm.get().search(query, SHOWN, now = NOW)
                return (System.nanoTime() - begin) / 1e6
            }
            val first = spent(QUERIES[0])
            QUERIES.forEach { spent(it) } // the JVM compiles what is used often
            val later = (0 until rounds.toInt()).flatMap { QUERIES.map(::spent) }.sorted()
            println(told(warm, first, later))
        }
    }

    private fun told(warm: WarmEngine, first: Double, later: List<Double>): JSONObject = json(
        "photos" to warm.get().album.size, "bundle" to warm.get().models.manifest.recipe, "first_ms" to PyText.round(first, 1), "searches" to later.size,
        "p50_ms" to PyText.round(later[later.size / 2], 1), "p95_ms" to PyText.round(later[later.size * 95 / 100], 1),
        "most_ms" to PyText.round(later.last(), 1), "hits" to SHOWN, "java" to System.getProperty("java.version"), "kotlin" to KotlinVersion.CURRENT.toString(), "onnxruntime" to OrtBackend.version,
        "models" to warm.get().models.describe(),
    )

    private const val SHOWN = 60
}
