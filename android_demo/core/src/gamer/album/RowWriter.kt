package gamer.album

import gamer.common.AlbumError
import gamer.common.PyText
import gamer.indexing.Entities
import java.io.File

/**
 * Inserts, replaces and removes one photo's rows in all tables, with their full-text index entries
 * (index/album/writing/rows.py). Runs inside the caller's transaction. Photo rows stay 0..n-1: when a photo is removed, the last
 * one moves to its row, and the table `changes` says that segments are out of date for that row.
 */
internal class RowWriter(private val db: Database, private val path: File, stored: Map<String, Int>) {
    private val dims = HashMap(stored)
    private val hasFullText = TextIndex.isKept(db)
    private val stale = HashSet<Long>() // events of which a photo was replaced or removed

    fun count(): Long = db.query("SELECT coalesce(max(row), -1) + 1 FROM photos")[0][0].asLong()

    /** Reads the channels again; to be called after a transaction was rolled back. */
    fun forget() {
        stale.clear()
        dims.clear()
        dims.putAll(Loader.channelDims(db))
    }

    fun insert(item: Encoded, generation: Long) {
        val row = count()
        if (!hasFullText) TextIndex.abandon(db)
        if (db.query("SELECT 1 FROM photos WHERE id=?", item.photo.id).isNotEmpty()) {
            throw AlbumError("$path: photo id '${item.photo.id}' is already in the album; give every photo its own id")
        }
        photo(row, item.photo)
        // A segment may still describe a removed photo that had this row.
        if (row < db.query("SELECT coalesce(max(rows), 0) FROM segments")[0][0].asLong()) changed(row, generation)
        Clips.write(db, item.photo.id, item.clip)
        contents(row, item)
    }

    /** Replaces all data of a photo; it keeps its id, its row, its preferences and its event. */
    fun replace(item: Encoded, generation: Long) {
        if (!hasFullText) TextIndex.abandon(db)
        val row = find(item.photo.id)
        clear(row)
        db.execute("DELETE FROM photos WHERE row=?", row)
        photo(row, item.photo)
        changed(row, generation)
        OptionalTables.drop(db, item.photo.id, OptionalTables.OF_PICTURES)
        Clips.write(db, item.photo.id, item.clip)
        contents(row, item)
        stale.addAll(EventRows.ofPhoto(db, row))
    }

    /** Replaces a photo's memories, mentions and text vectors; its titles go, all else of it stays. */
    fun retell(item: Encoded, generation: Long) {
        if (!hasFullText) TextIndex.abandon(db)
        val row = find(item.photo.id)
        clear(row, dims.keys.filter { it in OF_TEXT })
        changed(row, generation)
        contents(row, item)
        stale.addAll(EventRows.ofPhoto(db, row))
    }

    /**
     * Deletes the people whom no photo mentions any more: those of these [names], and those for whom nothing was chosen (a preference,
     * another spelling).
     */
    fun dropPeople(names: List<String>) {
        val named = names.map(Entities::canonical)
        val chosen = "SELECT better FROM preferences WHERE kind='entity' UNION SELECT worse FROM preferences WHERE kind='entity' " +
            "UNION SELECT same_as FROM entities WHERE same_as IS NOT NULL"
        val unmentioned = "SELECT row, canonical, kind = 'person' AND row NOT IN ($chosen) FROM entities WHERE row NOT IN (SELECT entity FROM mentions) ORDER BY row DESC"
        for ((row, key, isFree) in db.query(unmentioned)) if (isFree == 1L || key in named) dropEntity(row.asLong())
    }

    /** The last entity moves to the row. */
    private fun dropEntity(row: Long) {
        db.execute("DELETE FROM preferences WHERE kind='entity' AND ? IN (better, worse)", row)
        db.execute("UPDATE entities SET same_as=NULL WHERE same_as=?", row)
        db.execute("DELETE FROM edges WHERE ? IN (parent, child)", row)
        db.execute("DELETE FROM entities WHERE row=?", row)
        db.execute("DELETE FROM segments WHERE name=?", EntityNodes.SEGMENT)
        val last = db.query("SELECT coalesce(max(row), -1) FROM entities")[0][0].asLong()
        if (last <= row) return
        for ((table, column) in ENTITY_COLUMNS) db.execute("UPDATE $table SET $column=? WHERE $column=?", row, last)
        for (column in listOf("better", "worse")) db.execute("UPDATE preferences SET $column=? WHERE kind='entity' AND $column=?", row, last)
    }

    /** Gives a photo these vectors in place of those that it has. */
    fun renew(item: Encoded) {
        val row = find(item.photo.id)
        for (channel in dims.keys) db.execute("DELETE FROM vectors WHERE channel=? AND photo=?", channel, row)
        for ((channel, vectors) in item.vectors) vectors(row, item.photo.id, channel, vectors)
        item.clip?.let { Clips.write(db, item.photo.id, it) } // its frames are those of the new vectors
        seal(row)
    }

    /** Marks a photo as a favourite, or takes the mark off; what is known of it else stays as it is. */
    fun mark(id: String, isFavourite: Boolean, generation: Long) {
        if (!hasFullText) TextIndex.abandon(db)
        val row = find(id)
        takeOff(row, " AND source=? AND text=?", Memory.FAVOURITE.source, Memory.FAVOURITE.text)
        if (isFavourite) memory(row, Memory.FAVOURITE)
        changed(row, generation)
        seal(row)
        stale.addAll(EventRows.ofPhoto(db, row))
    }

    fun photo(id: String): Photo {
        val row = Math.toIntExact(find(id))
        return PhotoRecords(db, intArrayOf(row)).photos().getValue(row).first
    }

    fun remove(id: String, generation: Long) {
        if (!hasFullText) TextIndex.abandon(db)
        val row = find(id)
        val last = count() - 1
        clear(row)
        stale.addAll(EventRows.ofPhoto(db, row))
        db.execute("DELETE FROM event_photos WHERE photo=?", row)
        db.execute("DELETE FROM preferences WHERE kind='photo' AND ? IN (better, worse)", row)
        OptionalTables.drop(db, id, OptionalTables.OF_PHOTOS)
        db.execute("DELETE FROM photos WHERE row=?", row)
        db.execute("DELETE FROM changes WHERE photo=?", last)
        if (row == last) return
        renumber(last, row)
        changed(row, generation)
    }

    /** Brings events up to date, and memory ids back to 1..m once most are no longer in use; after each batch of changes. */
    fun settle() {
        EventRows.refresh(db, stale)
        stale.clear()
        val taken = db.query("SELECT count(*), coalesce(max(id), 0) FROM memories")[0]
        if (taken[1].asLong() <= SPARSE * (taken[0].asLong() + count()) + 1024) return
        // No new id is above its old one, so no two rows collide on the way.
        for ((at, row) in db.query("SELECT id FROM memories ORDER BY id").withIndex()) {
            if (row[0].asLong() != at + 1L) db.execute("UPDATE memories SET id=? WHERE id=?", at + 1L, row[0])
        }
        if (hasFullText) db.execute("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')")
    }

    fun seal(row: Long) = db.execute("UPDATE photos SET crc=? WHERE row=?", Crc.ofPhoto(db, row, dims.keys.sorted()), row)

    fun sealEntity(row: Long) {
        val values = db.query("SELECT ${Crc.ENTITY_COLUMNS} FROM entities WHERE row=?", row).firstOrNull() ?: return
        db.execute("UPDATE entities SET crc=? WHERE row=?", Crc.of(*values), row)
    }

    fun embed(entity: Long, vector: Quantized) {
        db.execute("UPDATE entities SET scale=?, data=? WHERE row=?", vector.scale.toDouble(), vector.codes, entity)
        sealEntity(entity)
    }

    private fun find(id: String): Long =
        db.query("SELECT row FROM photos WHERE id=?", id).firstOrNull()?.get(0)?.asLong() ?: throw AlbumError("$path: no photo with id '$id' in this album")

    private fun changed(row: Long, generation: Long) = db.execute("INSERT OR REPLACE INTO changes VALUES(?,?)", row, generation)

    private fun contents(row: Long, item: Encoded) {
        item.photo.memories.forEach { memory(row, it) }
        for ((channel, vectors) in item.vectors) vectors(row, item.photo.id, channel, vectors)
        mentions(row, item.mentions)
        seal(row)
    }

    /** Deletes what belongs to a photo, except its own row, its preferences and its event; of its vectors those of [channels]. */
    private fun clear(row: Long, channels: Collection<String> = dims.keys) {
        takeOff(row)
        // By channel, because the primary key begins with it.
        for (channel in channels) db.execute("DELETE FROM vectors WHERE channel=? AND photo=?", channel, row)
        db.execute("DELETE FROM mentions WHERE photo=?", row)
    }

    /** Deletes a photo's memories, or those [which] says. */
    private fun takeOff(row: Long, which: String = "", vararg given: Any?) {
        if (hasFullText) {
            for (memory in db.query("SELECT id, text FROM memories WHERE photo=?$which", row, *given)) {
                db.execute("INSERT INTO memories_fts(memories_fts, rowid, text) VALUES('delete',?,?)", memory[0], memory[1])
            }
        }
        db.execute("DELETE FROM memories WHERE photo=?$which", row, *given)
    }

    private fun renumber(old: Long, new: Long) {
        for ((table, column) in listOf("photos" to "row", "memories" to "photo", "mentions" to "photo", "event_photos" to "photo")) {
            db.execute("UPDATE $table SET $column=? WHERE $column=?", new, old)
        }
        for (channel in dims.keys) db.execute("UPDATE vectors SET photo=? WHERE channel=? AND photo=?", new, channel, old)
        for (column in listOf("better", "worse")) db.execute("UPDATE preferences SET $column=? WHERE kind='photo' AND $column=?", new, old)
    }

    private fun photo(row: Long, p: Photo) {
        val placed = p.lat != null && p.lon != null
        db.execute(
            "INSERT INTO photos(${Loader.PHOTO_COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
            row, p.id, p.path, p.takenAt, p.tzSource, p.utcOffset?.toLong(), if (placed) Space.toE7(p.lat!!) else null,
            if (placed) Space.toE7(p.lon!!) else null, p.sharing, p.sensitivity, p.sha256,
        )
    }

    private fun memory(row: Long, m: Memory) {
        db.execute("INSERT INTO memories(photo, source, text, sharing, sensitivity) VALUES(?,?,?,?,?)", row, m.source, m.text, m.sharing, m.sensitivity)
        if (hasFullText) db.execute("INSERT INTO memories_fts(rowid, text) VALUES(last_insert_rowid(), ?)", m.text)
    }

    private fun vectors(row: Long, id: String, channel: String, vectors: Array<FloatArray>) {
        val dim = dims.getOrPut(channel) { vectors.firstOrNull()?.size ?: -1 }
        if (vectors.size > MAX_CHUNKS || vectors.any { v -> v.size != dim || v.any { it.isNaN() || it.isInfinite() } }) {
            throw AlbumError("$path: photo '$id', channel '$channel': vectors where finite [n, $dim] is needed; check the encoder")
        }
        for ((chunk, vector) in vectors.withIndex()) {
            val q = VectorSet.quantize(vector)
            db.execute("INSERT INTO vectors VALUES(?,?,?,?,?,?)", channel, row, chunk.toLong(), q.scale.toDouble(), q.codes, q.fine)
        }
    }

    /** Links a photo to the entities that its memories name, and adds the edges between these. */
    private fun mentions(row: Long, mentions: List<Mention>) {
        val alone = HashSet<Long>()
        val children = HashMap<Long, HashSet<Long>>() // parent → what describes it
        for (mention in mentions) {
            val entity = entity(mention.name, mention.kind) ?: continue
            val parent = mention.parent?.let { entity(it, "thing") }
            if (parent == null || parent == entity) {
                alone.add(entity)
                continue
            }
            db.execute("INSERT OR IGNORE INTO edges(parent, child, relation) VALUES(?,?,?)", parent, entity, mention.relation)
            children.getOrPut(parent) { HashSet() }.add(entity)
        }
        for ((entity, leaf) in Leaves.of(alone, children)) db.execute("INSERT INTO mentions VALUES(?,?,?)", entity, row, leaf)
    }

    /**
     * The entity row of a name, inserted if it is new; null if the name has no canonical form. A new spelling
     * of a known name becomes its alias, without a vector of its own.
     */
    private fun entity(written: String, kind: String): Long? {
        val name = PyText.joined(written)
        val key = Entities.canonical(name)
        if (key.isEmpty()) return null
        db.query("SELECT row FROM entities WHERE name=?", name).firstOrNull()?.let { return it[0].asLong() }
        val same = db.query("SELECT row FROM entities WHERE canonical=? ORDER BY same_as IS NOT NULL, row LIMIT 1", key).firstOrNull()
        val row = db.query("SELECT coalesce(max(row), -1) + 1 FROM entities")[0][0].asLong()
        db.execute(
            "INSERT INTO entities(row, canonical, name, kind, same_as, crc) VALUES(?,?,?,?,?,?)",
            row, key, name, kind, same?.get(0), Crc.of(key, name, kind, null, null),
        )
        return row
    }

    private companion object {
        const val MAX_CHUNKS = (1 shl 16) - 1 // the graph segment counts them in 16 bits
        val OF_TEXT = listOf("text", "title") // channels
        val ENTITY_COLUMNS = listOf("entities" to "row", "entities" to "same_as", "mentions" to "entity", "edges" to "parent", "edges" to "child")
        const val SPARSE = 4 // ids are renumbered when fewer than one in so many is in use
    }
}
