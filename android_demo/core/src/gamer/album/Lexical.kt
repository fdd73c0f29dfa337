package gamer.album

import kotlin.math.ln

/** The ids of the memories that hold a word, and the BM25 score of each (negative, as FTS5 gives it). */
class WordHits(val ids: IntArray, val bm25: DoubleArray)

/**
 * Looks up the memories that hold a word or phrase. [Fts5Index] uses SQLite's index; [OwnIndex] needs no FTS5
 * and gives the same numbers.
 */
interface WordIndex {
    /** At most [limit] memories that hold [form], in any order. */
    fun matches(form: String, limit: Int): WordHits

    /** Whether a memory holds [form]. */
    fun holds(form: String): Boolean
}

/** The full-text index of SQLite. */
internal class Fts5Index(private val db: Database) : WordIndex {
    override fun matches(form: String, limit: Int): WordHits {
        val rows = db.query("SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? LIMIT ?", quoted(form), limit.toLong())
        return WordHits(IntArray(rows.size) { rows[it][0].asInt() }, DoubleArray(rows.size) { rows[it][1].asReal() })
    }

    override fun holds(form: String): Boolean = db.query("SELECT 1 FROM memories_fts WHERE memories_fts MATCH ? LIMIT 1", quoted(form)).isNotEmpty()

    /** In quotation marks, so that no word is read as FTS5 syntax. */
    private fun quoted(form: String): String = "\"" + form.replace("\"", "\"\"") + "\""

    companion object {
        /** Whether this SQLite was built with FTS5; Android's may lack it. */
        fun isThere(db: Database): Boolean = try {
            db.query("SELECT rowid FROM memories_fts WHERE memories_fts MATCH '\"a\"' LIMIT 1")
            true
        } catch (error: DatabaseError) {
            if ("no such module" in (error.message ?: "")) false else throw error
        }
    }
}

/**
 * A substitute for FTS5: the same tokenizer, phrases and BM25 (k1 = 1.2, b = 0.75; an inverse document frequency
 * is at least 1e-6). The words are held in memory, about 12 bytes for each word of the memories.
 */
internal class OwnIndex(private val texts: OwnWords) : WordIndex {
    private val numbers = HashMap<String, Int>(texts.terms.size * 2)
    /** Memory → its first word. */
    private val starts = IntArray(texts.lengths.size + 1)
    /** The memories that hold a term are holders[held[term]] until holders[held[term + 1]], ascending. */
    private val held = IntArray(texts.terms.size + 1)
    private val holders: IntArray
    private val averageLength: Double

    init {
        texts.terms.forEachIndexed { at, term -> numbers[term] = at }
        for (memory in texts.lengths.indices) starts[memory + 1] = starts[memory] + texts.lengths[memory]
        eachHolder { term, _ -> held[term + 1]++ }
        for (term in texts.terms.indices) held[term + 1] += held[term]
        holders = IntArray(held[texts.terms.size])
        val next = held.copyOf()
        eachHolder { term, memory -> holders[next[term]++] = memory }
        averageLength = texts.words.size.toDouble() / maxOf(1, texts.lengths.size)
    }

    /** Calls [visit] once for each term and memory that holds it, memory after memory. */
    private inline fun eachHolder(visit: (Int, Int) -> Unit) {
        val last = IntArray(texts.terms.size) { -1 }
        for (memory in texts.lengths.indices) for (at in starts[memory] until starts[memory + 1]) {
            val term = texts.words[at]
            if (last[term] != memory) visit(term, memory)
            last[term] = memory
        }
    }

    override fun matches(form: String, limit: Int): WordHits {
        val phrase = OwnWords.tokens(form).map { numbers[it] ?: return WordHits(IntArray(0), DoubleArray(0)) }.toIntArray()
        if (phrase.isEmpty()) return WordHits(IntArray(0), DoubleArray(0))
        val memories = holders.copyOfRange(held[phrase[0]], held[phrase[0] + 1])
        val times = IntArray(memories.size)
        var hits = 0
        for (memory in memories) {
            times[hits] = count(memory, phrase)
            if (times[hits] > 0) memories[hits++] = memory
        }
        val idf = ln((texts.lengths.size - hits + 0.5) / (hits + 0.5)).let { if (it <= 0.0) 1e-6 else it }
        val kept = minOf(hits, limit)
        return WordHits(
            IntArray(kept) { texts.ids[memories[it]] },
            DoubleArray(kept) {
                val often = times[it].toDouble()
                -1.0 * (idf * ((often * (K1 + 1.0)) / (often + K1 * (1 - B + B * texts.lengths[memories[it]] / averageLength))))
            },
        )
    }

    override fun holds(form: String): Boolean = matches(form, 1).ids.isNotEmpty()

    private fun count(memory: Int, phrase: IntArray): Int {
        var count = 0
        for (at in starts[memory]..starts[memory + 1] - phrase.size) {
            var same = 0
            while (same < phrase.size && texts.words[at + same] == phrase[same]) same++
            if (same == phrase.size) count++
        }
        return count
    }

    private companion object {
        const val K1 = 1.2
        const val B = 0.75
    }
}

/**
 * One word of the query, with the photos that hold it. [rows]: ascending photo rows; [bm25]: positive, of
 * each photo's best memory. [rarity]: the word's inverse document frequency over memories, ln(1 + (N - n +
 * 0.5) / (n + 0.5)).
 */
class Word(val text: String, val rows: IntArray, val bm25: FloatArray, val rarity: Double)

/**
 * All words of a query, over an album of [photos] rows. Common words are left out, since the vectors cover
 * their meaning.
 */
class WordScores(val words: List<Word>, val photos: Int) {
    /** By row: the sum over words; 0 for a photo that holds none. */
    fun bm25(): FloatArray = sums

    /** By row, in 0..1: the share of query words that the photo holds, weighted by rarity. */
    fun coverage(): FloatArray = shares

    private val sums: FloatArray by lazy {
        FloatArray(photos).also { for (word in words) for (i in word.rows.indices) it[word.rows[i]] += word.bm25[i] }
    }
    private val shares: FloatArray by lazy {
        val whole = words.sumOf { it.rarity }
        FloatArray(photos).also { for (word in words) for (row in word.rows) it[row] += (word.rarity / whole).toFloat() }
    }

    companion object {
        private const val MAX_WORDS = 64
        // Memories: a word held by more than min(MOST, LEAST + SHARE·N) of them hardly discriminates and is
        // skipped.
        private const val LEAST = 1_000
        private const val SHARE = 0.02
        private const val MOST = 10_000

        /**
         * Looks up each word of a query. [spellings]: for each word its forms, the plain one first. [owner]:
         * the photo row of each memory id.
         */
        fun lookUp(index: WordIndex, spellings: List<List<String>>, owner: IntArray, photos: Int): WordScores {
            val bound = minOf(MOST, (LEAST + SHARE * owner.size).toInt())
            val words = ArrayList<Word>()
            for (forms in spellings.take(MAX_WORDS)) {
                val hits = forms.map { index.matches(it, bound + 1) }
                if (hits.sumOf { it.ids.size } <= bound) words.add(word(forms, hits, owner))
            }
            return WordScores(words, photos)
        }

        private fun word(forms: List<String>, hits: List<WordHits>, owner: IntArray): Word {
            val ids = IntArray(hits.sumOf { it.ids.size })
            val scores = FloatArray(ids.size)
            var count = 0
            for (hit in hits) for (i in hit.ids.indices) {
                ids[count] = hit.ids[i]
                scores[count++] = (-hit.bm25[i]).toFloat()
            }
            if (ids.any { it < 0 || it >= owner.size }) throw ClassCastException("words of memories outside 0..${owner.size - 1}")
            // By photo: its row in the upper half, where its score is in the lower.
            val order = LongArray(count) { (owner[ids[it]].toLong() shl 32) or it.toLong() }.also { it.sort() }
            val rows = IntArray(count)
            val best = FloatArray(count)
            var last = -1
            for (one in order) {
                val row = (one shr 32).toInt()
                if (last < 0 || rows[last] != row) {
                    rows[++last] = row
                    best[last] = Float.NEGATIVE_INFINITY
                }
                best[last] = maxOf(best[last], scores[one.toInt()])
            }
            val held = if (forms.size == 1) count else ids.distinct().size
            val n = owner.size
            return Word(forms[0], rows.copyOf(last + 1), best.copyOf(last + 1), ln(1 + (n - held + 0.5) / (held + 0.5)))
        }
    }
}
