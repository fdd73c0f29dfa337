package gamer.search

import gamer.album.Words
import gamer.common.PyText
import gamer.glosses.Bundled
import gamer.models.Models

/**
 * Words of a query that the bundle's image encoder does not know, if it only knows named classes (runtime/search/unpictured.py). Such
 * a word is searched in pictures by the classes that are like it; one like none of them finds pictures by chance alone.
 */
internal object Unpictured {
    private const val KNOWN = 0.6 // cosine with a class's name
    private const val MAX_SAID = 24 // letters of a word
    private val ENDS = listOf("" to "", "s" to "", "es" to "", "ies" to "y")

    /** The words of an English query without its cues, if pictures can be searched for none of them; else none. */
    fun words(text: String, models: Models): List<String> {
        val terms = Words.queryTerms(text)
        if (models.labels.isEmpty() || terms.isEmpty()) return emptyList()
        val forms = forms(terms)
        if (models.labels.any { label -> Words.queryTerms(label).any { it in forms } }) return emptyList()
        val words = (terms + forms.filter { it in models.text.words }).distinct()
        return if (words.all { word -> models.text.encode(word).let { vector -> models.labelVectors.all { dot(it, vector) < KNOWN } } }) terms else emptyList()
    }

    /** What to say of such words; of several that may be no English ones, that other languages need tables. */
    fun remark(words: List<String>, models: Models): Remark {
        val unknown = words.count { it !in models.text.words } // so is "giraffe"
        val isForeign = 2 * unknown >= maxOf(4, words.size) && !Bundled.isThere(models)
        return Remark(if (isForeign) "unpictured.foreign" else "unpictured", words.take(4).joinToString(" ") { PyText.head(it, MAX_SAID) })
    }

    /** The terms, and what they may be the plurals of. */
    private fun forms(terms: List<String>): Set<String> = terms.flatMapTo(HashSet()) { term ->
        ENDS.filter { (end, _) -> term.endsWith(end) && term != end && !(end == "s" && term.endsWith("ss")) }.map { (end, one) -> term.removeSuffix(end) + one }
    }

    private fun dot(a: FloatArray, b: FloatArray): Float {
        var sum = 0f
        for (at in a.indices) sum += a[at] * b[at]
        return sum
    }
}
