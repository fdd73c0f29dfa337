package gamer.models

import gamer.common.Patterns
import gamer.common.PyText
import org.json.JSONObject

/** Substrings of the query: when, where, and what the photo shows; "" where the model quotes nothing. */
class QuotedCues(val time: String, val place: String, val text: String)

/**
 * Cues that the language model quotes from a query in which the rules read none: time, place and what the
 * photo shows. The model cannot invent: a grammar over the words of the query excludes every token that would
 * leave the query. The rules still decide what a value means.
 */
object CueQuotes {
    private val FIELDS = listOf("time", "place", "text")
    private const val MAX_NEW = 96
    private const val MAX_QUERY = 300

    // The query is split at characters that could end a JSON string or a turn of the prompt, and at white
    // space that a tokenizer might normalise.
    private val SPLIT = Patterns.of("[\"\\\\<>{}\\x00-\\x1f\\x7f-\\x9f\\uFFFD]|\\s{2,}|(?![ ])\\s")

    /**
     * The grammar of {"time":"…","place":"…","text":"…"}; a value is empty or complete words of the query.
     * The words of a value are consecutive and unchanged.
     */
    fun grammar(pieces: List<String>): Grammar {
        val built = Grammar()
        for ((n, name) in FIELDS.withIndex()) built.literal((if (n == 0) "{" else "\",") + "\"$name\":\"").spanOf(pieces)
        return built.literal("\"}").done()
    }

    /** The parts of the query that may be quoted. */
    fun pieces(query: String): List<String> = SPLIT.split(PyText.head(query, MAX_QUERY)).map { PyText.strip(it) }.filter { it.isNotEmpty() }

    /**
     * The quotes that the bundle's language model gives for [query]. null if the query has no word, the
     * prompt does not fit the decoder's cache, no grammar can hold the model, or the generation stopped before its end.
     */
    fun read(models: Models, query: String): QuotedCues? {
        val pieces = pieces(query)
        if (pieces.isEmpty()) return null
        val vocabulary = models.heldVocabulary ?: return null
        val prompt = models.prompt("cues", pieces.joinToString(" "))
        if (prompt.ids.size + MAX_NEW > models.manifest.decoder().maxSeq) return null
        val constraint = Constraint(grammar(pieces), vocabulary)
        val said = models.languageModel.generate(Generate(prompt.ids, MAX_NEW, constraint = constraint, prefix = prompt.prefix))
        if (!constraint.isComplete) return null
        val bytes = java.io.ByteArrayOutputStream()
        for (id in said.ids) bytes.write(vocabulary.bytesOf(id)!!)
        val found = JSONObject(bytes.toString("UTF-8"))
        val (time, place, text) = FIELDS.map { found.getString(it) }
        return QuotedCues(if (overlap(time, text)) "" else time, if (overlap(place, text)) "" else place, text)
    }

    /**
     * Whether a time or place contains the text or is part of it. A small model without an answer repeats the
     * question.
     */
    private fun overlap(value: String, text: String): Boolean = text.isNotEmpty() && (value in text || text in value)
}
