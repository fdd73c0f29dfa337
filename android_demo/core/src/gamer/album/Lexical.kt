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
}

/** The full-text index of SQLite. */
internal class Fts5Index(private val db: Database) : WordIndex {
    override fun matches(form: String, limit: Int): WordHits {
        // Quoted, so that no word is read as FTS5 syntax.
        val quoted = "\"" + form.replace("\"", "\"\"") + "\""
        val rows = db.query("SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? LIMIT ?", quoted, limit.toLong())
        return WordHits(IntArray(rows.size) { rows[it][0].asInt() }, DoubleArray(rows.size) { rows[it][1].asReal() })
    }

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
        val first = holders.copyOfRange(held[phrase[0]], held[phrase[0] + 1])
        val hits = first.map { it to count(it, phrase) }.filter { it.second > 0 }
        val idf = ln((texts.lengths.size - hits.size + 0.5) / (hits.size + 0.5)).let { if (it <= 0.0) 1e-6 else it }
        val kept = hits.take(limit)
        return WordHits(
            IntArray(kept.size) { texts.ids[kept[it].first] },
            DoubleArray(kept.size) { at ->
                val often = kept[at].second.toDouble()
                -1.0 * (idf * ((often * (K1 + 1.0)) / (often + K1 * (1 - B + B * texts.lengths[kept[at].first] / averageLength))))
            },
        )
    }

    private fun count(memory: Int, phrase: IntArray): Int =
        (starts[memory]..starts[memory + 1] - phrase.size).count { at -> phrase.indices.all { texts.words[at + it] == phrase[it] } }

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
    fun bm25(): FloatArray {
        val total = FloatArray(photos)
        for (word in words) for (i in word.rows.indices) total[word.rows[i]] += word.bm25[i]
        return total
    }

    /** By row, in 0..1: the share of query words that the photo holds, weighted by rarity. */
    fun coverage(): FloatArray {
        val whole = words.sumOf { it.rarity }
        val held = FloatArray(photos)
        for (word in words) for (row in word.rows) held[row] += (word.rarity / whole).toFloat()
        return held
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
            val best = java.util.TreeMap<Int, Double>()
            val memories = HashSet<Int>()
            for (hit in hits) for (i in hit.ids.indices) {
                val id = hit.ids[i]
                if (id < 0 || id >= owner.size) throw ClassCastException("words of memories outside 0..${owner.size - 1}")
                memories.add(id)
                val row = owner[id]
                best[row] = maxOf(best[row] ?: Double.NEGATIVE_INFINITY, -hit.bm25[i])
            }
            val n = owner.size
            val held = if (forms.size == 1) hits[0].ids.size else memories.size
            return Word(
                forms[0], best.keys.toIntArray(), best.values.map { it.toFloat() }.toFloatArray(), ln(1 + (n - held + 0.5) / (held + 0.5)),
            )
        }
    }
}
