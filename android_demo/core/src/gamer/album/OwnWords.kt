package gamer.album

import gamer.common.AlbumError
import gamer.common.PyText
import gamer.common.oneLine
import gamer.tokens.IntList
import java.nio.ByteBuffer
import java.nio.ByteOrder

/**
 * The words of all memories, as SQLite's tokenizer `porter unicode61` splits and stems them (FORMAT.md, Segment
 * `words`). Memories are in order of photo and id. [counts]: memories of each photo; [lengths]: words of each
 * memory; [words]: the number of each word in [terms], memory after memory.
 */
class OwnWords internal constructor(
    internal val counts: IntArray, internal val lengths: IntArray, internal val words: IntArray, internal val terms: List<String>,
) {
    /** The memories' ids, in their order; set by [read]. */
    internal var ids: IntArray = IntArray(0)

    fun toBytes(): ByteArray {
        val encoded = terms.map { it.toByteArray(Charsets.UTF_8) }
        val size = HEADER + 4L * (counts.size + lengths.size + words.size + terms.size) + encoded.sumOf { it.size.toLong() }
        val out = ByteBuffer.allocate(Math.toIntExact(size)).order(ByteOrder.LITTLE_ENDIAN)
        out.put(MAGIC.toByteArray()).putShort(VERSION.toShort()).putShort(0)
        for (n in listOf(counts.size, lengths.size, terms.size, words.size)) out.putLong(n.toLong())
        for (numbers in listOf(counts, lengths, words)) numbers.forEach { out.putInt(it) }
        encoded.forEach { out.putInt(it.size) }
        encoded.forEach { out.put(it) }
        return out.array()
    }

    /** What differs from the memories of the photos that are not [behind], in one line; null if nothing does. */
    private fun difference(db: Database, photos: Int, behind: BooleanArray): String? {
        val rows = db.query("SELECT photo, text FROM memories ORDER BY photo, id").groupBy({ it[0].asInt() }, { it[1].asText() })
        var memory = 0
        var word = 0
        var isLost = false
        val last = maxOf(counts.size, (rows.keys.maxOrNull() ?: -1) + 1)
        for (photo in 0 until last) {
            val said = List(counts.getOrElse(photo) { 0 }) { List(lengths[memory++]) { terms[words[word++]] } }
            if (photo < photos && behind[photo]) continue
            val texts = rows[photo]
            if (texts == null) isLost = isLost || (photo < photos && said.isNotEmpty())
            else if (photo >= counts.size || said != texts.map { tokens(it) }) return "segment $SEGMENT: not the words of the photo in row $photo"
        }
        return if (isLost) "segment $SEGMENT: words of photos that have no memories" else null
    }

    /** Collects memories, photo after photo. */
    private class Collector(known: List<String>) {
        private val numbers = HashMap<String, Int>(maxOf(16, known.size * 2))
        val terms = ArrayList(known)
        val counts = IntList()
        val lengths = IntList()
        val words = IntList()

        init {
            known.forEachIndexed { at, term -> numbers[term] = at }
        }

        fun add(text: String) {
            val tokens = tokens(text)
            lengths.add(tokens.size)
            for (token in tokens) words.add(numbers.getOrPut(token) { terms.add(token); terms.size - 1 })
        }

        fun made() = OwnWords(counts.toArray(), lengths.toArray(), words.toArray(), terms)
    }

    companion object {
        const val VERSION = 1
        const val SEGMENT = "words"
        private const val MAGIC = "GWRD"
        private const val HEADER = 40

        fun tokens(text: String): List<String> = Unicode61.tokens(text)

        /** The words of all memories as they are now, terms ascending by their UTF-8: what the segment stores. */
        internal fun build(db: Database, photos: Int): OwnWords {
            val found = Collector(emptyList())
            val rows = db.query("SELECT photo, text FROM memories ORDER BY photo, id")
            var at = 0
            for (photo in 0 until photos) {
                val first = at
                while (at < rows.size && rows[at][0].asInt() == photo) found.add(rows[at++][1].asText())
                found.counts.add(at - first)
            }
            val order = found.terms.indices.sortedWith { a, b -> compare(found.terms[a], found.terms[b]) }
            val numbers = IntArray(order.size).also { order.forEachIndexed { new, old -> it[old] = new } }
            val made = found.made()
            return OwnWords(made.counts, made.lengths, IntArray(made.words.size) { numbers[made.words[it]] }, order.map { made.terms[it] })
        }

        /** The words as they are now: from the segment where it is up to date, and from the memories. */
        internal fun read(db: Database, photos: Int): OwnWords {
            val stored = Segments.load(db, SEGMENT, VERSION, photos)
            val kept = try {
                stored?.let { fromBytes(it.blob) }?.takeIf { it.counts.size == stored.rows }
            } catch (error: AlbumError) {
                null
            }
            val behind = BooleanArray(photos) { kept == null }
            if (kept != null) for (row in stored!!.behind) behind[row] = true
            val rows = db.query("SELECT id, photo FROM memories ORDER BY photo, id")
            val found = Collector(kept?.terms ?: emptyList())
            var memory = 0 // in the segment
            var word = 0
            var at = 0 // in rows
            for (photo in 0 until maxOf(photos, kept?.counts?.size ?: 0)) {
                val had = kept?.counts?.getOrElse(photo) { 0 } ?: 0
                val first = at
                while (at < rows.size && rows[at][1].asInt() == photo) at++
                if (photo < photos && (behind[photo] || at - first != had)) {
                    db.query("SELECT text FROM memories WHERE photo=? ORDER BY id", photo.toLong()).forEach { found.add(it[0].asText()) }
                }
                for (n in 0 until had) {
                    val length = kept!!.lengths[memory++]
                    if (photo < photos && !behind[photo] && at - first == had) {
                        found.lengths.add(length)
                        for (k in 0 until length) found.words.add(kept.words[word + k])
                    }
                    word += length
                }
            }
            if (found.lengths.size != rows.size) throw ClassCastException("memories of no photo")
            return found.made().also { made -> made.ids = IntArray(rows.size) { rows[it][0].asInt() } }
        }

        /** A line for what is wrong with the words of an album without FTS5's table. */
        internal fun problems(db: Database, photos: Int): List<String> {
            val mark = db.query("SELECT value FROM main.meta WHERE key='words'").firstOrNull()?.get(0)
            val out = if (mark == null || mark == "own") emptyList() else listOf("meta: words is ${PyText.repr(mark.toString().take(60))}, not own")
            val stored = Segments.load(db, SEGMENT, VERSION, photos) ?: return out
            val kept = try {
                fromBytes(stored.blob)
            } catch (error: AlbumError) {
                return out + oneLine(error)
            }
            if (kept.counts.size != stored.rows) return out + "segment $SEGMENT: ${kept.counts.size} photos, its row says ${stored.rows}"
            return out + listOfNotNull(kept.difference(db, photos, Rows.mask(stored.behind, photos)))
        }

        internal fun fromBytes(blob: ByteArray): OwnWords {
            fun refuse(why: String): Nothing = throw AlbumError("segment of words: $why; rebuild the segment")
            if (blob.size < HEADER) refuse("shorter than its header")
            val bytes = ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN)
            val magic = String(ByteArray(4).also { bytes.get(it) }, Charsets.ISO_8859_1)
            val version = bytes.short.toInt()
            bytes.short
            if (magic != MAGIC || version != VERSION) refuse("magic '$magic', version $version, expected '$MAGIC', $VERSION")
            val sizes = LongArray(4) { bytes.long }
            if (sizes.any { it < 0 || it > blob.size / 4 } || HEADER + 4 * sizes.sum() > blob.size) refuse("${blob.size} bytes do not hold its numbers")
            val (photos, memories, terms, words) = sizes.map { it.toInt() }
            fun numbers(n: Int) = IntArray(n) { bytes.int }
            val made = listOf(numbers(photos), numbers(memories), numbers(words))
            val lengths = numbers(terms)
            if (made.any { part -> part.any { it < 0 } } || lengths.any { it < 0 } || lengths.sumOf { it.toLong() } != bytes.remaining().toLong()) {
                refuse("its terms do not fill it")
            }
            if (made[0].sumOf { it.toLong() } != memories.toLong() || made[1].sumOf { it.toLong() } != words.toLong() || made[2].any { it >= terms }) {
                refuse("its counts differ")
            }
            return OwnWords(made[0], made[1], made[2], lengths.map { String(ByteArray(it).also { part -> bytes.get(part) }, Charsets.UTF_8) })
        }

        /** Compares by code points, which is the order of the UTF-8. */
        private fun compare(a: String, b: String): Int {
            val (x, y) = a.toByteArray(Charsets.UTF_8) to b.toByteArray(Charsets.UTF_8)
            for (at in 0 until minOf(x.size, y.size)) if (x[at] != y[at]) return (x[at].toInt() and 0xFF) - (y[at].toInt() and 0xFF)
            return x.size - y.size
        }
    }
}
