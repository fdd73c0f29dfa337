package gamer.search

import gamer.album.Rows
import gamer.common.PyText
import gamer.questions.Question
import java.time.LocalDateTime

/** A search as a person means it: around one search, what resemblance cannot say (runtime/search/wishes_met.py). */
internal class Find(
    private val engine: Engine,
    private val query: String,
    private val k: Int,
    private val refinedBy: String,
    private val mode: String,
    private val now: LocalDateTime,
    private val gloss: Boolean,
) {
    private val album = engine.album
    private val language = if (gloss) engine.languageOf(query) else ""
    private val favourites by lazy { mask(album.memoriesOf("social").filter { it.second == "favourite" }.map { it.first }) }
    private val excluded by lazy { engine.cues(query, now).run { negatedTimes.map { it.text } + negatedPlaces.map { it.text } }.map(PyText::casefold) }
    private val remarks = ArrayList<Remark>()

    fun answer(): Answer {
        val question = question()
        val text = question.query
        val within = within(question)
        // Python's search puts copies together, which make room for the photos behind them.
        val found = searched(text, minOf(2 * k + 5, Request.MAX_K), SearchOptions(within, gloss = gloss, language = if (Refine.saysNothing(text)) "" else language))
        val trace = found.trace.copy(query = query, cues = found.trace.cues + remarks.map { it.toString() })
        if (remarks.any { it.isLacking }) return Answer(emptyList(), trace, 0.0, remarks)
        // They are there, and nothing else was asked but times and places.
        val isCertain = isLiteral(question) && found.hits.isNotEmpty() && Refine.saysNothing(Refine.fast(found.trace.refined))
        val isWhole = isCertain && found.trace.cues.isEmpty() && found.trace.cubeLines.isEmpty()
        val hits = found.hits.zip(Confidence.of(found)) { hit, likely -> hit.copy(probability = if (isWhole) 1.0 else likely) }
        return Answer(hits.take(k), trace, if (isCertain) 1.0 else found.presence, remarks)
    }

    /** Where no photo is marked, "my favourite photos" are the marked ones all the same, unless a memory tells of a favourite. */
    private fun question(): Question {
        val asked = engine.questions.read(query, language, isCue = ::isExcluded)
        if (!asked.favourites || favourites.any { it } || asked.isBare && album.words("favourite").bm25().all { it == 0f }) return asked
        return engine.questions.read(query, language, hasFavourites = false, isCue = ::isExcluded)
    }

    /** Whether the query's rules of cues exclude what [phrase] names: a time or a place. */
    private fun isExcluded(phrase: String): Boolean = PyText.casefold(phrase).let { said -> excluded.any { it in said || said in it } }

    private fun searched(text: String, k: Int, options: SearchOptions): Answer = engine.search(text, k, refinedBy, mode, now, options)

    /** The photos that may be shown; null: all. */
    private fun within(question: Question): BooleanArray? {
        var allowed = BooleanArray(album.size) { true }
        fun narrow(by: (Int) -> Boolean) {
            allowed = BooleanArray(allowed.size) { allowed[it] && by(it) }
        }
        if (question.pictures) album.pictured().let { pictured -> if (pictured.any { it }) narrow { pictured[it] } }
        if (question.favourites) {
            narrow { favourites[it] }
            remarks += Remark("favourites", n = allowed.count { it })
        }
        for (phrase in question.without) {
            val unwanted = known(phrase) ?: unwanted(phrase)
            remarks += Remark("without", phrase, unwanted.count { it })
            narrow { !unwanted[it] }
        }
        return allowed.takeIf { false in it }
    }

    /** Whether the query asks for what the album knows for certain: favourites, no date. */
    private fun isLiteral(question: Question): Boolean = question.favourites || question.without.any { engine.questions.factOf(it).isNotEmpty() }

    /** The photos with a fact that "without [phrase]" leaves out; null where it is a thing, or the album knows it of none. */
    private fun known(phrase: String): BooleanArray? = when (engine.questions.factOf(phrase)) {
        "date" -> engine.dated
        "place" -> engine.placed
        "text" -> mask(album.memoriesOf("ocr").map { it.first }).takeIf { true in it }
        "flash" -> album.detailed("lightings", "flash").takeIf { true in it }
        else -> null
    }

    private fun mask(rows: List<Int>): BooleanArray = Rows.mask(rows.toIntArray(), album.size)

    /**
     * The photos that show what the query wants left out; none if the album likely has none. A photo whose own memory says the same
     * ("a man without a hat") shows no hat.
     */
    private fun unwanted(phrase: String): BooleanArray {
        val options = SearchOptions(isAdapted = false, gloss = gloss, language = language)
        val answer = engine.search(phrase, Request.MAX_K, now = now, options = options)
        if (Membership.presence(answer, engine.ranking) < Membership.PRESENT) return BooleanArray(album.size)
        val rows = members(phrase, answer, options)
        val negated = listOf("without", "without a", "no", "not").map { "$it ${phrase.lowercase()}" }
        val photos = rows.zip(album.photos(rows.toIntArray()))
        return mask(photos.filter { (_, photo) -> photo.memories.none { memory -> memory.text.lowercase().let { said -> negated.any { it in said } } } }.map { it.first })
    }

    /** The rows of all photos that belong to what [text] means. While all hits of a search do, the others are searched again. */
    private fun members(text: String, first: Answer, options: SearchOptions): List<Int> {
        val rows = ArrayList<Int>()
        var answer = first
        var searches = 1
        for (n in 1..SEARCHES) {
            val members = Membership.members(album, answer, engine.ranking)
            rows += members
            val left = mask(rows).let { gone -> BooleanArray(gone.size) { !gone[it] } }
            if (members.size < Request.MAX_K || true !in left) break
            answer = searched(text, Request.MAX_K, SearchOptions(left, options.isAdapted, options.gloss, options.language))
            searches++
        }
        if (searches > 1) remarks += Remark("searched", PyText.head(text, 80), searches)
        return rows
    }

    private companion object {
        const val SEARCHES = 20 // in which a "without" gathers a set
    }
}
