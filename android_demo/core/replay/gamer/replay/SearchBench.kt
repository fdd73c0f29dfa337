package gamer.replay

import gamer.common.PyText
import gamer.jvm.JdbcDatabase
import gamer.models.OrtBackend
import gamer.search.Answer
import gamer.search.WarmEngine
import java.io.File
import java.lang.management.ManagementFactory
import java.time.LocalDate
import org.json.JSONObject

/**
 * `BUNDLE ALBUM ROUNDS DATE K QUERY...`: what tools/phone_search.py measures of searches: the first one, which opens the bundle and
 * the album, and ROUNDS of all queries after as many that do not count, since the JVM compiles what is used often. Prints one JSON
 * object; times in milliseconds, of the searching thread's processor but for `first_ms`.
 */
object SearchBench {
    private val threads = ManagementFactory.getThreadMXBean()

    @JvmStatic
    fun main(arguments: Array<String>) {
        val (bundle, album, rounds, day, k) = arguments
        val queries = arguments.drop(5)
        val cache = File(album).absoluteFile.parentFile // the models' self-checks are kept, as in the app
        val rules = File(System.getProperty("gamer.rules")).readText()
        WarmEngine(File(bundle), File(album), rules, OrtBackend, JdbcDatabase, cache = cache).use { warm ->
            var answer: Answer? = null
            fun spent(query: String): Double {
                val begin = threads.currentThreadCpuTime
                answer = warm.get().also { it.clock = threads::getCurrentThreadCpuTime }.search(query, k.toInt(), now = LocalDate.parse(day).atStartOfDay())
                return (threads.currentThreadCpuTime - begin) / 1e6
            }
            val begin = System.nanoTime()
            val firstCpu = spent(queries[0])
            val first = (System.nanoTime() - begin) / 1e6
            val ids = queries.map { query -> spent(query).let { list(answer!!.hits.map { it.id }) } }
            repeat(rounds.toInt()) { queries.forEach { spent(it) } }
            val searches = List(rounds.toInt()) { queries.map { query -> spent(query).let { all -> JSONObject(answer!!.trace.milliseconds + ("all" to all)) } } }
            val peak = File("/proc/self/status").readLines().first { it.startsWith("VmHWM") }.filter { it.isDigit() }.toInt() / 1024
            println(json("first_ms" to PyText.round(first, 1), "first_cpu_ms" to PyText.round(firstCpu, 1), "peak_mb" to peak, "ids" to list(ids), "searches" to list(searches.flatten())))
        }
    }
}
