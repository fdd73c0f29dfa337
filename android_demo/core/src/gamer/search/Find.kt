package gamer.search

import gamer.album.Cube
import gamer.album.Memory
import gamer.album.Rows
import gamer.common.PyText
import gamer.cues.Cues
import gamer.cues.Explain
import gamer.cues.PlaceCue
import gamer.questions.Grouped
import gamer.questions.Question
import gamer.questions.Wanted
import java.time.LocalDateTime
import kotlin.math.abs

/** A search as a person means it: around one search, what resemblance cannot say (runtime/search/wishes_met.py). */
internal class Find(
    private val engine: Engine,
    val query: String,
    private val k: Int,
    private val refinedBy: String,
    private val mode: String,
    private val now: LocalDateTime,
    private val gloss: Boolean,
) {
    private val album = engine.album
    val language = if (gloss) engine.languageOf(query) else ""
    private val facets = FacetRows(album, engine)
    private val favourites by lazy { mask(album.memoriesOf(Memory.FAVOURITE.source).filter { it.second == Memory.FAVOURITE.text }.map { it.first }) }
    private val excluded by lazy { cues(query).run { negatedTimes.map { it.text } + negatedPlaces.map { it.text } }.map(PyText::casefold) }
    private val known = HashMap<String, Cues>()
    val remarks = ArrayList<Remark>()

    /** A search for a part of the query, as a set is searched for. */
    fun part(text: String, k: Int, within: BooleanArray?): Answer =
        engine.search(text, k, now = now, options = SearchOptions(within, isAdapted = false, gloss = gloss))

    /** The photos of a time, or of a place that the album has, by row; none for what says more. */
    fun rowsOf(target: String): IntArray = factsOf(target).let { if (it.isEmpty()) IntArray(0) else album.inCubes(cues(it).cubes).inside }

    /** The first [k] of the photos in [rows], in their order, with [remarks] of what is wanted. [isSure]: whether each of them is meant. */
    fun shown(wanted: Wanted, rows: List<Int>, isSure: Boolean, note: Remark?): Answer {
        val place = rows.take(2 * k + 5).withIndex().associate { (at, row) -> row to at } // copies make room for those behind them
        val options = SearchOptions(mask(place.keys.toList()), isAdapted = false, gloss = gloss, language = language)
        val found = engine.search(wanted.target.ifEmpty { "photos" }, minOf(place.size, Request.MAX_K), mode = mode, now = now, options = options)
        val likely = Confidence.of(found)
        val hits = found.hits.mapIndexed { n, hit -> hit.copy(probability = if (isSure) 1.0 else likely[n]) }.sortedBy { place.getValue(it.row) }
        return found.copy(
            hits = Copies.together(album, hits).take(k), presence = 1.0, remarks = remarks, note = note,
            trace = found.trace.copy(query = query, cues = remarks.map { it.toString() }), count = if (wanted.asks == "count") Copies.firsts(album, rows).distinct().size else null,
        )
    }

    fun answer(question: Question = question(), within: BooleanArray? = within(question)): Answer {
        val isCounted = question.counts || question.grouped != null
        val ordered = question.ordered?.takeIf { ordersPhotos() }
        val target = question.wanted.target.takeIf { ordered != null || question.grouped != null }
        val text = if (target == null) textOf(question) else factsOf(target).ifEmpty { target }.ifEmpty { "photos" }
        val options = SearchOptions(within, isAdapted = !isCounted && ordered == null, gloss = gloss, language = if (Refine.saysNothing(text)) "" else language)
        val number = minOf(2 * k + 5, Request.MAX_K) // copies make room for the photos behind them
        val first = mended(text, searched(text, number, options), number, options)
        val counted = if (isCounted) Copies.firsts(album, meant(first, options)).distinct() else emptyList()
        var count = if (isCounted) counted.size else null
        val likely = Confidence.of(first)
        var answer = byFacts(text, first.copy(hits = first.hits.mapIndexed { n, hit -> hit.copy(probability = likely[n]) }), question, options)
        if ((answer.isDoubtful || count == 0) && answer.note == null) unpictured(answer.trace.refined)?.let {
            answer = answer.copy(note = it)
            if (count == 0) count = null // no photo is known not to show it
        }
        remarks.firstOrNull { it.isLacking }?.let { answer = answer.copy(hits = emptyList(), presence = 0.0, note = it) }
        val isLiteral = isLiteral(question) && answer.hits.isNotEmpty() && answer.note == null
        if (isLiteral && Refine.saysNothing(Refine.fast(answer.trace.refined))) {
            // They are there, and nothing else was asked but times and places, which have been judged.
            val isWhole = answer.trace.cues.isEmpty() && answer.trace.cubeLines.isEmpty()
            answer = answer.copy(hits = if (isWhole) answer.hits.map { it.copy(probability = 1.0) } else answer.hits, presence = 1.0)
        }
        question.grouped?.let { grouped(text, answer, it, counted, options) }?.let { (groups, number) ->
            answer = groups
            count = number
        }
        val inOrder = ordered?.let { inOrder(text, answer, it, meant(first, options), options) }
        answer = inOrder ?: answer
        val hits = Copies.together(album, answer.hits).let { hits ->
            if (inOrder == null) hits.take(k) else hits.drop(abs(ordered.order) - 1).take(if (ordered.number > 0) ordered.number else k)
        }
        val trace = answer.trace.copy(query = query, cues = answer.trace.cues + remarks.map { it.toString() })
        val note = if (album.size == 0) Remark("empty") else answer.note
        return answer.copy(hits = hits, trace = trace, remarks = remarks, count = count, note = note)
    }

    /** Whether a text names nothing but times and places that the album has, or is a time of day: "sunset", not "the sunset". */
    private fun isTime(text: String): Boolean {
        val cues = cues(text)
        if (cues.isNegated) return false
        if (cues.recurring.isNotEmpty()) return cues.recurring.map { PyText.casefold(it.text) } == listOf(PyText.casefold(PyText.strip(cues.query)))
        val places = cues.places.filter { it.photos != 0 }
        return cues.times.size + places.size > 0 && saysNothingElse(cues, places)
    }

    /** Whether the query has a word of order that is not a time's: "last Monday photos" are Monday's. */
    private fun ordersPhotos(): Boolean {
        val cues = cues(query)
        return engine.questions.vocabulary.words(cues.query, language).any { word -> word.has("order") && cues.times.none { word.start in it.span.start until it.span.end } }
    }

    /** [answer] with the photos in [rows] by time, from the first or the last; null if none of them has a time. */
    private fun inOrder(text: String, answer: Answer, ordered: Wanted, rows: List<Int>, options: SearchOptions): Answer? {
        val dated = rows.filter { engine.dated[it] }.sortedWith(compareBy({ album.time(it) }, { it }))
        if (dated.isEmpty()) return null
        val most = 2 * maxOf(ordered.number, abs(ordered.order), k) + 5
        val place = (if (ordered.order < 0) dated.reversed() else dated).take(most).withIndex().associate { (at, row) -> row to at }
        val within = BooleanArray(album.size) { it in place }
        val found = searched(text, minOf(place.size, Request.MAX_K), options.copy(within = within))
        val isSure = Refine.saysNothing(found.trace.refined)
        val hits = found.hits.sortedBy { place.getValue(it.row) }.map { if (isSure) it.copy(probability = 1.0) else it }
        return answer.copy(hits = hits, presence = if (isSure) 1.0 else answer.presence)
    }

    /** Of words that the image encoder does not know; null for others. */
    private fun unpictured(refined: String): Remark? {
        if (Refine.saysNothing(refined) || engine.isGlossed(query)) return null
        return Unpictured.words(refined, engine.models).takeIf { it.isNotEmpty() }?.let { Unpictured.remark(it, engine.models) }
    }

    /**
     * The photos of all groups, or of those with the most photos, with the numbers, and how many photos these are; null where the album
     * does not say by what they are counted.
     */
    private fun grouped(text: String, answer: Answer, by: Grouped, rows: List<Int>, options: SearchOptions): Pair<Answer, Int>? {
        val names = groupNames(by.by, rows)
        val all = names.filterNotNull().groupingBy { it }.eachCount().toSortedMap()
        val counts = if (by.isMost) all.filterValues { it == all.values.max() } else all
        val chosen = rows.zip(names).filter { (_, name) -> name != null && name in counts }.map { it.first }
        if (chosen.isEmpty()) return null
        val found = searched(text, minOf(2 * k + 5, Request.MAX_K), options.copy(within = mask(chosen)))
        val line = counts.entries.take(GROUPS).joinToString { "${it.key}: ${it.value}" } + if (counts.size > GROUPS) ", … (+${counts.size - GROUPS})" else ""
        return answer.copy(hits = found.hits.map { it.copy(probability = 1.0) }, trace = found.trace, presence = 1.0, note = Remark("line", line)) to chosen.size
    }

    /** For each row its day, month, year, place or country; null where the album does not say (runtime/search/album_facts.py). */
    fun groupNames(by: String, rows: List<Int>): List<String?> {
        val length = DATES[by]
        if (length != null) return rows.map { row -> if (engine.dated[row]) Explain.day(album.time(row)).takeIf { it.length == 10 }?.take(length) else null }
        val places = album.memoriesOf("place").asReversed().associate { (row, text) -> row to PyText.head(PyText.joined(text), PLACE) }
        return rows.map { row -> places[row]?.let { if (by == "place") it else it.substringAfterLast(", ").let { code -> engine.models.gazetteer.countries[code] ?: code } } }
    }

    fun cues(text: String): Cues = known.getOrPut(text) { engine.cues(text, now) }

    /**
     * The query, or that for all photos of what "how many from Rome" names, for the place of a stay, or its form with a span of
     * time after an event that the album knows.
     */
    private fun textOf(question: Question): String {
        val counted = if (question.counts) cues("photos ${question.query}") else null
        if (counted != null && counted.times.size + counted.places.size > 0 && saysNothingElse(counted)) return counted.query
        val stay = factsOf(engine.questions.phrases.goneTo(question.query))
        if (stay.isNotEmpty() && cues(stay).times.isEmpty()) return stay // "our weekend in May" is more than its month
        val said = cues(question.query)
        if (question.soon.isEmpty() || said.times.isNotEmpty() || said.negatedTimes.isNotEmpty()) return question.query // "after the summer of 2011"
        return if (engine.cuesWithEvents(question.soon, now, language).times.any { it.kind == "anchor" }) question.soon else question.query
    }

    /** The query for the photos of a time, or of a place that the album has; "" for what says more. */
    private fun factsOf(target: String): String {
        if (target.isEmpty()) return ""
        val named = cues("photos in $target")
        return if ((named.times.isNotEmpty() || named.places.any { (it.photos ?: 0) > 0 }) && saysNothingElse(named)) named.query else ""
    }

    /** Whether the query of [cues] is about nothing but its times and places. */
    private fun saysNothingElse(cues: Cues, places: List<PlaceCue> = cues.places): Boolean {
        val letters = StringBuilder(cues.query)
        for (span in cues.times.map { it.span } + places.map { it.span }) for (at in span.start until span.end) letters.setCharAt(at, ' ')
        return engine.questions.phrases.content(letters.toString()).isEmpty()
    }

    /** [answer], or that to the query with its spelling mended, if only that one is found. */
    private fun mended(text: String, answer: Answer, k: Int, options: SearchOptions): Answer {
        if (!answer.isDoubtful) return answer
        val isEnglish = !(gloss && engine.isGlossed(text, options.language)) && engine.languageByWords(text) == null
        val mended = Spelling.mended(text, album, engine.models, isEnglish)
        val again = if (mended == text) answer else searched(mended, k, options)
        if (again.isDoubtful) return answer
        remarks += Remark("spelt", mended)
        return again
    }

    /** The rows of what is meant: the photos in the cube, or those of the set that it ends; copies too. */
    private fun meant(answer: Answer, options: SearchOptions): List<Int> {
        val cubes = answer.trace.cubes
        if (Refine.saysNothing(answer.trace.refined)) {
            val rows = if (cubes.isEmpty()) IntArray(album.size) { it } else album.inCubes(cubes).inside
            return rows.filter { options.within?.get(it) != false }
        }
        if (Membership.presence(answer, engine.ranking, album.size) < Membership.PRESENT) return emptyList()
        return answer.trace.query.let { members(it, searched(it, Request.MAX_K, options), options) }
    }

    /** [answer], certain where a time or place alone is asked for, doubtful where no photo fits it (runtime/search/query_facts.py). */
    private fun byFacts(text: String, answer: Answer, question: Question, options: SearchOptions): Answer {
        val cues = cues(text)
        val named = (cues.times.map { it.span to it.text } + cues.places.map { it.span to it.text }).sortedWith(compareBy({ it.first.start }, { it.first.end }))
        if (named.isEmpty()) return answer
        fun among(rows: IntArray) = mask(rows.filter { options.within?.get(it) != false })
        fun inside(cubes: List<Cube>) = among(if (cubes.isEmpty()) IntArray(0) else album.inCubes(cubes).inside)
        val isDated = true in inside(cues.times.map { Cube(it.start, it.end) })
        val known = if (cues.places.any { it.photos == 0 }) BooleanArray(album.size) else inside(cues.cubes)
        val possible = among(album.inCubes(cues.cubes).rows)
        val isKnown = true in known
        val note = if (isKnown) null else Remark("none", named.joinToString(" ") { it.second })
        // A holiday is more than its days: a memory may tell of Christmas on the tenth of December.
        val isPlain = cues.times.none { it.kind in MORE_THAN_DAYS } && !cues.isNegated && cues.recurring.isEmpty() && cues.anchors.isEmpty()
        if (isPlain && saysNothingElse(cues) && !(note != null && mayBeTold(answer, cues, question))) {
            val hits = answer.hits.map { it.copy(probability = if (known[it.row]) 1.0 else if (isKnown && possible[it.row]) it.probability else 0.0) }
            return answer.copy(hits = hits, presence = if (note == null) 1.0 else 0.0, note = note)
        }
        var out = elsewhere(text, answer, cues.places.filter { it.photos == 0 })
        if (cues.times.isNotEmpty() && !isDated && out.hits.firstOrNull()?.takenAt != null) out = lowered(out, cues.times.maxOf { it.confidence })
        return out.copy(note = note.takeIf { out.isDoubtful })
    }

    /** Whether a hit's memory names the place, or the album has no date or position that would say it. */
    private fun mayBeTold(answer: Answer, cues: Cues, question: Question): Boolean {
        if (cues.times.isNotEmpty() && true !in engine.dated || cues.places.isNotEmpty() && true !in engine.placed) return true
        return isTold(answer.hits.map { it.row }, cues.places.filter { it.photos == 0 || question.facets.isNotEmpty() }).any { it }
    }

    /** For each place whether a memory of the photos in [rows] names it. */
    private fun isTold(rows: List<Int>, places: List<PlaceCue>): List<Boolean> {
        if (places.isEmpty()) return emptyList()
        val told = PyText.casefold(album.photos(rows.toIntArray()).flatMap { photo -> photo.memories.map { it.text } }.joinToString(" "))
        return places.map { PyText.casefold(it.name) in told }
    }

    /**
     * [answer], less likely if the query names [places] where the album has no photo. The best photo then lies elsewhere, unless a
     * memory of it names the place. A photo whose place is not known is only right if the query says more than the place.
     */
    private fun elsewhere(text: String, answer: Answer, places: List<PlaceCue>): Answer {
        val first = answer.hits.firstOrNull()
        if (places.isEmpty() || first == null) return answer
        val rest = places.fold(text) { left, place -> left.replace(place.text, "") }
        if (first.lat == null && !Refine.saysNothing(Refine.fast(rest))) return answer
        val wrong = places.zip(isTold(listOf(first.row), places)).filter { !it.second }.map { it.first }
        if (wrong.isEmpty()) return answer
        remarks += Remark("elsewhere", name = wrong[0].name)
        return lowered(answer, wrong.maxOf { it.confidence })
    }

    /** [answer], less likely by the confidence of a cue that it does not fit. */
    private fun lowered(answer: Answer, confidence: Double): Answer {
        val hits = answer.hits.map { it.copy(probability = PyText.round(it.probability * (1 - confidence), 4)) }
        return answer.copy(hits = hits, presence = PyText.round(answer.presence * (1 - confidence), 4))
    }

    /** Where no photo is marked, "my favourite photos" are the marked ones all the same, unless a memory tells of a favourite. */
    fun question(): Question {
        val asked = read(hasFavourites = true)
        if (!asked.favourites || favourites.any { it } || asked.isBare && album.words("favourite").bm25().all { it == 0f }) return asked
        return read(hasFavourites = false)
    }

    private fun read(hasFavourites: Boolean): Question =
        engine.questions.read(query, language, hasFavourites, facets::isNamed, ::isExcluded, ::isTime, isPlace = { isTime(it) && cues(it).times.isEmpty() })

    /** Whether the query's rules of cues exclude what [phrase] names: a time or a place. */
    private fun isExcluded(phrase: String): Boolean = PyText.casefold(phrase).let { said -> excluded.any { it in said || said in it } }

    private fun searched(text: String, k: Int, options: SearchOptions): Answer = engine.search(text, k, refinedBy, mode, now, options)

    /** The photos that may be shown; null: all. */
    fun within(question: Question): BooleanArray? {
        var allowed = BooleanArray(album.size) { true }
        fun narrow(by: (Int) -> Boolean) {
            allowed = BooleanArray(allowed.size) { allowed[it] && by(it) }
        }
        if (question.pictures) album.pictured().let { pictured -> if (pictured.any { it }) narrow { pictured[it] } }
        for (facet in question.facets) facets.of(facet).let { having ->
            narrow { having[it] }
            remarks += Remark("facet.${facet.kind}", n = having.count { it }, name = facet.value.ifEmpty { Remark.ANYBODY[facet.kind].orEmpty() })
        }
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

    /** Whether the query asks for what the album knows for certain: favourites, a facet, no date. */
    private fun isLiteral(question: Question): Boolean = question.favourites || question.facets.isNotEmpty() || question.without.any { engine.questions.factOf(it).isNotEmpty() }

    /** The photos with a fact that "without [phrase]" leaves out; null where it is a thing, or the album knows it of none. */
    private fun known(phrase: String): BooleanArray? {
        val fact = engine.questions.factOf(phrase)
        return if (fact.isEmpty()) null else facets.knowing(fact).takeIf { fact == "date" || fact == "place" || true in it }
    }

    private fun mask(rows: List<Int>): BooleanArray = Rows.mask(rows.toIntArray(), album.size)

    /**
     * The photos that show what the query wants left out; none if the album likely has none. A photo whose own memory says the same
     * ("a man without a hat") shows no hat.
     */
    private fun unwanted(phrase: String): BooleanArray {
        val options = SearchOptions(isAdapted = false, gloss = gloss, language = language)
        val answer = engine.search(phrase, Request.MAX_K, now = now, options = options)
        if (Membership.presence(answer, engine.ranking, album.size) < Membership.PRESENT) return BooleanArray(album.size)
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
            val left = mask(rows).let { gone -> BooleanArray(gone.size) { !gone[it] && options.within?.get(it) != false } }
            if (members.size < Request.MAX_K || true !in left) break
            answer = searched(text, Request.MAX_K, options.copy(within = left))
            searches++
        }
        if (searches > 1) remarks += Remark("searched", PyText.head(text, 80), searches)
        return rows
    }

    private companion object {
        const val GROUPS = 24 // days, months, years or places in a line
        const val PLACE = 80 // characters of a place's name
        val DATES = mapOf("day" to 10, "month" to 7, "year" to 4) // characters of an ISO date
        const val SEARCHES = 20 // in which a count or a "without" gathers a set
        val MORE_THAN_DAYS = setOf("holiday", "anchor", "last time")
    }
}
