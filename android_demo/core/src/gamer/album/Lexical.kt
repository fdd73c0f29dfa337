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
 * A substitute for FTS5, computed from the table `memories`: the same tokenizer, phrases and BM25 (k1 = 1.2,
 * b = 0.75; an inverse document frequency is at least 1e-6). The words are held in memory, about 60 bytes for
 * each word of the memories. Reading 100,000 memories takes seconds, so the app ships an SQLite with FTS5
 * where it can.
 */
internal class OwnIndex(memories: List<Pair<Int, String>>) : WordIndex {
    private class Document(val id: Int, val words: IntArray)

    private val numbers = HashMap<String, Int>()
    private val documents: List<Document>
    private val holders = ArrayList<gamer.tokens.IntList>()
    private val averageLength: Double

    init {
        documents = memories.map { (id, text) -> Document(id, words(text)) }
        for ((at, document) in documents.withIndex()) for (word in document.words.distinct()) holders[word].add(at)
        averageLength = documents.sumOf { it.words.size.toLong() }.toDouble() / maxOf(1, documents.size)
    }

    private fun words(text: String): IntArray {
        val tokens = Unicode61.tokens(text)
        return IntArray(tokens.size) { at ->
            numbers.getOrPut(tokens[at]) {
                holders.add(gamer.tokens.IntList(2))
                holders.size - 1
            }
        }
    }

    override fun matches(form: String, limit: Int): WordHits {
        val phrase = Unicode61.tokens(form).map { numbers[it] ?: return WordHits(IntArray(0), DoubleArray(0)) }.toIntArray()
        if (phrase.isEmpty()) return WordHits(IntArray(0), DoubleArray(0))
        val first = holders[phrase[0]]
        val hits = (0 until first.size).map { documents[first[it]] }.map { it to count(it.words, phrase) }.filter { it.second > 0 }
        val idf = ln((documents.size - hits.size + 0.5) / (hits.size + 0.5)).let { if (it <= 0.0) 1e-6 else it }
        val kept = hits.take(limit)
        return WordHits(
            IntArray(kept.size) { kept[it].first.id },
            DoubleArray(kept.size) { at ->
                val often = kept[at].second.toDouble()
                -1.0 * (idf * ((often * (K1 + 1.0)) / (often + K1 * (1 - B + B * kept[at].first.words.size / averageLength))))
            },
        )
    }

    private fun count(words: IntArray, phrase: IntArray): Int =
        (0..words.size - phrase.size).count { at -> phrase.indices.all { words[at + it] == phrase[it] } }

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
