package gamer.album

import gamer.common.AlbumError
import gamer.common.oneLine
import org.json.JSONArray
import org.json.JSONException
import java.io.File

/**
 * Adds, replaces and removes photos of an album file in place, as the Python writer does (index/album/writing/writer.py). Each
 * change is one transaction that has reached the disk when it returns, so a killed app loses at most the batch in
 * progress. There is one writer at a time: it holds `NAME.lock`.
 */
class AlbumWriter private constructor(private val db: Database, private val path: File, private val lock: WriterLock) : AutoCloseable {
    val meta: AlbumMeta = Loader.meta(db, path)
    private val rows = RowWriter(db, path, Loader.channelDims(db))
    private var generation = Loader.generation(db)
    private var isClosed = false

    /** Ids of the photos in the album, in order of row. */
    fun known(): List<String> = db.query("SELECT id FROM photos ORDER BY row").map { it[0].asText() }

    /** SHA-256 of the pictures in the album, where known. */
    fun knownContents(): Set<String> = db.query("SELECT sha256 FROM photos WHERE sha256 IS NOT NULL").map { it[0].asText() }.toSet()

    fun add(batch: List<Encoded>) = commit(counts = true) { generation -> for (item in batch) rows.insert(item, generation) }

    /** Replaces photos, identified by their ids: memories, vectors and mentions; preferences and events stay. */
    fun update(batch: List<Encoded>) = commit(counts = true) { generation ->
        for (item in batch) rows.replace(item, generation)
        rows.settle()
    }

    /** Ids of the photos that are marked as favourites. */
    fun favourites(): Set<String> {
        val marked = "SELECT photo FROM memories WHERE source=? AND text=?"
        return db.query("SELECT id FROM photos WHERE row IN ($marked)", Memory.FAVOURITE.source, Memory.FAVOURITE.text).map { it[0].asText() }.toSet()
    }

    /** Marks photos as favourites, or takes the mark off them. */
    fun mark(ids: List<String>, isFavourite: Boolean) = commit(counts = true) { generation ->
        for (id in ids) rows.mark(id, isFavourite, generation)
        rows.settle()
    }

    /** Changes the tables of faces, in one transaction; what is deleted is overwritten. */
    fun <T> people(change: FaceRows.() -> T): T {
        db.query("PRAGMA secure_delete=ON")
        return commit(counts = false) { FaceRows(db, path).change() }
    }

    /**
     * Replaces the memories of photos, identified by their ids, with the mentions and text vectors; all else of them stays.
     * [named]: id → the names among the memories that were written because people have them.
     */
    fun retell(batch: List<Encoded>, named: Map<String, List<String>>) = commit(counts = true) { retold(batch, named, it) }

    /**
     * [retell] where [forget] deletes people, in one transaction, with the entities of these [names] that no photo mentions any more;
     * closes the album. The bytes go at its end, or with the next [finish] where this program is killed before.
     */
    fun forget(batch: List<Encoded>, named: Map<String, List<String>>, names: List<String>, forget: FaceRows.() -> Unit) {
        db.query("PRAGMA secure_delete=ON")
        commit(counts = true) { generation ->
            retold(batch, named, generation)
            FaceRows(db, path).forget()
            rows.dropPeople(names)
            TextIndex.renew(db)
            buildSegments { false }
            db.execute("INSERT OR REPLACE INTO meta VALUES(?, '')", ERASING)
        }
        erase()
        close()
    }

    private fun retold(batch: List<Encoded>, named: Map<String, List<String>>, generation: Long) {
        for (item in batch) rows.retell(item, generation)
        if (named.isNotEmpty()) FaceRows(db, path).noteWritten(named)
        rows.settle()
    }

    /** Writes the file anew where bytes of what was forgotten may be in it. */
    internal fun erase() {
        if (db.query("SELECT 1 FROM meta WHERE key=?", ERASING).isEmpty()) return
        try {
            db.execute("VACUUM")
        } catch (error: DatabaseError) {
            throw AlbumError("$path: forgotten, but its bytes are not erased (${oneLine(error)}); the next indexing tries that again")
        }
        commit(counts = false) { db.execute("DELETE FROM meta WHERE key=?", ERASING) }
    }

    /** Removes photos, and what belongs to them alone. */
    fun remove(ids: List<String>) = commit(counts = true) { generation ->
        for (id in ids) rows.remove(id, generation)
        rows.settle()
    }

    /** Ids of the photos that have no vector in any channel, in order of row. */
    fun withoutVectors(): List<String> =
        db.query("SELECT id FROM photos WHERE row NOT IN (SELECT photo FROM vectors) ORDER BY row").map { it[0].asText() }

    /** Photos by their ids. */
    fun photos(ids: List<String>): List<Photo> = ids.map { rows.photo(it) }

    /** Gives photos their vectors, and nothing else of what was encoded; for a copy of an album for other encoders ([Reencoding]). */
    fun renew(batch: List<Encoded>) = commit(counts = false) { for (item in batch) rows.renew(item) }

    /**
     * What `gamer index remove` keeps out from then on: pictures' SHA-256, and ids of photos without one; none
     * where the note is damaged.
     */
    fun removed(): Set<String> {
        val value = db.query("SELECT value FROM meta WHERE key='removed'").firstOrNull()?.get(0) as? String ?: return emptySet()
        return try {
            JSONArray(value).let { keys -> (0 until keys.length()).mapNotNull { keys.opt(it) as? String }.toSet() }
        } catch (error: JSONException) {
            emptySet()
        }
    }

    /**
     * Encodes the entity names that have no vector yet (float32 [dim] each), so that similarity search finds
     * them.
     */
    fun embed(encode: (List<String>) -> List<FloatArray>) = commit(counts = false) {
        val todo = db.query("SELECT row, name FROM entities WHERE data IS NULL AND same_as IS NULL ORDER BY row")
        for (part in todo.chunked(NAMES_A_CALL)) {
            val vectors = encode(part.map { it[1].asText() })
            for ((at, row) in part.withIndex()) {
                if (vectors[at].size != meta.dim || vectors[at].any { it.isNaN() || it.isInfinite() }) {
                    throw AlbumError("$path: entity vectors of ${vectors[at].size} where ${meta.dim} finite numbers are needed; check the encoder")
                }
                rows.embed(row[0].asLong(), VectorSet.quantize(vectors[at]))
            }
        }
    }

    /**
     * Encodes entity names without a vector, rebuilds the K-D tree, the graphs and the index of words if they have fallen
     * far behind, and closes the album. A graph that [isStopped] ends is left to the next time.
     */
    fun finish(isStopped: () -> Boolean = { false }, encode: (List<String>) -> List<FloatArray>) {
        embed(encode)
        commit(counts = false) { buildSegments(isStopped) }
        erase()
        close()
    }

    /**
     * Builds again what is derived from the rows (indexes, the index of words, segments), where a check finds it wrong; damage
     * in the rows themselves stays. Returns a line for each repair (index/album/writing/repair.py).
     */
    fun repair(): List<String> {
        val done = ArrayList<String>()
        commit(counts = true) {
            if (db.query("PRAGMA integrity_check(1)")[0][0] != "ok") {
                db.execute("REINDEX")
                done.add("indexes built again")
            }
            val photos = Loader.photoCount(db)
            if (TextIndex.repair(db, photos)) done.add("index of words built again")
            done += OptionalTables.repair(db)
            val changes = "FROM changes WHERE photo NOT IN (SELECT row FROM photos) OR generation > ?"
            val stray = db.query("SELECT count(*) $changes", generation)[0][0].asLong()
            if (stray > 0 || Segments.problems(db, generation).isNotEmpty() || Segments.isDue(db, Segments.KDTREE, photos)) {
                db.execute("DELETE $changes", generation)
                db.execute("DELETE FROM segments")
                done.add("segments built again")
            }
            buildSegments { false }
        }
        return done
    }

    private fun buildSegments(isStopped: () -> Boolean) {
        val photos = Loader.photoCount(db)
        if (Segments.isDue(db, Segments.KDTREE, photos)) {
            Segments.store(db, Segments.KDTREE, KdTree.VERSION, generation, photos, KdTree.build(Loader.points(db)).toBytes())
        }
        for (channel in Loader.channelDims(db).keys.filter { it != COPIES }) graph(channel, photos, isStopped)
        entityGraph(photos, isStopped)
        TextIndex.finish(db, photos, generation)
        val oldest = db.query("SELECT min(generation) FROM segments")[0][0]
        if (oldest != null) db.execute("DELETE FROM changes WHERE generation <= ?", oldest)
    }

    private fun graph(channel: String, photos: Int, isStopped: () -> Boolean) {
        val name = Segments.hnswName(channel)
        if (!Segments.isDue(db, name, photos)) return
        val count = db.query("SELECT count(*) FROM vectors WHERE channel=?", channel)[0][0].asLong()
        if (count < HnswBuilder.FROM || count > HnswBuilder.MOST) return
        val blob = Hnsw.build(Loader.vectors(db, channel, photos) ?: return, photos, isStopped) ?: return
        Segments.store(db, name, Hnsw.VERSION, generation, photos, blob)
    }

    private fun entityGraph(photos: Int, isStopped: () -> Boolean) {
        val nodes = db.query("SELECT count(*) FROM entities WHERE data IS NOT NULL")[0][0].asLong()
        if (nodes < EntityNodes.GRAPH_FROM || nodes > HnswBuilder.MOST || !Segments.isDue(db, EntityNodes.SEGMENT, photos)) return
        val found = Loader.entityVectors(db) ?: return
        val blob = Hnsw.build(found.vectors, found.roots.size, isStopped) ?: return
        Segments.store(db, EntityNodes.SEGMENT, Hnsw.VERSION, generation, photos, blob)
    }

    /** Closes the album and releases the lock; committed changes stay. A second call does nothing. */
    override fun close() {
        if (isClosed) return
        isClosed = true
        db.close() // the last connection to close checkpoints the WAL
        lock.release()
    }

    private fun <T> commit(counts: Boolean, change: (Long) -> T): T {
        val next = generation + if (counts) 1 else 0
        try {
            db.execute("BEGIN IMMEDIATE")
            try {
                if (Loader.generation(db) != generation) throw AlbumError("$path: another writer has changed the album; open it again")
                val done = change(next)
                if (counts) db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", next.toString())
                db.execute("COMMIT")
                generation = next
                return done
            } catch (error: Throwable) {
                rows.forget()
                rollBack()
                throw error
            }
        } catch (error: DatabaseError) {
            if (error.kind == DatabaseError.Kind.CORRUPT) throw Schema.damaged(path, error)
            throw AlbumError("$path: not written (${oneLine(error)}); check the free space; nothing was changed")
        }
    }

    private fun rollBack() = try {
        db.execute("ROLLBACK")
    } catch (error: DatabaseError) {
        Unit // SQLite may have rolled back by itself: a full disk
    }

    companion object {
        private const val NAMES_A_CALL = 512
        private const val TRIES = 100
        private const val BREAK_MS = 20L
        private const val ERASING = "erasing" // a key of the table meta: bytes of people who were forgotten may be in the file
        private const val COPIES = "copies" // a channel that finds copies of pictures, by scanning

        /** Opens an existing album; one of an older version is upgraded in one transaction. */
        fun extend(path: File, opener: DatabaseOpener): AlbumWriter {
            Schema.checkHeader(path)
            return locked(path, opener) { lock -> opened(path, opener, lock) }
        }

        /**
         * Creates an album without photos. It is written beside [path] and renamed when it is whole, so that a
         * failure or a killed process leaves nothing under the final name. Raises [AlbumError] if [path] exists.
         */
        fun create(path: File, meta: AlbumMeta, opener: DatabaseOpener): AlbumWriter {
            if (path.exists()) throw AlbumError("$path: there is a file already; choose another name or move it away")
            return locked(path, opener) { lock ->
                val aside = File(path.path + ".partial")
                discard(aside)
                try {
                    durable(aside, opener, create = true).use { db -> transaction(db) { make(db, meta) } }
                    if (!aside.renameTo(path)) throw AlbumError("$path: cannot be written; check the folder's permissions and the free space")
                } catch (error: Throwable) {
                    discard(aside)
                    throw error
                }
                opened(path, opener, lock)
            }
        }

        internal fun discard(file: File) = listOf("", "-wal", "-shm", "-journal").forEach { File(file.path + it).delete() }

        private fun locked(path: File, opener: DatabaseOpener, open: (WriterLock) -> AlbumWriter): AlbumWriter {
            val lock = WriterLock.take(path, opener)
            try {
                return open(lock)
            } catch (error: Throwable) {
                lock.release()
                if (error is DatabaseError) throw AlbumError("$path: cannot be written (${oneLine(error)}); check permissions and the free space")
                throw error
            }
        }

        private fun opened(path: File, opener: DatabaseOpener, lock: WriterLock): AlbumWriter {
            val db = durable(path, opener, create = false)
            try {
                if (Schema.versionOf(db) < USER_VERSION) transaction(db) { upgrade(db, path) }
                return AlbumWriter(db, path, lock)
            } catch (error: Throwable) {
                db.close()
                throw error
            }
        }

        /** SQLite does not wait for a lock that a change of the journal's mode needs; on Android readers hold it while they open the file. */
        private fun patiently(work: () -> Unit) {
            for (left in TRIES downTo 0) try {
                return work()
            } catch (error: DatabaseError) {
                if (left == 0 || error.kind != DatabaseError.Kind.BUSY) throw error
                Thread.sleep(BREAK_MS)
            }
        }

        /** A connection whose commits have reached the disk when they return. */
        internal fun durable(path: File, opener: DatabaseOpener, create: Boolean): Database {
            val db = opener.writer(path, create)
            try {
                for (pragma in listOf("journal_mode=WAL", "synchronous=FULL", "fullfsync=1", "trusted_schema=0")) patiently { db.query("PRAGMA $pragma") }
            } catch (error: Throwable) {
                db.close()
                throw error
            }
            return db
        }

        internal fun transaction(db: Database, work: () -> Unit) {
            db.execute("BEGIN IMMEDIATE")
            try {
                work()
                db.execute("COMMIT")
            } catch (error: Throwable) {
                try {
                    db.execute("ROLLBACK")
                } catch (second: DatabaseError) {
                    error.addSuppressed(second) // SQLite may have rolled back by itself: a full disk
                }
                throw error
            }
        }

        private fun make(db: Database, meta: AlbumMeta) {
            Ddl.CREATE.forEach { db.execute(it) }
            TextIndex.create(db)
            val told = told(meta)
            for ((key, value) in told + mapOf("crc" to Loader.metaCrc(told).toString(), "generation" to "0")) {
                db.execute("INSERT INTO meta VALUES(?,?)", key, value)
            }
        }

        /** What the table `meta` says of the encoders, and is covered by its checksum. */
        internal fun told(meta: AlbumMeta): Map<String, String> = mapOf(
            "text_encoder" to meta.textEncoder, "image_encoder" to meta.imageEncoder, "dim" to meta.dim.toString(), "delta" to meta.delta.toString(),
        )

        private fun upgrade(db: Database, path: File) {
            val version = Schema.versionOf(db)
            Ddl.upgrade(version).forEach { db.execute(it) }
            if (version > 1) return
            val rows = RowWriter(db, path, Loader.channelDims(db))
            for (row in 0 until rows.count()) rows.seal(row)
            db.query("SELECT row FROM entities").forEach { rows.sealEntity(it[0].asLong()) }
            val told = db.query("SELECT key, value FROM meta").associate { it[0].asText() to it[1].toString() }
            db.execute("INSERT OR REPLACE INTO meta VALUES('crc', ?)", Loader.metaCrc(told).toString())
        }
    }
}
