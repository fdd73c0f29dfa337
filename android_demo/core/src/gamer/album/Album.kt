package gamer.album

import gamer.common.AlbumError
import gamer.people.People
import java.io.File

/**
 * A read-only view of one album file, with the searches of its three layers. Each layer's arrays are loaded
 * once, on first use. Queries arrive as vectors; no model is used here. If a segment is behind or damaged,
 * the rows are scanned.
 *
 * Calls may come from any thread; they run one at a time.
 */
class Album private constructor(private val db: Database, val path: File) : AutoCloseable {
    val meta: AlbumMeta = load { Loader.meta(db, path) }
    val generation: Long = load { Loader.generation(db) }

    /** Number of photos; their rows are 0 until [size]. */
    val size: Int = load { Loader.photoCount(db) }

    private val dims: Map<String, Int> by loaded { Loader.channelDims(db) }
    private val space: Space by loaded { openSpace() }
    private val points: Array<LongArray> by loaded { space.columns() }
    private val roots: IntArray by loaded { Loader.entityRoots(db) }
    private val mentions: List<IntArray> by loaded { Loader.mentions(db, roots, size) }
    private val entitiesOf: Links by loaded { links(mentions, 1, 0, size) }
    private val photosOf: Links by loaded { links(mentions, 0, 1, roots.size) }
    /** Entity → the photos that hang on it. */
    private val hanging: Links by loaded { links(Loader.hanging(db, roots, size), 0, 1, roots.size) }
    private val parents: Links by loaded { links(Loader.edges(db, roots), 1, 0, roots.size) }
    private val nodes: EntityNodes? by loaded {
        Loader.entityVectors(db)?.let { EntityNodes.of(it, Segments.load(db, EntityNodes.SEGMENT, Hnsw.VERSION, size)?.blob) }
    }
    private val memoryOwner: IntArray by loaded { Loader.memoryOwners(db, size) }
    private val wordIndex: WordIndex by loaded { if (ownWords || !TextIndex.isFullText(db)) OwnIndex(OwnWords.read(db, size)) else Fts5Index(db) }
    private val preferences: Preferences by loaded { openPreferences() }
    private val hasClips: Boolean by loaded { Clips.exist(db) }
    private val channels = HashMap<String, VectorSet?>()
    private val graphs = HashMap<String, Pair<Hnsw?, IntArray>>()
    private val sound = HashSet<Int>() // rows whose values were found to be what their checksums say

    /**
     * Searches words without FTS5 even where it is available, to compare the two. Set it before the first
     * search.
     */
    var ownWords = false

    override fun close() = synchronized(this) { db.close() }

    // Photos

    fun photo(row: Int): Photo = photos(intArrayOf(row))[0]

    /**
     * The photos in these rows, in their order. Each is checked against its checksum when it is first read (version 1 stores none).
     * Raises [AlbumError].
     */
    fun photos(rows: IntArray): List<Photo> = load {
        val records = PhotoRecords(db, rows)
        val found = records.photos()
        val unknown = found.filter { (row, read) -> read.second != null && row !in sound }.keys.toIntArray()
        val sums = if (unknown.isEmpty()) emptyMap() else (if (unknown.size == found.size) records else PhotoRecords(db, unknown)).checksums(channels())
        rows.map { row ->
            val (photo, wanted) = found[row] ?: throw AlbumError("$path: no photo in row $row; rows are 0..${size - 1}")
            sums[row]?.let { sum ->
                if (wanted != sum) throw AlbumError("$path: the photo in row $row is damaged (its checksum differs); run verify and index it again")
                sound.add(row)
            }
            photo
        }
    }

    /** The id and the path of a row, which are not checked: a list that is scrolled asks for many. Raises [AlbumError]. */
    fun path(row: Int): Pair<String, String?> = load {
        val found = db.query("SELECT id, path FROM photos WHERE row=?", row.toLong()).firstOrNull() ?: throw AlbumError("$path: no photo in row $row")
        found[0].asText() to found[1] as String?
    }

    fun rowOf(photoId: String): Int = load {
        db.query("SELECT row FROM photos WHERE id=?", photoId).firstOrNull()?.get(0)?.asInt()
            ?: throw AlbumError("$path: no photo with id '$photoId' in this album")
    }

    /** The clip with this id, null for a photo. Raises [AlbumError] for a damaged row. */
    fun clip(photoId: String): Clip? = if (hasClips) load { Clips.of(db, path, photoId) } else null

    /** Where in its file a clip fits a vector of the channel `image` best, in seconds; else its begin. */
    fun second(row: Int, clip: Clip, query: FloatArray): Double {
        val vectors = vectors("image") ?: return clip.start / 1000.0
        val chunks = vectors.of(row)
        if (chunks.isEmpty() || chunks.count() != clip.frames.size) return clip.start / 1000.0
        val ready = ready(query, vectors.dim, "image")
        return clip.frames[chunks.maxByOrNull { vectors.fineDot(ready, it) }!! - chunks.first] / 1000.0
    }

    /** Wall time of a row in ms, [Space.LOWEST] where unknown. */
    fun time(row: Int): Long = points[2][row]

    /** Latitude of a row in degrees, NaN where unknown. */
    fun latitude(row: Int): Double = degrees(points[0][row])

    fun longitude(row: Int): Double = degrees(points[1][row])

    private fun degrees(e7: Long): Double = if (e7 == Space.LOWEST) Double.NaN else e7 / Space.E7.toDouble()

    // Layer 1: space and time

    fun inCubes(wanted: List<Cube>): CubeResult = space.inCubes(wanted)

    /**
     * The k photos nearest to a place, a time (wall time, ms), or both, nearest first. Photos whose time or
     * place is unknown are left out.
     */
    fun near(k: Int, lat: Double? = null, lon: Double? = null, takenAt: Long? = null, metresAnHour: Double = 1000.0): IntArray =
        space.near(k, lat, lon, takenAt, metresAnHour)

    // Layer 2: entities

    /** Ascending rows of the entities that these photos mention. */
    fun activate(rows: IntArray): IntArray = entitiesOf.of(rows)

    /**
     * The entities with similarity ≥ [delta] that a depth-first search reaches from the entities on which the
     * photos of [rows] hang, best first. The search follows edges from parent to child, at most [depth],
     * through nodes of any similarity. A match names only photos among [rows]: those that show the entity,
     * and those that only hang on an entity above it, unless more than MOST_REACHED photos do.
     */
    fun matchEntities(query: FloatArray, rows: IntArray, delta: Double, limit: Int = LIMIT, depth: Int = DEPTH): List<EntityMatch> {
        val nodes = nodes ?: return emptyList()
        val least = delta.toFloat()
        val similarity = nodes.similar(ready(query, nodes.dim, "entities"), least)
        val wanted = Rows.mask(rows, size)
        val out = ArrayList<EntityMatch>()
        val similar = Rows.keep(IntArray(similarity.size) { it }) { similarity[it] >= least }
        for (at in Rows.descending(FloatArray(similar.size) { similarity[similar[it]] })) {
            if (out.size >= limit) break
            val row = similar[at]
            val above = Links.above(row, parents, depth)
            val shown = photosOf.of(row)
            val found = Rows.keep(hanging.of(above)) { wanted[it] }
            val own = Rows.keep(found) { shown.binarySearch(it) >= 0 }
            val reached = if (above.sumOf { hanging.count(it) } > MOST_REACHED) IntArray(0) else Rows.without(found, own)
            if (own.isNotEmpty() || reached.isNotEmpty()) out.add(EntityMatch(row, "", "", similarity[row], own, reached))
        }
        val said = entities(out.map { it.row })
        return out.map { match -> said.getValue(match.row).let { (name, kind) -> EntityMatch(match.row, name, kind, match.similarity, match.photos, match.reached) } }
    }

    /** The names of the entities linked to the most photos, most linked first. */
    fun entityNames(limit: Int): List<String> {
        val order = roots.indices.sortedByDescending { photosOf.of(it).size }
        val first = order.filter { roots[it] == it }.take(limit)
        return entities(first).let { said -> first.map { said.getValue(it).first } }
    }

    /** The names of all entities, aliases left out, the most mentioned first, then by name. */
    fun listedEntities(): List<String> = load {
        val names = db.query("SELECT row, name FROM entities").associate { it[0].asInt() to it[1].asText() }
        roots.indices.filter { roots[it] == it }.sortedWith(compareBy({ -photosOf.of(it).size }, { names.getValue(it) })).map { names.getValue(it) }
    }

    /** By row, the names and kinds of entities. */
    private fun entities(rows: List<Int>): Map<Int, Pair<String, String>> =
        load { db.query("SELECT row, name, kind FROM entities WHERE row IN (${rows.joinToString(",")})").associate { it[0].asInt() to (it[1].asText() to it[2].asText()) } }

    // Layer 3: vectors and words

    fun channels(): List<String> = dims.keys.sorted()

    /**
     * For each of [rows] the cosine of its best chunk, -∞ for a photo without a vector in the channel. [isRough]: in half the time, to
     * some 0.001.
     */
    fun scores(channel: String, query: FloatArray, rows: IntArray, isRough: Boolean = false): FloatArray {
        val vectors = vectors(channel) ?: return FloatArray(rows.size) { Float.NEGATIVE_INFINITY }
        return vectors.scores(ready(query, vectors.dim, channel), rows, isRough)
    }

    /** The mean of a photo's vectors, of length 1; null if it has none in the channel. */
    fun meanOf(channel: String, row: Int): FloatArray? = vectors(channel)?.mean(row)

    /** The k best photos. [plan]: "exact", "hnsw", or "auto" to let the planner choose. */
    fun searchVectors(channel: String, query: FloatArray, k: Int, rows: IntArray? = null, plan: String = "auto"): VectorResult {
        val vectors = vectors(channel) ?: return VectorResult(IntArray(0), FloatArray(0), "exact")
        val ready = ready(query, vectors.dim, channel)
        val filter = rows?.let { Rows.unique(it) }
        // The graph segment is read only if it may be used: loading it costs more than a small scan.
        val left = filter?.size ?: vectors.size
        val worth = plan == "hnsw" || (plan == "auto" && Estimate(vectors.size, left, vectors.dim, k).plan == "hnsw")
        val (graph, behind) = if (worth || channel in graphs) graph(channel, vectors) else null to IntArray(0)
        return Nearest(vectors, graph, behind).find(ready, k, filter, plan)
    }

    /**
     * The words of the query, each with the photos whose memories hold it. [forms]: the words to look up instead, each
     * with what else may stand for it, of which the best counts.
     */
    fun words(query: String, forms: List<List<String>>? = null): WordScores = load { WordScores.lookUp(wordIndex, forms ?: Words.spellings(query), memoryOwner, size) }

    /** Whether a memory holds a word. */
    fun holds(word: String): Boolean = load { wordIndex.holds(word) }

    /** The k photos with the highest BM25 for any of the query's words. */
    fun searchText(query: String, k: Int): TextResult {
        val scores = words(query).bm25()
        val order = Rows.top(FloatArray(size) { if (scores[it] > 0) scores[it] else Float.NEGATIVE_INFINITY }, k)
        return TextResult(order, FloatArray(order.size) { scores[order[it]] })
    }

    /**
     * By row: whether a chat message is attached. The messages just before and after such a photo belong to
     * its meaning.
     */
    val conversations: BooleanArray by loaded {
        Rows.mask(db.query("SELECT DISTINCT photo FROM memories WHERE source = 'chat'").map { it[0].asInt() }.toIntArray(), size)
    }

    /** By row: whether a photo has a file, and is not only something that was said. */
    fun pictured(): BooleanArray = load { Rows.mask(db.query("SELECT row FROM photos WHERE path IS NOT NULL").map { it[0].asInt() }.toIntArray(), size) }

    /** The row and the text of every memory of a [source]. */
    fun memoriesOf(source: String): List<Pair<Int, String>> =
        load { db.query("SELECT photo, text FROM memories WHERE source = ? ORDER BY photo, id", source).map { it[0].asInt() to it[1].asText() } }

    /** The rows of the photos that share an event with a photo, itself among them; none without an event. */
    fun sharingEvent(row: Int): IntArray = load {
        val sql = "SELECT photo FROM event_photos WHERE event = (SELECT event FROM event_photos WHERE photo = ?) ORDER BY photo"
        db.query(sql, row.toLong()).map { within(it[0].asInt()) }.toIntArray()
    }

    private fun within(row: Int): Int = if (row in 0 until size) row else throw ArithmeticException("row $row of $size")

    /** By row: whether the optional [table] names the photo; with a [name], for that alone. */
    fun detailed(table: String, name: String? = null): BooleanArray = load {
        val sql = "SELECT row FROM photos WHERE id IN (SELECT photo FROM $table WHERE ${if (name == null) "1" else "name = ?"})"
        val rows = if (OptionalTables.isThere(db, table)) db.query(sql, *listOfNotNull(name).toTypedArray()).map { it[0].asInt() } else emptyList()
        Rows.mask(rows.toIntArray(), size)
    }

    /** The names that the optional [table] of a field has. */
    fun details(table: String): List<String> =
        load { if (OptionalTables.isThere(db, table)) db.query("SELECT DISTINCT name FROM $table ORDER BY name").map { it[0].asText() } else emptyList() }

    /** The row of each face that was found, and the name of whose it is, if it has one. */
    fun faces(): List<Pair<Int, String?>> = load {
        val sql = "SELECT p.row, n.name FROM faces f JOIN photos p ON p.id = f.photo LEFT JOIN face_people n ON n.id = f.person"
        val found = if (OptionalTables.isThere(db, "faces")) db.query(sql).map { it[0].asInt() to it[1] as String? } else emptyList()
        found.onEach { (row, _) -> within(row) }
    }

    /** The people of the album; null if nobody was searched for. Raises [AlbumError] for a damaged row. */
    fun people(): People? = load { FaceRows(db, path).read() }

    /** The stored preferences. Merged entities are replaced by their root. */
    fun preferences(): Preferences = preferences

    /** Number of vectors by channel. */
    fun vectorCounts(): Map<String, Int> =
        load { db.query("SELECT channel, count(*) FROM vectors GROUP BY channel").associate { it[0].asText() to it[1].asInt() } }

    /** The checksum of each photo, by row. */
    fun checksums(): List<Long?> = load { db.query("SELECT crc FROM photos ORDER BY row").map { it[0] as Long? } }

    /** [ranked] (rows, best first), with each preferred photo moved before those it is preferred to. */
    fun preferred(ranked: List<Int>): List<Int> {
        val told = preferences
        if (told.photos.isEmpty() && told.entities.isEmpty()) return ranked
        val linked = if (told.entities.isEmpty()) emptyMap() else ranked.associateWith { entitiesOf.of(it).toSet() }
        return Preferences.reorder(ranked, told.photos + Preferences.betweenPhotos(told.entities, linked))
    }

    // Loading

    /** The links from column [source] of [pairs] to column [target]; [n]: the number of source rows. */
    private fun links(pairs: List<IntArray>, source: Int, target: Int, n: Int): Links =
        Links.of(IntArray(pairs.size) { pairs[it][source] }, IntArray(pairs.size) { pairs[it][target] }, n)

    private fun openSpace(): Space {
        val found = Segments.load(db, Segments.KDTREE, KdTree.VERSION, size)
        if (found != null) {
            val tree = try {
                KdTree.fromBytes(found.blob)
            } catch (error: AlbumError) {
                null
            }
            if (tree != null && tree.size == found.rows) return Space(tree, size, found.behind, Loader.pointsOf(db, found.behind))
        }
        return Space(KdTree.build(Loader.points(db)), size, IntArray(0), emptyArray())
    }

    private fun openPreferences(): Preferences {
        val found = db.query("SELECT kind, better, worse FROM preferences ORDER BY kind, better, worse").map { Triple(it[0], it[1].asInt(), it[2].asInt()) }
        val entities = found.filter { it.first == "entity" && maxOf(it.second, it.third) < roots.size }
        return Preferences(found.filter { it.first == "photo" }.map { it.second to it.third }, entities.map { roots[it.second] to roots[it.third] })
    }

    private fun vectors(channel: String): VectorSet? = synchronized(this) {
        if (channel !in channels) channels[channel] = load { Loader.vectors(db, channel, size) }
        channels[channel]
    }

    private fun graph(channel: String, vectors: VectorSet): Pair<Hnsw?, IntArray> = synchronized(this) {
        graphs.getOrPut(channel) {
            val found = load { Segments.load(db, Segments.hnswName(channel), Hnsw.VERSION, size) }
            try {
                if (found == null) null to IntArray(0) else Hnsw.load(found.blob, vectors, found.behind) to found.behind
            } catch (error: AlbumError) {
                null to IntArray(0)
            }
        }
    }

    private fun ready(query: FloatArray, dim: Int, where: String): Query {
        if (query.size != dim) {
            throw AlbumError("$path: a query of ${query.size} dimensions, but $where has $dim; use the encoder that built the album")
        }
        return Query(query)
    }

    /**
     * A value that is read once, when it is first used, under the album's own lock: with a lock of each value's own, two threads
     * could wait for each other.
     */
    private fun <T> loaded(read: () -> T): Lazy<T> = lazy(this) { load(read) }

    /**
     * Runs [read] under the lock. A page that SQLite refuses, or a value of a type that no writer wrote,
     * means that the file is damaged: [AlbumError].
     */
    private fun <T> load(read: () -> T): T = synchronized(this) {
        try {
            read()
        } catch (error: DatabaseError) {
            throw Schema.damaged(path, error)
        } catch (error: ClassCastException) {
            throw Schema.damaged(path, error)
        } catch (error: ArithmeticException) {
            throw Schema.damaged(path, error)
        } catch (error: NumberFormatException) {
            throw Schema.damaged(path, error)
        }
    }

    companion object {
        private const val LIMIT = 32 // matches of a query
        private const val DEPTH = 3 // edges between an entity that a photo is about and one that is similar to the query
        private const val MOST_REACHED = 1000 // photos; what leads to more says nothing about any of them

        fun open(path: File, opener: DatabaseOpener): Album {
            val db = Schema.openReader(path, opener)
            try {
                return Album(db, path)
            } catch (error: RuntimeException) {
                db.close()
                throw error
            }
        }
    }
}
