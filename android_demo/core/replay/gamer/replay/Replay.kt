package gamer.replay

import java.io.File
import kotlin.system.exitProcess

/** Replays the cases of one suite: a case → this core's result. An expected error is thrown. */
fun interface Player {
    fun play(case: Case): Any?
}

/**
 * Replays conformance fixtures. `Replay DIR…` prints `SUITE<TAB>CASE<TAB>pass|fail|skip<TAB>MESSAGE` for each
 * case; the exit status is 1 if any failed or was skipped.
 */
object Replay {
    @JvmStatic
    fun main(arguments: Array<String>) {
        val files = arguments.map { File(it) }.flatMap { if (it.isDirectory) it.listFiles { f -> f.name.endsWith(".json") }!!.sorted() else listOf(it) }
        if (files.isEmpty()) {
            System.err.println("no fixtures in ${arguments.joinToString(" ")}")
            exitProcess(1)
        }
        val isWhole = files.map { Suite.read(it) }.map { replayed(it) }.all { it }
        System.out.flush()
        exitProcess(if (isWhole) 0 else 1)
    }

    /** Replays a file; returns whether every case passed. */
    private fun replayed(suite: Suite): Boolean {
        val player = try {
            Players.of(suite)
        } catch (error: Exception) {
            for (case in suite.cases) told(suite, case, "fail", "the suite's shared part: $error")
            return false
        }
        var isWhole = true
        for (case in suite.cases) {
            val message = if (player == null) "unknown suite" else verdict(suite, case, player)
            if (message != null) isWhole = false
            told(suite, case, if (message == null) "pass" else if (player == null) "skip" else "fail", message ?: "")
        }
        return isWhole
    }

    private fun told(suite: Suite, case: Case, verdict: String, message: String) =
        println("${suite.name}\t${case.id}\t$verdict\t${message.replace('\t', ' ').replace('\n', ' ')}")

    /** The reason why the case fails; null if it passes. */
    private fun verdict(suite: Suite, case: Case, player: Player): String? {
        val found = try {
            player.play(case)
        } catch (error: Throwable) {
            val wanted = case.error ?: return "$error at ${error.stackTrace.firstOrNull { it.className.startsWith("gamer") }}"
            return if (wanted in (error.message ?: "")) null else "the message ${error.message} does not hold $wanted"
        }
        if (case.error != null) return "no error where one with ${case.error} is wanted"
        return difference(case.out, found, suite.tolerance)
    }
}
