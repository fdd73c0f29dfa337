package gamer.bundle

import org.json.JSONArray
import org.json.JSONObject

/** A JSON value that does not fit its field. The message begins with the field's path. */
internal class Misfit(message: String) : RuntimeException(message)

/**
 * One JSON object with a fixed set of fields: a missing, unknown or mistyped field raises [Misfit]. [at]: the
 * object's path, for messages.
 */
internal class Fields(raw: Any?, private val at: String, required: List<String>, optional: List<String> = emptyList()) {
    private val raw: JSONObject = raw as? JSONObject ?: throw wanted(at, at.substringAfterLast('.'), raw)

    init {
        val missing = required.filter { !this.raw.has(it) }
        val unknown = names(this.raw).filter { it !in required && it !in optional }.sorted()
        if (missing.isNotEmpty()) throw Misfit("$at: ${missing.joinToString(", ")} missing")
        if (unknown.isNotEmpty()) throw Misfit("$at: ${unknown.joinToString(", ")} unknown")
    }

    fun has(name: String): Boolean = raw.has(name)

    fun any(name: String): Any? = raw.get(name).takeIf { it != JSONObject.NULL }

    fun at(name: String): String = "$at.$name"

    fun text(name: String): String = textOf(any(name), at(name))

    fun flag(name: String): Boolean = any(name) as? Boolean ?: throw wanted(at(name), "bool", any(name))

    fun long(name: String): Long = longOf(any(name), at(name))

    fun int(name: String): Int = long(name).let { if (it in Int.MIN_VALUE..Int.MAX_VALUE) it.toInt() else throw Misfit("${at(name)}: $it is too large") }

    fun real(name: String): Double = realOf(any(name), at(name))

    fun maybeReal(name: String): Double? = if (any(name) == null) null else real(name)

    fun <T> list(name: String, read: (Any?, String) -> T): List<T> {
        val array = any(name) as? JSONArray ?: throw wanted(at(name), "tuple", any(name))
        return (0 until array.length()).map { read(array.get(it).takeIf { v -> v != JSONObject.NULL }, "${at(name)}[$it]") }
    }

    fun texts(name: String): Map<String, String> {
        val found = any(name) as? JSONObject ?: throw wanted(at(name), "dict", any(name))
        return names(found).associateWith { textOf(found.get(it), "${at(name)}.$it") }
    }

    fun reals(name: String): Map<String, Double> {
        val found = any(name) as? JSONObject ?: throw wanted(at(name), "dict", any(name))
        return names(found).associateWith { realOf(found.get(it), "${at(name)}.$it") }
    }

    companion object {
        /** The names of an object's fields, in its order. */
        fun names(of: JSONObject): List<String> = of.keys().asSequence().map { it.toString() }.toList()

        fun textOf(raw: Any?, at: String): String = raw as? String ?: throw wanted(at, "str", raw)

        fun longOf(raw: Any?, at: String): Long = when (raw) {
            is Int -> raw.toLong()
            is Long -> raw
            else -> throw wanted(at, "int", raw)
        }

        fun realOf(raw: Any?, at: String): Double {
            val found = if (raw is Number) raw.toDouble() else throw wanted(at, "float", raw)
            if (found.isNaN() || found.isInfinite()) throw wanted(at, "float", raw)
            return found
        }

        private fun wanted(at: String, kind: String, raw: Any?): Misfit = Misfit("$at: $kind is wanted, not ${nameOf(raw)}")

        private fun nameOf(raw: Any?): String = when (raw) {
            null, JSONObject.NULL -> "NoneType"
            is Boolean -> "bool"
            is Int, is Long -> "int"
            is Number -> "float"
            is String -> "str"
            is JSONArray -> "list"
            else -> "dict"
        }
    }
}
