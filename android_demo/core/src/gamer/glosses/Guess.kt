package gamer.glosses

import gamer.common.PyText
import gamer.models.TextEncoder
import kotlin.math.ln

/** English word → its place in the vocabulary, the commonest first. */
typealias Ranks = Map<String, Int>

/**
 * A word of a query, as [folded] spells it. [isName]: of the album; [isCapital]: with a capital, and not the first.
 */
class Said(val word: String, val isName: Boolean = false, val isCapital: Boolean = false)

/**
 * Which language a query is in: English, or one of the bundle's tables. A word is about as frequent in its language
 * as its gloss is in English, and a vocabulary of English lists its words by frequency: so each word says how much
 * likelier one language is than English, and the sum decides (runtime/glosses/guess.py).
 */
object Guess {
    private const val UNKNOWN = 100_000 // the rank of a word that a language does not have
    private const val FORMS = 2.5 // forms of a word that share the frequency of its gloss
    private const val MARGIN = 1.2 // nats by which a language must be likelier than English
    private const val SHARED = 1.0 // nats at most that a word tells against English which English has as well
    private const val TOLD = 2.0 // nats for the language that the reader of cues tells
    private const val CAPITAL = -2.5 // nats at most against a language for a capital word that it lacks: it may be a name
    private const val ALIKE = 4 // letters with which a word and its gloss begin alike, as "toasted" and "toast"
    private const val COMMON = 2_500 // a name that is one of so many commonest English words counts as that word

    /** The English words of a tokenizer's vocabulary (token, id), by their order in it. */
    fun ranks(vocabulary: Sequence<Pair<String, Int>>): Ranks {
        val ids = TextEncoder.wholeWords(vocabulary).filterKeys { word -> word.all { it in 'a'..'z' } && (word.length > 1 || word == "a" || word == "i") }
        val order = ids.entries.sortedBy { it.value }
        return HashMap<String, Int>(order.size * 2).also { order.forEachIndexed { rank, (word) -> it[word] = rank } }
    }

    /** Nats: the logarithm of how often a word of that rank occurs (Zipf's law). */
    private fun frequency(rank: Double): Double = -ln(rank + 20.0)

    /** Nats by which the language with these glosses of [word] is likelier than English to have said it. */
    fun likelier(word: String, glosses: List<Gloss>, english: Ranks): Double {
        val own = english[word] ?: UNKNOWN
        if (glosses.isEmpty()) return frequency(UNKNOWN.toDouble()) - frequency(own.toDouble())
        if (glosses.any { it.text.removeSuffix("s") == word.removeSuffix("s") }) return 0.0 // "computer" is said in both
        val best = glosses.filter { it.weight > 0.5 }.minOfOrNull { rank(it.text, english) } ?: UNKNOWN
        val more = frequency(FORMS * best) - frequency(own.toDouble())
        val isCognate = lettersOf(word) >= ALIKE && glosses.any { PyText.head(it.text, ALIKE) == PyText.head(word, ALIKE) }
        return if (own == UNKNOWN && !isCognate) more else minOf(more, SHARED)
    }

    /** The rank of a gloss: of a phrase, of its rarest word. */
    private fun rank(gloss: String, english: Ranks): Int = PyText.split(gloss.lowercase()).maxOfOrNull { english[it] ?: UNKNOWN / 4 } ?: UNKNOWN

    /**
     * The code of the likeliest of [tables]; null for English. [told]: the language whose words of time and place the
     * query has, by the reader of cues, or null.
     */
    fun language(words: List<Said>, tables: Map<String, (String) -> List<Gloss>>, english: Ranks, told: String?): String? {
        var best: String? = null
        var most = MARGIN
        for ((code, lookup) in tables) {
            var score = if (code == told) TOLD else 0.0
            for (said in words) {
                if (PyText.isAscii(said.word) && said.word.length < 2) continue // "s" of "it's", "l" of "l'eau"
                val glosses = lookup(said.word)
                val more = likelier(said.word, glosses, english)
                if (said.isName && (english[said.word] ?: UNKNOWN) > COMMON) continue
                score += if (said.isCapital && glosses.isEmpty()) maxOf(more, CAPITAL) else more
            }
            if (score > most) {
                best = code
                most = score
            }
        }
        return best
    }
}
