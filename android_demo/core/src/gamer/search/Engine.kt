package gamer.search

import gamer.album.Album
import gamer.album.Cube
import gamer.album.DatabaseOpener
import gamer.album.EntityMatch
import gamer.album.Rows
import gamer.album.Space
import gamer.album.WordScores
import gamer.bundle.Ranking
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.RuntimeFailure
import gamer.common.found
import gamer.cues.CueReader
import gamer.cues.CueTables
import gamer.cues.Cues
import gamer.cues.Explain
import gamer.cues.Situation
import gamer.cues.TimeContext
import gamer.cues.Times
import gamer.glosses.Bundled
import gamer.glosses.Choice
import gamer.glosses.Glossed
import gamer.glosses.Names
import gamer.glosses.Reader
import gamer.models.Backend
import gamer.models.CueQuotes
import gamer.models.Generate
import gamer.models.Models
import gamer.models.QueryAdapter
import gamer.models.askedChannels
import gamer.models.queryVector
import gamer.questions.QuestionReader
import gamer.questions.Vocabulary
import java.io.File
import java.time.LocalDateTime

/**
 * How one search differs from the default. [within]: by row, whether a photo may be found. [isAdapted]: whether the query adapter
 * reads the query, if there is one. [gloss]: whether words of other languages are read as English ones, by the bundle's tables.
 * [language]: of a query that is a part of a longer one, the code of that one's language.
 */
data class SearchOptions(val within: BooleanArray? = null, val isAdapted: Boolean = true, val gloss: Boolean = true, val language: String = "")

/**
 * Searches an album with the models of a bundle (paper section 3.2). Mode "fused" ranks by the features of
 * all layers. Mode "paper" goes by the cube, then entity nodes over δ, then the greatest cosine of a channel.
 * Searches run one at a time.
 */
class Engine(val models: Models, val album: Album, private val rules: CueTables) : AutoCloseable {
    internal val ranking: Ranking = models.manifest.ranking ?: Ranking()
    private val reader: CueReader by lazy { CueReader(rules, models.gazetteer) }
    private val every = IntArray(album.size) { it }
    private val times = LongArray(album.size) { album.time(it) }
    private val latitudes = DoubleArray(album.size) { album.latitude(it) }
    private val longitudes = DoubleArray(album.size) { album.longitude(it) }
    internal val dated = BooleanArray(album.size) { times[it] != Space.LOWEST }
    internal val placed = BooleanArray(album.size) { !latitudes[it].isNaN() }
    private val extent: LongRange?
    private val isSouthern: Boolean
    private val home: Cube? by lazy { Home.learn(latitudes, longitudes, times) }
    private val conversations: Conversations by lazy { Conversations(times, album.conversations) }
    internal val names: List<String> by lazy { album.entityNames(NAMES) }
    private val glosses: Reader? by lazy { Bundled.reader(models, reader::languageOf) }
    internal val questions: QuestionReader by lazy { QuestionReader(Vocabulary(rules.questions)) }
    private val nameWords: Names by lazy { Names(album.listedEntities()) }
    private val adapter: QueryAdapter? by lazy { models.queryAdapter(QueryAdapter.beside(album.path)) }
    private val refinements = HashMap<String, Pair<String, String>>()
    private var isWarm = false

    /** The nanoseconds from which a trace's milliseconds come: of the wall, unless a measurement sets another clock. */
    var clock: () -> Long = System::nanoTime

    init {
        val known = Rows.where(dated)
        extent = if (known.isEmpty()) null else known.minOf { times[it] }..known.maxOf { times[it] }
        isSouthern = latitudes.count { it < 0 } * 2 > placed.count { it }
    }

    /**
     * The [k] photos (default: the bundle's K) that match [query] best, with the trace. [now]: the user's
     * wall-clock time, from which "last spring" is counted.
     */
    fun search(
        query: String,
        k: Int = models.manifest.thresholds.k,
        refinedBy: String = "fast",
        mode: String = "fused",
        now: LocalDateTime = LocalDateTime.now(),
        options: SearchOptions = SearchOptions(),
    ): Answer = synchronized(this) {
        Request.check(query, k, refinedBy, mode)
        Search(query, k, refinedBy, mode, now, options).run()
    }

    /**
     * As [search], with the query read as a person means it: what is left out ("without people"), favourites and facets, a number
     * that is asked for; its spelling is mended, and copies are put together. Each hit's probability is judged by itself. [gloss]: as of [SearchOptions].
     */
    fun find(
        query: String,
        k: Int = models.manifest.thresholds.k,
        refinedBy: String = "fast",
        mode: String = "fused",
        now: LocalDateTime = LocalDateTime.now(),
        gloss: Boolean = true,
    ): Answer = synchronized(this) {
        Request.check(query, k, refinedBy, mode)
        Find(this, query, k, refinedBy, mode, now, gloss).answer()
    }

    /**
     * As [find]; a question with an anchor ("the photo before the wedding", "what I saw two days after the concert") in several steps,
     * and one for a time, a place or a person ("when did I last see Rex") with what the photos tell as its note.
     */
    fun ask(query: String, k: Int = models.manifest.thresholds.k, refinedBy: String = "fast", now: LocalDateTime = LocalDateTime.now()): Answer = synchronized(this) {
        Request.check(query, k, refinedBy, "fused")
        Ask(this, Find(this, query, k, refinedBy, "fused", now, gloss = true)).answer()
    }

    /** The times and places that a text names, by rules alone. */
    internal fun cues(text: String, now: LocalDateTime): Cues = reader.parse(text, situation(now))

    /** As [cues], with the album's events looked up. [language]: see [SearchOptions]. */
    internal fun cuesWithEvents(text: String, now: LocalDateTime, language: String): Cues = resolved(cues(text, now), language)

    private fun resolved(cues: Cues, language: String): Cues {
        val events = AlbumEvents(album, models.text::encodeQuery)
        return reader.resolve(cues) { events.find(it, if (language.isEmpty()) null else glossed(it, language)) }
    }

    /** Whether the query is in another language than English, and read by glosses. */
    internal fun isGlossed(text: String, language: String = ""): Boolean = glossed(text, language) != null

    /** The code of the language that a query has most words of; null for an English one. */
    internal fun languageByWords(text: String): String? = reader.languageOf(text)

    /** The code of the language by whose table of glosses a query is read; "" for an English one. */
    internal fun languageOf(text: String): String {
        val tables = glosses ?: return ""
        val wished = questions.vocabulary.languageOfWishes(PyText.head(text, QuestionReader.MAX_READ), tables.languages)
        val reading = tables.read(text, nameWords, wished) ?: return if (' ' in PyText.strip(text)) "" else wished
        return wished.ifEmpty { reading.language }
    }

    private fun situation(now: LocalDateTime) = Situation(
        TimeContext(now, extent, isSouthern), { place -> every.count { place.contains(latitudes[it], longitudes[it]) } }, { home },
    )

    override fun close() {
        album.close()
        models.close()
    }

    /** One search, with the results that each layer passes to the next. */
    private inner class Search(
        private val query: String,
        private val k: Int,
        private val refinedBy: String,
        private val mode: String,
        private val now: LocalDateTime,
        private val options: SearchOptions,
    ) {
        private val milliseconds = LinkedHashMap<String, Double>()
        private val left = LinkedHashMap<String, Int>()

        private fun <T> timed(layer: String, work: () -> T): T {
            val begin = clock()
            val out = work()
            milliseconds[layer] = PyText.round((clock() - begin) / 1e6, 3)
            return out
        }

        fun run(): Answer {
            timed("load") { warm(refinedBy) }
            val cues = timed("cube") { understood() }
            var (rows, allRows, widened) = timed("kdtree") { inside(cues) }
            val (refined, vectors) = timed("refine") { refine(cues).let { it to encoded(it.text, options.isAdapted) } }
            val delta = models.manifest.thresholds.paperDelta?.takeIf { mode == "paper" } ?: album.meta.delta
            val (matches, nodes) = timed("graph") { album.matchEntities(vectors.plain, rows, delta).let { it to Nodes(it, delta) } }
            val reached = Rows.keep(rows) { nodes.linked[it] > 0 || nodes.related[it] > 0 }
            if (mode == "paper" && reached.isNotEmpty()) rows = reached
            left["graph"] = rows.size
            var plan = "exact scan of ${rows.size} photos"
            val (features, parts, order) = timed("vectors") {
                val features: Map<String, FloatArray>
                val parts: Map<String, FloatArray>
                if (mode == "paper") {
                    features = Channels.cosines(album, vectors.by(vectors.plain), rows)
                    parts = mapOf("cosine" to FloatArray(rows.size) { i -> maxOf(0f, features.values.maxOfOrNull { it[i] } ?: 0f) })
                } else {
                    val words = album.words(refined.text, refined.glossed?.forms)
                    val asked = vectors.ranking()
                    val chosen = candidates(words, asked, rows, allRows, nodes)
                    rows = chosen.first
                    plan = chosen.second
                    val clues = clues(cues)
                    val found = features(words, asked, rows, nodes, clues)
                    features = found.values
                    val some by lazy { features(words, asked, typical(allRows), nodes, clues).weighted }
                    fun summands(): Map<String, FloatArray> {
                        val known = found.weighted
                        val whole = if (known.told.all { it }) known.parts else {
                            known.parts + ("unknown" to Unknown.expected(known, if (allRows.size <= EXACT_ROWS) known else some))
                        }
                        return if (clues.isNotEmpty() && Refine.saysNothing(refined.text)) Ranker.byCues(whole) else whole
                    }
                    val first = summands()
                    parts = if (rows.size <= SURE) first else {
                        found.sharpen(Rows.best(Ranker.total(first), maxOf(SURE, 2 * k)), rows, asked)
                        summands()
                    }
                }
                Triple(features, parts, order(parts, rows, k))
            }
            left["vectors"] = order.size
            val here = presence(features, order)
            val load = milliseconds.remove("load")!!
            val trace = Trace(
                query, Explain.cueLines(cues) + refined.glossed?.lines.orEmpty(), Explain.cubeLines(cues), cues.cubes, refined.text, refined.how, delta, matches.take(8), left, reached.size,
                widened, load, milliseconds, plan, mode, models.describe(),
            )
            val image = if (mode == "paper") vectors.plain else vectors.aligned
            return Answer(hits(rows, order, parts, matches, here, image), trace, PyText.round(here, 4))
        }

        private fun understood(): Cues {
            val situation = situation(now)
            var named = reader.parse(query, situation)
            val saidNothing = named.times.isEmpty() && named.places.isEmpty() && !named.isNegated && named.anchors.isEmpty()
            if (refinedBy == "llm" && saidNothing && HINT.found(query) != null && "cues" in models.manifest.prompts) {
                CueQuotes.read(models, query)?.let { named = reader.withQuotes(named, it.time, it.place, situation) }
            }
            return resolved(named, if (options.gloss) options.language else "")
        }

        private fun inside(cues: Cues): Triple<IntArray, IntArray, Boolean> {
            val cube = album.inCubes(cues.cubes)
            // A cue that fits no photo is misread or wrong: ranking all photos is better than showing only
            // the few that have no date.
            val widened = cues.cubes.isNotEmpty() && cube.inside.isEmpty()
            val gone = negated(cues)
            val allowed = options.within
            fun left(rows: IntArray) = Rows.without(if (allowed == null) rows else Rows.keep(rows) { allowed[it] }, gone)
            val rows = left(if (widened) every else cube.rows)
            left["album"] = album.size
            left["cube"] = rows.size
            return Triple(rows, left(every), widened)
        }

        private fun refine(cues: Cues): Refined {
            val (text, how) = rewritten(cues)
            val glossed = if (options.gloss) glossed(text, options.language) else null
            return Refined(if (glossed == null) text else if (how == "off") glossed.text else Refine.fast(glossed.text), how, glossed)
        }

        private fun rewritten(cues: Cues): Pair<String, String> {
            if (refinedBy == "off") return query to "off"
            val plain = Refine.fast(cues.rest)
            return if (refinedBy == "fast") plain to "fast" else byModel(query, plain)
        }
    }

    /** Q̂, how it was made, and the words that [text] was made of, if the query is in another language. */
    private class Refined(val text: String, val how: String, val glossed: Glossed?)

    /** A query in another language than English in English words; null for an English one. */
    private fun glossed(text: String, language: String = ""): Glossed? = glosses?.read(text, nameWords, language)?.let { Choice.chosen(it, album::holds) }

    /** Opens what a search needs, once, so that no layer's time includes opening a file. */
    private fun warm(refinedBy: String) {
        if (refinedBy == "llm") models.languageModel
        if (isWarm) return
        val zero = FloatArray(album.meta.dim)
        reader
        models.text.encode("")
        album.inCubes(listOf(Cube(start = 0)))
        album.matchEntities(zero, IntArray(0), 2.0)
        album.words("photo")
        glossed("photo")
        conversations
        val queries = QueryVectors(zero, zero, projected(zero)).by(zero)
        for (channel in Channels.searched(album, queries)) album.scores(channel, queries.getValue(channel), every.copyOf(minOf(1, every.size)))
        isWarm = true
    }

    /** The photos whose known time or place the query excludes ("not in Paris"). */
    private fun negated(cues: Cues): IntArray {
        val boxes = cues.negatedTimes.map { Cube(it.start, it.end) } + cues.negatedPlaces.flatMap { it.boxes }
        return if (boxes.isEmpty()) IntArray(0) else album.inCubes(boxes).inside
    }

    /**
     * (Q̂, "llm"), or ([plain], "llm (rejected: reason)") if the model's answer fails the checks. The answer
     * is reused for the same query.
     */
    private fun byModel(query: String, plain: String): Pair<String, String> {
        val context = Context.fitting(names, query)
        return refinements.getOrPut(listOf(query, plain, context.notes()).joinToString("\u0000")) {
            val prompt = models.prompt("refine", Refine.clean(query, 300), context.notes())
            if (prompt.ids.size + MAX_NEW > models.manifest.decoder().maxSeq) return plain to "llm (rejected: the query is too long)"
            val said = models.languageModel.generate(Generate(prompt.ids, MAX_NEW, listOf("\n"), prefix = prompt.prefix))
            val text = Refine.line(said.text)
            val against = Refine.objection(text, query, plain, context)
            if (against.isEmpty()) text to "llm" else plain to "llm (rejected: $against)"
        }
    }

    private fun encoded(text: String, isAdapted: Boolean): QueryVectors {
        val plain = models.text.encodeQuery(text)
        return QueryVectors(plain, adapter?.takeIf { isAdapted }?.let { models.text.encodeQuery(text, it) } ?: blended(text, plain), projected(plain))
    }

    private fun blended(text: String, plain: FloatArray): FloatArray {
        val sentence = models.text.encodeQuery("This photo shows ${text.trimEnd { it in " .?!" }}.")
        return FloatArray(plain.size) { (1 - PHRASED).toFloat() * plain[it] + PHRASED.toFloat() * sentence[it] }
    }

    /** v_Q for those channels of the bundle's trained experts that the album has. */
    private fun projected(vector: FloatArray): Map<String, FloatArray> =
        models.askedChannels.filter { it.name in album.channels() }.associate { it.name to models.queryVector(vector) }

    /**
     * By row, the strength of the best entity node: [linked], that the photo's own memories name; [related],
     * that the graph reaches from what the photo hangs on.
     */
    private inner class Nodes(private val matches: List<EntityMatch>, private val delta: Double) {
        val linked = strengths { it.photos }
        val related = strengths { it.reached }

        /**
         * In 0..1: how similar the best node is to the query. Scaled so that δ is 0 and a similarity of 1 is
         * 1, but at least 0.05 for a linked photo; 0 for all others.
         */
        private fun strengths(photos: (EntityMatch) -> IntArray): FloatArray {
            val out = FloatArray(album.size)
            for (match in matches) {
                val share = maxOf(0.05, (match.similarity - delta) / maxOf(1e-6, 1.0 - delta)).toFloat()
                for (row in photos(match)) out[row] = maxOf(out[row], share)
            }
            return out
        }
    }

    /** Features of rows, unweighted, and which rows have a text and an image vector. */
    private inner class Features(val values: Map<String, FloatArray>, private val told: BooleanArray, private val seen: BooleanArray) {
        private val parts = Ranker.weighted(values, ranking)
        val weighted: Known = Known(parts, told, seen)

        /** Computes the cosines of the rows at these places exactly, and what they weigh. */
        fun sharpen(places: IntArray, rows: IntArray, vectors: Map<String, FloatArray>) {
            for ((name, exact) in Channels.cosines(album, vectors, IntArray(places.size) { rows[places[it]] })) {
                val (all, part, weight) = Triple(values.getValue(name), parts.getValue(name), ranking.weight(name).toFloat())
                for (at in places.indices) {
                    all[places[at]] = exact[at]
                    part[places[at]] = exact[at] * weight
                }
            }
        }
    }

    /** Photos at even distances, which stand for all [rows]. */
    private fun typical(rows: IntArray): IntArray = ((rows.size + TYPICAL - 1) / TYPICAL).let { step -> IntArray((rows.size + step - 1) / step) { rows[it * step] } }

    private fun features(words: WordScores, vectors: Map<String, FloatArray>, rows: IntArray, nodes: Nodes, clues: List<Clue>): Features {
        val (around, held) = Ranker.context(words, conversations, rows)
        val bm25 = words.bm25()
        val coverage = words.coverage()
        val scores = Channels.scores(album, vectors, rows, isRough = rows.size > SURE)
        fun has(channel: String) = scores[channel].let { values -> BooleanArray(rows.size) { values != null && values[it].isFinite() } }
        val out = LinkedHashMap(Channels.finite(scores))
        out["words"] = FloatArray(rows.size) { bm25[rows[it]] }
        out["coverage"] = FloatArray(rows.size) { coverage[rows[it]] }
        out["context_words"] = around
        out["context_coverage"] = held
        out["entity"] = FloatArray(rows.size) { nodes.linked[rows[it]] }
        out["related"] = FloatArray(rows.size) { nodes.related[rows[it]] }
        out["cue"] = Ranker.evidence(clues, rows)
        return Features(out, has("text"), has("image"))
    }

    /**
     * The query's times and places as separate clues. Looked up one by one, so that an unknown or mistaken
     * cue does not affect the weight of the others.
     */
    private fun clues(cues: Cues): List<Clue> {
        val out = ArrayList<Clue>()
        if (cues.times.isNotEmpty()) {
            out.add(Clue(dated, mask(Times.merged(cues.times).map { Cube(it.start, it.end) }), cues.times.maxOf { it.confidence }))
        }
        val places = cues.places.filter { it.photos != 0 }
        if (places.isNotEmpty()) out.add(Clue(placed, mask(places.flatMap { it.boxes }), places.maxOf { it.confidence }))
        for (cue in cues.recurring) out.add(Clue(dated, BooleanArray(album.size) { dated[it] && cue.holds(times[it]) }, cue.confidence))
        // A cue that fits no photo is misread or wrong: it would only favour the photos without a date.
        return out.filter { clue -> clue.inside.any { it } }
    }

    private fun mask(boxes: List<Cube>): BooleanArray = Rows.mask(album.inCubes(boxes).inside, album.size)

    /**
     * The rows to score, and how they were chosen, in one line. Up to EXACT_ROWS photos: all of them. Beyond:
     * the best that each layer proposes, inside the cube and in all of [rows].
     */
    private fun candidates(words: WordScores, vectors: Map<String, FloatArray>, cube: IntArray, rows: IntArray, nodes: Nodes): Pair<IntArray, String> {
        val channels = Channels.searched(album, vectors)
        if (rows.size <= EXACT_ROWS) return rows to "exact scan of ${rows.size} photos, channels ${channels.joinToString(" + ").ifEmpty { "none" }}"
        val whole = if (rows.size == album.size) null else rows
        val found = channels.associateWith { album.searchVectors(it, vectors.getValue(it), CANDIDATES, whole) }
        val named = ArrayList(found.values.map { it.rows })
        if (cube.size < rows.size) channels.mapTo(named) { album.searchVectors(it, vectors.getValue(it), CANDIDATES, cube).rows }
        for (scores in listOf(words.bm25(), nodes.linked, nodes.related)) for (among in if (cube.size < rows.size) listOf(rows, cube) else listOf(rows)) named.add(greatest(scores, among))
        val chosen = BooleanArray(album.size)
        for (some in named) for (row in some) chosen[row] = true
        if (conversations.any) {
            for (row in Rows.where(chosen)) for (step in Conversations.NEAR) conversations.neighbour(row, step).let { if (it >= 0) chosen[it] = true }
        }
        val kept = Rows.keep(rows) { chosen[it] }
        val plans = found.entries.joinToString(", ") { "${it.key} by ${it.value.plan}" }
        return kept to "${kept.size} candidates of ${rows.size} photos ($plans), re-ranked exactly"
    }

    private fun greatest(scores: FloatArray, among: IntArray): IntArray {
        val positive = Rows.keep(among) { scores[it] > 0 }
        return Rows.best(FloatArray(positive.size) { scores[positive[it]] }, CANDIDATES).also { best -> for (at in best.indices) best[at] = positive[best[at]] }
    }

    /**
     * Positions in [rows] of the k best, best first. A photo that the user preferred to another is moved
     * before it, among the best max(k, PREFERRED).
     */
    private fun order(parts: Map<String, FloatArray>, rows: IntArray, k: Int): IntArray {
        val best = Rows.best(Ranker.total(parts), maxOf(k, PREFERRED))
        val place = best.associateBy { rows[it] }
        return album.preferred(best.map { rows[it] }).take(k).map { place.getValue(it) }.toIntArray()
    }

    private fun presence(features: Map<String, FloatArray>, order: IntArray): Double {
        if (order.isEmpty()) return 0.0
        fun own(name: String) = features[name]?.get(order[0])?.toDouble() ?: 0.0
        return Ranker.presence(ranking, Channels.SHARED.maxOf { own(it) } + Ranker.ofFewer(album.size), maxOf(own("coverage"), own("context_coverage")), own("cue"))
    }

    private fun hits(rows: IntArray, order: IntArray, parts: Map<String, FloatArray>, matches: List<EntityMatch>, here: Double, image: FloatArray): List<Hit> {
        val likely = Ranker.likelihoods(parts)
        return order.zip(album.photos(IntArray(order.size) { rows[order[it]] })) { at, photo ->
            val own = parts.mapValues { PyText.round(it.value[at].toDouble(), 4) }
            val said = photo.memories.filter { it.source != "label" && it.source != "place" }.ifEmpty { photo.memories }
            Hit(
                rows[at], photo.id, photo.path, photo.wall, photo.lat, photo.lon, PyText.round(own.values.sum(), 4),
                PyText.round(here * likely[at], 4), own, said.firstOrNull()?.text, matches.filter { rows[at] in it }.map { it.name }.take(4), moment(photo.id, rows[at], image),
            )
        }
    }

    private fun moment(photoId: String, row: Int, image: FloatArray): ClipMoment? =
        album.clip(photoId)?.let { ClipMoment(it.start / 1000.0, it.end / 1000.0, album.second(row, it, image)) }

    companion object {
        // Up to this many photos, scanning all costs less than choosing candidates.
        private const val EXACT_ROWS = 20_000
        private const val CANDIDATES = 100
        // The cosines of so many, the best by rough ones, are computed exactly (of all, if there are no more).
        private const val SURE = 256
        // Photos that stand for a larger album where the evidence of missing memories is estimated.
        private const val TYPICAL = 1000
        // The user's preferences may reorder this many of the best, or k if that is more.
        private const val PREFERRED = 50
        // Most linked entities; a refinement is shown those of them that fit the query.
        private const val NAMES = 500
        private const val MAX_NEW = 32
        // Memories are sentences, so a sentence embeds nearer to them than a bare title does.
        private const val PHRASED = 1.0 / 3
        // Words that may name a time or place that the rules cannot read: they justify asking the language
        // model, which takes half a second.
        private val HINT = Patterns.of(
            "\\b(?:when|while|during|ago|since|until|before|after|back then|that (?:day|night|week|summer|winter|year))\\b|\\b(?:in|at|near|from) [A-Z]",
        )

        /**
         * Opens both. Raises RuntimeFailure when other encoders made the album's vectors. [rules]: the text
         * of cue_rules.json; [cache]: the folder for the results of the models' self-checks.
         */
        fun open(
            bundle: File,
            album: File,
            rules: String,
            backend: Backend,
            databases: DatabaseOpener,
            threads: Int = 2,
            cache: File? = null,
        ): Engine {
            val models = Models.open(bundle, backend, databases, threads, cache = cache)
            try {
                return over(models, Album.open(album, databases), CueTables.read(rules))
            } catch (error: Throwable) {
                models.close()
                throw error
            }
        }

        /** An engine of open models and an open album, which is closed if the engine cannot be made. */
        fun over(models: Models, album: Album, rules: CueTables): Engine = try {
            checkEncoders(models, album)
            Engine(models, album, rules)
        } catch (error: Throwable) {
            album.close()
            throw error
        }

        private fun checkEncoders(models: Models, album: Album) {
            val (manifest, meta) = models.manifest to album.meta
            for ((ours, theirs) in listOf(manifest.textEncoder to meta.textEncoder, manifest.imageEncoder to meta.imageEncoder)) {
                if (ours == theirs) continue
                throw RuntimeFailure("${album.path}: its vectors are $theirs's, the bundle has $ours: run `gamer index update ${album.path} -b ${models.bundle.folder}`, or index anew on the phone")
            }
        }
    }
}
