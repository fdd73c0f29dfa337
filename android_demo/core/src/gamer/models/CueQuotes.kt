package gamer.models

import gamer.common.Patterns
import gamer.common.PyText
import org.json.JSONObject

/** Substrings of the query; "" where the model sees none. */
class QuotedCues(val time: String, val place: String, val text: String)

/**
 * Cues by the language model, where rules found none: time, place and what is seen, each quoted from the query. It cannot invent: a grammar over
 * the query's own words allows no token that would leave the query. What a value means is still the rules' business.
 */
object CueQuotes {
    private val FIELDS = listOf("time", "place", "text")
    private const val MAX_NEW = 96
    private const val MAX_QUERY = 300

    // What could end a JSON string or a prompt's turn splits the query; so does white space that a tokenizer might fold.
    private val SPLIT = Patterns.of("[\"\\\\<>{}\\x00-\\x1f\\x7f-\\x9f\\uFFFD]|\\s{2,}|(?![ ])\\s")

    /** {"time":"…","place":"…","text":"…"} with whole words of the query, just as they stand there, or nothing, as values. */
    fun grammar(pieces: List<String>): Grammar {
        val built = Grammar()
        for ((n, name) in FIELDS.withIndex()) built.literal((if (n == 0) "{" else "\",") + "\"$name\":\"").spanOf(pieces)
        return built.literal("\"}").done()
    }

    /** The stretches of the query that may be quoted. */
    fun pieces(query: String): List<String> = SPLIT.split(PyText.head(query, MAX_QUERY)).map { PyText.strip(it) }.filter { it.isNotEmpty() }

    /** What the bundle's model reads out of [query]; null when it did not come to an end or the query holds no word. */
    fun read(models: Models, query: String): QuotedCues? {
        val pieces = pieces(query)
        if (pieces.isEmpty()) return null
        val prompt = models.prompt("cues", pieces.joinToString(" "))
        if (prompt.ids.size + MAX_NEW > models.manifest.decoder().maxSeq) return null
        val constraint = Constraint(grammar(pieces), models.llmVocabulary)
        val said = models.languageModel.generate(Generate(prompt.ids, MAX_NEW, constraint = constraint, prefix = prompt.prefix))
        if (!constraint.isComplete) return null
        val bytes = java.io.ByteArrayOutputStream()
        for (id in said.ids) bytes.write(models.llmVocabulary.bytesOf(id)!!)
        val found = JSONObject(bytes.toString("UTF-8"))
        val (time, place, text) = FIELDS.map { found.getString(it) }
        return QuotedCues(if (overlap(time, text)) "" else time, if (overlap(place, text)) "" else place, text)
    }

    /** A small model that has no answer repeats the question. */
    private fun overlap(value: String, text: String): Boolean = text.isNotEmpty() && (value in text || text in value)
}
