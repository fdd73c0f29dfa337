/// Inserts, replaces and removes one photo's rows in all tables, with their full-text index entries
/// (index/album/writing/rows.py). Every function runs inside the caller's transaction. Photo rows stay 0..n-1: when a photo is
/// removed, the last one moves to its row, and the table `changes` says that segments are out of date for that row.
struct PhotoRows {
    let db: Database
    let path: String
    /// Channel → dimensions; a channel's first vector adds its entry.
    var dims: [String: Int]
    /// Whether FTS5's table is there and up to date; if not, `finish` builds it.
    let isFullText: Bool
    private static let sparse = 4  // ids are renumbered when fewer than one in so many is in use
    private var stale: Set<Int> = []  // events of which a photo was replaced or removed

    init(db: Database, path: String, dims: [String: Int]) throws {
        (self.db, self.path, self.dims) = (db, path, dims)
        isFullText = try TextIndex.isFullText(db)
    }

    func count() throws -> Int { try db.integer("SELECT coalesce(max(row), -1) + 1 FROM photos") }

    mutating func insert(_ item: Encoded, generation: Int) throws {
        let row = try count()
        do { try photo(row, item.photo) } catch let error as SQLiteError where error.isConstraint {
            throw Failure.album("\(path): photo id \(item.photo.id.scalars.quoted) is already in the album; give every photo its own id")
        }
        // A segment may still describe a removed photo that had this row.
        if row < (try db.integer("SELECT coalesce(max(rows), 0) FROM segments")) { try changed(row, generation) }
        try Clip.write(db, item.photo.id, item.clip)
        try contents(row, item)
    }

    /// Replaces all data of a photo; it keeps its id, its row, its preferences and its event.
    mutating func replace(_ item: Encoded, generation: Int) throws {
        let row = try find(item.photo.id)
        try clear(row)
        try db.rows("DELETE FROM photos WHERE row=?", [.integer(row)])
        try photo(row, item.photo)
        try changed(row, generation)
        try OptionalTables.drop(db, item.photo.id, OptionalTables.ofPictures)
        try Clip.write(db, item.photo.id, item.clip)
        try contents(row, item)
        if let event = try EventRows.ofPhoto(db, row) { stale.insert(event) }
    }

    /// Replaces a photo's memories, mentions and text vectors; its titles go, all else of it stays.
    mutating func retell(_ item: Encoded, generation: Int) throws {
        let row = try find(item.photo.id)
        try clear(row, channels: dims.keys.filter(["text", "title"].contains))
        try changed(row, generation)
        try contents(row, item)
        if let event = try EventRows.ofPhoto(db, row) { stale.insert(event) }
    }

    /// Deletes the people whom no photo mentions any more: those of these `names`, and those for whom nothing was chosen (a
    /// preference, another spelling).
    func dropPeople(_ names: [String]) throws {
        let named = Set(names.map { Entities.canonical($0.scalars).string })
        let chosen = """
            SELECT better FROM preferences WHERE kind='entity' UNION SELECT worse FROM preferences WHERE kind='entity'
            UNION SELECT same_as FROM entities WHERE same_as IS NOT NULL
            """
        let unmentioned = """
            SELECT row, canonical, kind = 'person' AND row NOT IN (\(chosen)) FROM entities
            WHERE row NOT IN (SELECT entity FROM mentions) ORDER BY row DESC
            """
        for found in try db.rows(unmentioned) where found[2] == .integer(1) || named.contains(found[1].text ?? "") { try dropEntity(found[0]) }
    }

    /// The last entity moves to the row.
    private func dropEntity(_ row: Value) throws {
        try db.rows("DELETE FROM preferences WHERE kind='entity' AND ? IN (better, worse)", [row])
        try db.rows("UPDATE entities SET same_as=NULL WHERE same_as=?", [row])
        try db.rows("DELETE FROM edges WHERE ? IN (parent, child)", [row])
        try db.rows("DELETE FROM entities WHERE row=?", [row])
        try db.rows("DELETE FROM segments WHERE name=?", [.text(EntityNodes.segment)])
        let last = try db.integer("SELECT coalesce(max(row), -1) FROM entities"), pair: [Value] = [row, .integer(last)]
        guard last > row.integer ?? last else { return }
        for (table, column) in [("entities", "row"), ("entities", "same_as"), ("mentions", "entity"), ("edges", "parent"), ("edges", "child")] {
            try db.rows("UPDATE \(table) SET \(column)=? WHERE \(column)=?", pair)
        }
        for column in ["better", "worse"] { try db.rows("UPDATE preferences SET \(column)=? WHERE kind='entity' AND \(column)=?", pair) }
    }

    /// Gives a photo these vectors in place of those that it has.
    mutating func renew(_ item: Encoded) throws {
        let row = try find(item.photo.id)
        for channel in dims.keys { try db.rows("DELETE FROM vectors WHERE channel=? AND photo=?", [.text(channel), .integer(row)]) }
        for (channel, chunks) in item.vectors { try vectors(row, item.photo.id, channel, chunks) }
        if let clip = item.clip { try Clip.write(db, item.photo.id, clip) }  // its frames are those of the new vectors
        try seal(row)
    }

    /// Marks a photo as a favourite, or takes the mark off; what is known of it else stays as it is.
    mutating func mark(_ id: String, _ isFavourite: Bool, generation: Int) throws {
        let row = try find(id)
        try takeOff(row, " AND source=? AND text=?", [.text(Memory.favourite.source), .text(Memory.favourite.text)])
        if isFavourite { try remember(row, .favourite) }
        try changed(row, generation)
        try seal(row)
        if let event = try EventRows.ofPhoto(db, row) { stale.insert(event) }
    }

    func photo(_ id: String) throws -> Photo {
        let row = try find(id)
        return try PhotoRecords(db, [row]).photos()[row]!.photo
    }

    mutating func remove(_ id: String, generation: Int) throws {
        let row = try find(id), last = try count() - 1
        try clear(row)
        if let event = try EventRows.ofPhoto(db, row) { stale.insert(event) }
        try db.rows("DELETE FROM event_photos WHERE photo=?", [.integer(row)])
        try db.rows("DELETE FROM preferences WHERE kind='photo' AND ? IN (better, worse)", [.integer(row)])
        try OptionalTables.drop(db, id, OptionalTables.ofPhotos)
        try db.rows("DELETE FROM photos WHERE row=?", [.integer(row)])
        try db.rows("DELETE FROM changes WHERE photo=?", [.integer(last)])
        if row == last { return }
        try renumber(last, row)
        try changed(row, generation)
    }

    /// Brings events up to date, and memory ids back to 1..m once most are no longer in use; after each batch of
    /// changes.
    mutating func settle() throws {
        try EventRows.refresh(db, stale)
        stale = []
        let taken = try db.integer("SELECT count(*) FROM memories"), greatest = try db.integer("SELECT coalesce(max(id), 0) FROM memories")
        if greatest <= PhotoRows.sparse * (taken + (try count())) + 1024 { return }
        // No new id is above its old one, so no two rows collide on the way.
        for (at, row) in try db.rows("SELECT id FROM memories ORDER BY id").enumerated() where row[0].integer != at + 1 {
            try db.rows("UPDATE memories SET id=? WHERE id=?", [.integer(at + 1), row[0]])
        }
        if isFullText { try db.rows("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')") }
    }

    /// Forgets what a transaction that was rolled back would have settled.
    mutating func forget() { stale = [] }

    private func find(_ id: String) throws -> Int {
        guard let row = try db.first("SELECT row FROM photos WHERE id=?", [.text(id)])?[0].integer else {
            throw Failure.album("\(path): no photo with id \(id.scalars.quoted) in this album")
        }
        return row
    }

    private func changed(_ row: Int, _ generation: Int) throws {
        try db.rows("INSERT OR REPLACE INTO changes VALUES(?,?)", [.integer(row), .integer(generation)])
    }

    /// Deletes what belongs to a photo, except its own row, its preferences and its event; of its vectors those of `channels`, or all.
    private func clear(_ row: Int, channels: [String]? = nil) throws {
        try takeOff(row)
        // By channel, because the primary key begins with it.
        for channel in channels ?? Array(dims.keys) { try db.rows("DELETE FROM vectors WHERE channel=? AND photo=?", [.text(channel), .integer(row)]) }
        try db.rows("DELETE FROM mentions WHERE photo=?", [.integer(row)])
    }

    /// Deletes a photo's memories, or those that `which` says.
    private func takeOff(_ row: Int, _ which: String = "", _ given: [Value] = []) throws {
        if isFullText {
            for memory in try db.rows("SELECT id, text FROM memories WHERE photo=?\(which)", [.integer(row)] + given) {
                try db.rows("INSERT INTO memories_fts(memories_fts, rowid, text) VALUES('delete',?,?)", memory)
            }
        }
        try db.rows("DELETE FROM memories WHERE photo=?\(which)", [.integer(row)] + given)
    }

    private func remember(_ row: Int, _ memory: Memory) throws {
        let labels: [Value] = [.optional(memory.sharing), .optional(memory.sensitivity)]
        try db.rows(
            "INSERT INTO memories(photo, source, text, sharing, sensitivity) VALUES(?,?,?,?,?)",
            [.integer(row), .text(memory.source), .text(memory.text)] + labels)
        if isFullText { try db.rows("INSERT INTO memories_fts(rowid, text) VALUES(?,?)", [.integer(db.lastRow), .text(memory.text)]) }
    }

    private func renumber(_ old: Int, _ new: Int) throws {
        let pair: [Value] = [.integer(new), .integer(old)]
        for (table, column) in [("photos", "row"), ("memories", "photo"), ("mentions", "photo"), ("event_photos", "photo")] {
            try db.rows("UPDATE \(table) SET \(column)=? WHERE \(column)=?", pair)
        }
        for channel in dims.keys { try db.rows("UPDATE vectors SET photo=? WHERE channel=? AND photo=?", [.integer(new), .text(channel), .integer(old)]) }
        for column in ["better", "worse"] { try db.rows("UPDATE preferences SET \(column)=? WHERE kind='photo' AND \(column)=?", pair) }
    }

    private mutating func contents(_ row: Int, _ item: Encoded) throws {
        for memory in item.photo.memories { try remember(row, memory) }
        for (channel, chunks) in item.vectors { try vectors(row, item.photo.id, channel, chunks) }
        try link(row, item.mentions)
        try seal(row)
    }

    func seal(_ row: Int) throws {
        let channels = dims.keys.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }
        try db.rows("UPDATE photos SET crc=? WHERE row=?", [.integer(try Checksum.photo(db, row, channels)), .integer(row)])
    }

    private func photo(_ row: Int, _ photo: Photo) throws {
        if let lat = photo.lat, let lon = photo.lon, !lat.isFinite || !lon.isFinite {
            throw Failure.album("\(path): photo \(photo.id.scalars.quoted) at \(lat), \(lon) degrees; give finite degrees, or none")
        }
        let place = photo.lat.flatMap { lat in photo.lon.map { (Space.e7(lat), Space.e7($0)) } }
        try db.rows(
            "INSERT INTO photos(\(Loader.photoColumns)) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
            [
                .integer(row), .text(photo.id), .optional(photo.path), .optional(photo.takenAt), .text(photo.tzSource), .optional(photo.utcOffset),
                .optional(place?.0), .optional(place?.1), .optional(photo.sharing), .optional(photo.sensitivity), .optional(photo.sha256),
            ])
    }

    private mutating func vectors(_ row: Int, _ id: String, _ channel: String, _ chunks: [[Float]]) throws {
        let dim = dims[channel] ?? chunks.first?.count ?? -1
        dims[channel] = dim
        guard chunks.allSatisfy({ $0.count == dim && $0.allSatisfy(\.isFinite) }), chunks.count < 1 << 16 else {
            let what = "photo \(id.scalars.quoted), channel \(channel.scalars.quoted): vectors of \(chunks.map(\.count))"
            throw Failure.album("\(path): \(what) where finite [n, \(dim)] is needed; check the encoder")
        }
        for (number, vector) in chunks.enumerated() {
            let made = Quantized(vector)
            try db.rows(
                "INSERT INTO vectors VALUES(?,?,?,?,?,?)",
                [
                    .text(channel), .integer(row), .integer(number), .real(Double(made.scale)), .blob(made.codes.map { UInt8(bitPattern: $0) }),
                    .blob(made.fine),
                ])
        }
    }

    /// Links a photo to the entities that its memories name, and adds the edges between these.
    private func link(_ row: Int, _ mentions: [Mention]) throws {
        var alone = Set<Int>(), children: [Int: Set<Int>] = [:]  // parent → what describes it
        for mention in mentions {
            guard let entity = try entityRow(mention.name, mention.kind) else { continue }
            guard let name = mention.parent, let parent = try entityRow(name, "thing"), parent != entity else {
                alone.insert(entity)
                continue
            }
            try db.rows(
                "INSERT OR IGNORE INTO edges(parent, child, relation) VALUES(?,?,?)", [.integer(parent), .integer(entity), .text(mention.relation)])
            children[parent, default: []].insert(entity)
        }
        for (entity, leaf) in Leaf.leaves(alone, children).sorted(by: { $0.key < $1.key }) {
            try db.rows("INSERT INTO mentions VALUES(?,?,?)", [.integer(entity), .integer(row), .integer(leaf.rawValue)])
        }
    }

    /// The entity row of a name, inserted if it is new; nil if the name has no canonical form. A new spelling
    /// of a known name becomes its alias, without a vector of its own.
    private func entityRow(_ said: String, _ kind: String) throws -> Int? {
        let name = said.scalars.tidied().string, key = Entities.canonical(name.scalars).string
        if key.isEmpty { return nil }
        if let found = try db.first("SELECT row FROM entities WHERE name=?", [.text(name)])?[0].integer { return found }
        let same = try db.first("SELECT row FROM entities WHERE canonical=? ORDER BY same_as IS NOT NULL, row LIMIT 1", [.text(key)])?[0].integer
        let row = try db.integer("SELECT coalesce(max(row), -1) + 1 FROM entities")
        let crc = Checksum.values([.text(key), .text(name), .text(kind), .null, .null])
        try db.rows(
            "INSERT INTO entities(row, canonical, name, kind, same_as, crc) VALUES(?,?,?,?,?,?)",
            [.integer(row), .text(key), .text(name), .text(kind), .optional(same), .integer(crc)])
        return row
    }
}
