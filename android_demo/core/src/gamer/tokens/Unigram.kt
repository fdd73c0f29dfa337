package gamer.tokens

import org.json.JSONArray
import org.json.JSONObject

/**
 * SentencePiece's unigram model (Kudo 2018): of all ways to cut a piece of text into pieces of the vocabulary,
 * the one of the greatest sum of scores. A character that no piece begins with costs [UNKNOWN_COST] more than
 * the worst piece; adjacent ones become one unknown token, or their bytes.
 *
 * The pieces are one array of bytes with sorted offsets, 20 bytes each and not an object each, since a
 * multilingual vocabulary has 250,000.
 */
internal class Unigram(vocab: JSONArray, private val unknownId: Int, byteFallback: Boolean) : Model {
    private val bytes: ByteArray
    private val begins: IntArray // by id, and the end of the last
    private val scores = DoubleArray(vocab.length()) { vocab.getJSONArray(it).getDouble(1) }
    private val sorted: IntArray // ids in the order of their bytes
    private val unknownScore: Double = (scores.minOrNull() ?: 0.0) - UNKNOWN_COST
    private val byteIds: IntArray?

    init {
        if (unknownId !in scores.indices) throw UnknownPart("a Unigram vocabulary without an unknown token")
        val pieces = java.io.ByteArrayOutputStream()
        begins = IntArray(scores.size + 1)
        for (id in scores.indices) {
            pieces.write(vocab.getJSONArray(id).getString(0).toByteArray())
            begins[id + 1] = pieces.size()
        }
        bytes = pieces.toByteArray()
        // Of two pieces with the same text the later one counts.
        val order = scores.indices.sortedWith { a, b -> compared(a, b).let { if (it != 0) it else b - a } }
        sorted = order.filterIndexed { n, id -> n == 0 || compared(order[n - 1], id) != 0 }.toIntArray()
        byteIds = if (byteFallback) IntArray(256) { idOf("<0x%02X>".format(it)) ?: -1 }.takeIf { ids -> ids.all { it >= 0 } } else null
    }

    private fun length(id: Int): Int = begins[id + 1] - begins[id]

    private fun compared(a: Int, b: Int): Int {
        for (n in 0 until minOf(length(a), length(b))) {
            val difference = (bytes[begins[a] + n].toInt() and 255) - (bytes[begins[b] + n].toInt() and 255)
            if (difference != 0) return difference
        }
        return length(a) - length(b)
    }

    /** The first place in [low, high) of [sorted] whose piece has at [depth] a byte of [least] or more. */
    private fun first(low: Int, high: Int, depth: Int, least: Int): Int {
        var a = low
        var b = high
        while (a < b) {
            val middle = (a + b) ushr 1
            val id = sorted[middle]
            val value = if (depth < length(id)) bytes[begins[id] + depth].toInt() and 255 else -1
            if (value < least) a = middle + 1 else b = middle
        }
        return a
    }

    override fun idOf(token: String): Int? = idOf(token.toByteArray(), 0, token.toByteArray().size)

    private fun idOf(text: ByteArray, from: Int, to: Int): Int? {
        var low = 0
        var high = sorted.size
        for (at in from until to) {
            val byte = text[at].toInt() and 255
            low = first(low, high, at - from, byte)
            high = first(low, high, at - from, byte + 1)
        }
        return if (low < high && length(sorted[low]) == to - from) sorted[low] else null
    }

    override fun tokenOf(id: Int): String? = if (id in scores.indices) String(bytes, begins[id], length(id)) else null

    override fun tokens(): Sequence<Pair<String, Int>> = scores.indices.asSequence().map { tokenOf(it)!! to it }

    override fun encode(piece: String, out: IntList) {
        val text = piece.toByteArray()
        val from = bestStarts(text)
        // Backwards along the best path; adjacent unknown characters are one.
        val spans = ArrayList<Span>()
        var end = text.size
        while (end > 0) {
            val begin = from.starts[end]
            val last = spans.lastOrNull()
            if (from.ids[end] == unknownId && last != null && last.isUnknown) spans[spans.size - 1] = Span(begin, last.end, true)
            else spans.add(Span(begin, end, from.ids[end] == unknownId))
            end = begin
        }
        for (span in spans.asReversed()) {
            val id = idOf(text, span.begin, span.end)
            if (id != null) out.add(id)
            else if (byteIds != null) for (at in span.begin until span.end) out.add(byteIds[text[at].toInt() and 255])
            else out.add(unknownId)
        }
    }

    private class Span(val begin: Int, val end: Int, val isUnknown: Boolean)

    private class Path(size: Int) {
        val starts = IntArray(size) { -1 }
        val ids = IntArray(size)
        val scores = DoubleArray(size)

        fun offer(end: Int, score: Double, start: Int, id: Int) {
            if (starts[end] >= 0 && score <= scores[end]) return
            starts[end] = start
            ids[end] = id
            scores[end] = score
        }
    }

    /** For each position where a piece ends: the best path's last piece. */
    private fun bestStarts(text: ByteArray): Path {
        val path = Path(text.size + 1)
        var start = 0
        while (start < text.size) {
            val letter = lengthOfLetter(text[start])
            val here = path.scores[start]
            var hasLetter = false
            var low = 0
            var high = sorted.size
            var at = start
            while (at < text.size && low < high) {
                val byte = text[at].toInt() and 255
                low = first(low, high, at - start, byte)
                high = first(low, high, at - start, byte + 1)
                at++
                // The shortest piece of a range is its first: this prefix itself, if it is a piece.
                if (low < high && length(sorted[low]) == at - start) {
                    path.offer(at, here + scores[sorted[low]], start, sorted[low])
                    if (at - start == letter) hasLetter = true
                }
            }
            if (!hasLetter) path.offer(start + letter, here + unknownScore, start, unknownId)
            start += letter
        }
        return path
    }

    private fun lengthOfLetter(first: Byte): Int = (first.toInt() and 255).let { if (it < 0x80) 1 else if (it < 0xE0) 2 else if (it < 0xF0) 3 else 4 }

    companion object {
        private const val UNKNOWN_COST = 10.0

        fun read(model: JSONObject): Unigram = Unigram(model.getJSONArray("vocab"), model.optInt("unk_id", -1), model.optBoolean("byte_fallback"))
    }
}
