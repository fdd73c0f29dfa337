package gamer.tokens

/**
 * Byte-pair encoding: pairs are merged in the order in which training merged them (Sennrich et al. 2016).
 * CLIP's variant marks the ends of words.
 */
internal class Bpe(
    private val vocab: Map<String, Int>,
    merges: List<Pair<String, String>>,
    unknown: String?,
    private val prefix: String,
    private val suffix: String,
    private val ignoreMerges: Boolean,
) : Model {
    private class Merge(val rank: Int, val id: Int)

    private val unknownId: Int? = unknown?.let { vocab[it] }
    private val tokens = HashMap<Int, String>(vocab.size * 2)
    private val ranks = HashMap<Long, Merge>(merges.size * 2)
    private val cache = object : LinkedHashMap<String, IntArray>(256, 0.75f, true) {
        override fun removeEldestEntry(eldest: Map.Entry<String, IntArray>): Boolean = size > CACHED
    }

    init {
        for ((token, id) in vocab) tokens[id] = token
        for ((rank, merge) in merges.withIndex()) {
            val (a, b) = merge
            val joined = a + if (prefix.isNotEmpty() && b.startsWith(prefix)) b.substring(prefix.length) else b
            val ids = Triple(vocab[a], vocab[b], vocab[joined])
            if (ids.first == null || ids.second == null || ids.third == null) throw UnknownPart("a merge of tokens without ids ($a $b)")
            ranks[key(ids.first!!, ids.second!!)] = Merge(rank, ids.third!!)
        }
    }

    override fun idOf(token: String): Int? = vocab[token]

    override fun tokenOf(id: Int): String? = tokens[id]

    override fun tokens(): Sequence<Pair<String, Int>> = vocab.asSequence().map { it.toPair() }

    override fun encode(piece: String, out: IntList) {
        if (piece.isEmpty()) return
        if (piece.length > MAX_CACHED) return out.addAll(merged(piece))
        out.addAll(cache.getOrPut(piece) { merged(piece) })
    }

    private fun merged(piece: String): IntArray {
        if (ignoreMerges) vocab[piece]?.let { return intArrayOf(it) }
        val symbols = symbols(piece)
        while (symbols.size > 1) {
            var best = -1
            var found: Merge? = null
            for (i in 0 until symbols.size - 1) {
                val merge = ranks[key(symbols[i], symbols[i + 1])] ?: continue
                if (found == null || merge.rank < found.rank) {
                    found = merge
                    best = i
                }
            }
            if (found == null) break
            symbols[best] = found.id
            for (i in best + 1 until symbols.size - 1) symbols[i] = symbols[i + 1]
            symbols.truncate(symbols.size - 1)
        }
        return symbols.toArray()
    }

    /**
     * One id for each letter. A letter without an id becomes the unknown token, or is dropped if there is
     * none.
     */
    private fun symbols(piece: String): IntList {
        val out = IntList(piece.length)
        var i = 0
        while (i < piece.length) {
            val next = i + Character.charCount(piece.codePointAt(i))
            val letter = (if (i > 0) prefix else "") + piece.substring(i, next) + (if (next == piece.length) suffix else "")
            (vocab[letter] ?: unknownId)?.let { out.add(it) }
            i = next
        }
        return out
    }

    private fun key(a: Int, b: Int): Long = (a.toLong() shl 32) or b.toLong()

    private companion object {
        const val CACHED = 10_000
        const val MAX_CACHED = 256
    }
}
