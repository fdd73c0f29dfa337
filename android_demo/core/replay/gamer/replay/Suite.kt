package gamer.replay

import java.io.File
import org.json.JSONArray
import org.json.JSONObject

/**
 * One case of a conformance fixture: its input [given], and either the expected output [out] or a part of the
 * expected [error]'s message.
 */
class Case(val id: String, val given: JSONObject, val out: Any?, val error: String?)

/**
 * A conformance fixture (tests/golden/conformance/README.md). [folder]: the folder to which its paths are
 * relative.
 */
class Suite(val name: String, val tolerance: Double, val shared: JSONObject, val cases: List<Case>, val folder: File) {
    /** The file at a path of the fixture. */
    fun file(path: String): File = File(path).let { if (it.isAbsolute) it else File(folder, path) }

    companion object {
        private const val FORMAT = 1

        fun read(file: File): Suite {
            val raw = JSONObject(file.readText())
            val format = raw.getInt("format")
            require(format == FORMAT) { "$file: conformance format $format, this program reads $FORMAT" }
            val cases = raw.getJSONArray("cases")
            return Suite(
                raw.getString("suite"), raw.getDouble("tolerance"), raw.getJSONObject("shared"),
                (0 until cases.length()).map { cases.getJSONObject(it) }.map {
                    Case(it.getString("id"), it.getJSONObject("in"), it.opt("out"), if (it.has("error")) it.getString("error") else null)
                },
                file.absoluteFile.parentFile,
            )
        }
    }
}

/**
 * A description of the first difference between two JSON values; null if they agree: fractional numbers
 * within [tolerance], all other values exactly.
 */
fun difference(wanted: Any?, found: Any?, tolerance: Double, at: String = "out"): String? {
    val a = wanted.takeIf { it != JSONObject.NULL }
    val b = found.takeIf { it != JSONObject.NULL }
    if (a is JSONObject && b is JSONObject) {
        val names = (keys(a) + keys(b)).toSortedSet()
        for (name in names) {
            if (a.has(name) != b.has(name)) return "$at.$name: ${if (a.has(name)) "missing" else "not wanted"}"
            difference(a.get(name), b.get(name), tolerance, "$at.$name")?.let { return it }
        }
        return null
    }
    if (a is JSONArray && b is JSONArray) {
        if (a.length() != b.length()) return "$at: ${b.length()} values where ${a.length()} are wanted: ${short(b)} for ${short(a)}"
        for (i in 0 until a.length()) difference(a.get(i), b.get(i), tolerance, "$at[$i]")?.let { return it }
        return null
    }
    if (a is Number && b is Number) {
        val whole = (a is Int || a is Long) && (b is Int || b is Long)
        val agrees = if (whole) a.toLong() == b.toLong() else Math.abs(a.toDouble() - b.toDouble()) <= tolerance || a.toDouble() == b.toDouble()
        return if (agrees) null else "$at: $b where $a is wanted"
    }
    return if (a == b) null else "$at: ${short(b)} where ${short(a)} is wanted"
}

private fun short(value: Any?): String = value.toString().let { if (it.length > 160) it.take(160) + "…" else it }.replace('\n', ' ').replace('\t', ' ')

private fun keys(of: JSONObject): List<String> = of.keys().asSequence().map { it.toString() }.toList()
