package gamer.models

import gamer.common.RuntimeFailure
import gamer.tokens.ByteAlphabet
import org.json.JSONObject

/**
 * A tokenizer's ordinary tokens as bytes, sorted. Special tokens are left out: a constrained text cannot
 * contain them.
 */
class Vocabulary private constructor(private val tokens: Map<Int, ByteArray>) {
    private class Node {
        val children = java.util.TreeMap<Int, Node>()
        val ids = ArrayList<Int>(1)
    }

    private val root = Node()

    init {
        for ((id, bytes) in tokens) {
            if (bytes.isEmpty()) continue
            var at = root
            for (byte in bytes) at = at.children.getOrPut(byte.toInt() and 0xFF) { Node() }
            at.ids.add(id)
        }
    }

    fun bytesOf(id: Int): ByteArray? = tokens[id]

    /**
     * Ids of all tokens that may follow [state], ascending. The tokens are traversed as a trie, only where
     * the automaton can follow.
     */
    fun allowed(grammar: Grammar, state: Set<Int>): List<Int> {
        val found = ArrayList<Int>()
        val todo = arrayListOf(state to root)
        while (todo.isNotEmpty()) {
            val (at, node) = todo.removeAt(todo.size - 1)
            for (byte in grammar.bytesAfter(at)) {
                val child = node.children[byte] ?: continue
                found.addAll(child.ids)
                if (child.children.isNotEmpty()) todo.add(grammar.step(at, byteArrayOf(byte.toByte())) to child)
            }
        }
        return found.sorted()
    }

    companion object {
        /**
         * Reads the text of a tokenizer.json. Raises [RuntimeFailure] for a tokenizer that is not byte-level
         * BPE.
         */
        fun read(json: String): Vocabulary {
            val raw = JSONObject(json)
            if (raw.optJSONObject("decoder")?.optString("type") != "ByteLevel") {
                throw RuntimeFailure("constrained output needs a byte-level BPE tokenizer: this model's is of another kind")
            }
            val added = raw.getJSONArray("added_tokens").let { a -> (0 until a.length()).map { a.getJSONObject(it).getInt("id") }.toSet() }
            val vocab = raw.getJSONObject("model").getJSONObject("vocab")
            val tokens = HashMap<Int, ByteArray>()
            for (text in vocab.keys().asSequence().map { it.toString() }) {
                val id = vocab.getInt(text)
                if (id !in added) ByteAlphabet.bytes(text)?.let { tokens[id] = it }
            }
            return Vocabulary(tokens)
        }
    }
}
