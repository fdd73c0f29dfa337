import Foundation

/// Adds, replaces and removes photos of an album file in place, as the Python writer does (index/album/writing/writer.py).
/// Each call is one transaction that has reached the disk when it returns, so a killed app loses at most the batch in
/// progress. There is one writer at a time; readers keep the snapshot that they opened.
public final class AlbumWriter {
    private static let erasing = "erasing" // a key of the table meta: bytes of people who were forgotten may be in the file
    private static let copies = "copies"  // a channel that finds copies of pictures, by scanning
    public let path: String
    public let meta: AlbumMeta
    private let lock: WriterLock
    private var db: Database?
    private var rows: PhotoRows
    private var generation: Int

    /// Creates an album without photos. It is written beside `path` and renamed when it is whole, so that a
    /// failure or a killed process leaves nothing under the final name. Raises Failure.album if the path exists,
    /// or if another writer holds it.
    public static func create(_ path: String, _ meta: AlbumMeta) throws {
        let lock = try WriterLock(path)
        defer { lock.release() }
        guard !FileManager.default.fileExists(atPath: path) else { throw Failure.album("\(path): stands there already; choose another name") }
        let aside = path + ".partial"
        discard(aside)
        do {
            try make(aside, meta)
            try FileManager.default.moveItem(atPath: aside, toPath: path)
        } catch {
            discard(aside)
            throw Failure.album("\(path): cannot be written (\(error)); check the folder and the free space")
        }
    }

    static func discard(_ path: String) {
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    private static func make(_ path: String, _ meta: AlbumMeta) throws {
        let db = try openForWriting(path, .create)
        defer { db.close() }
        let told = meta.told
        try transaction(db) {
            try db.run(AlbumSchema.create)
            for (key, value) in told.merging(["crc": String(AlbumMeta.checksum(told)), "generation": "0"], uniquingKeysWith: { $1 }) {
                try db.rows("INSERT INTO meta VALUES(?,?)", [.text(key), .text(value)])
            }
        }
    }

    /// Opens an album to change it in place; one of an older format is upgraded. Raises Failure.album.
    public init(_ path: String) throws {
        try AlbumFile.checkHeader(path)
        self.path = path
        lock = try WriterLock(path)
        do {
            let db = try AlbumWriter.openForWriting(path, .readWrite)
            if try db.integer("PRAGMA main.user_version") < AlbumFile.version { try AlbumWriter.upgrade(db) }
            meta = try AlbumMeta(db, path)
            generation = try Loader.generation(db)
            rows = try PhotoRows(db: db, path: path, dims: try Loader.channelDims(db))
            self.db = db
        } catch let error as SQLiteError {
            lock.release()
            if error.isBusy { throw Failure.album("\(path): another program has this album open; close it there, then run this again") }
            if error.isNotWritten { throw Failure.album("\(path): cannot be written (\(error)); check permissions and the free space") }
            throw AlbumFile.damaged(path, "\(error)")
        } catch Failure.value(let line) {
            lock.release()
            throw AlbumFile.damaged(path, line)
        } catch {
            lock.release()
            throw error
        }
    }

    deinit { close() }

    /// Ids of the photos in the album.
    public func ids() throws -> Set<String> { Set(try open().rows("SELECT id FROM photos").compactMap { $0[0].text }) }

    /// Adds `batch` in one transaction: on any error nothing of it is added.
    public func add(_ batch: [Encoded]) throws {
        try commit { for item in batch { try rows.insert(item, generation: generation + 1) } }
    }

    /// Replaces photos, identified by their ids: memories, vectors and mentions; preferences and events stay.
    public func update(_ batch: [Encoded]) throws {
        try commit {
            for item in batch { try rows.replace(item, generation: generation + 1) }
            try rows.settle()
        }
    }

    /// Ids of the photos that are marked as favourites.
    public func favourites() throws -> Set<String> {
        let marked = "SELECT photo FROM memories WHERE source=? AND text=?", mark = Memory.favourite
        let rows = try open().rows("SELECT id FROM photos WHERE row IN (\(marked))", [.text(mark.source), .text(mark.text)])
        return Set(rows.compactMap { $0[0].text })
    }

    /// Marks photos as favourites, or takes the mark off them.
    public func mark(_ ids: [String], isFavourite: Bool) throws {
        try commit {
            for id in ids { try rows.mark(id, isFavourite, generation: generation + 1) }
            try rows.settle()
        }
    }

    /// Changes the tables of faces, in one transaction; what is deleted is overwritten.
    public func people<T>(_ change: (FaceRows) throws -> T) throws -> T {
        let db = try open()
        try db.run("PRAGMA secure_delete=ON")
        return try commit(counts: false) { try change(FaceRows(db, path)) }
    }

    /// Replaces the memories of photos, identified by their ids, with the mentions and text vectors; all else of them stays.
    /// `named`: id → the names among the memories that were written because people have them.
    public func retell(_ batch: [Encoded], named: [String: [String]]) throws {
        try commit { try retold(batch, named) }
    }

    /// `retell` where `forget` deletes people, in one transaction, with the entities of these `names` that no photo mentions any more;
    /// closes the album. The bytes go at its end, or with the next `finish` where this program is killed before.
    public func forget(_ batch: [Encoded], named: [String: [String]], names: [String], _ forget: (FaceRows) throws -> Void) throws {
        let db = try open()
        try db.run("PRAGMA secure_delete=ON")
        try commit {
            try retold(batch, named)
            try forget(FaceRows(db, path))
            try rows.dropPeople(names)
            try TextIndex.renew(db)
            try buildSegments { false }
            try db.rows("INSERT OR REPLACE INTO meta VALUES(?, '')", [.text(AlbumWriter.erasing)])
        }
        try erase()
        close()
    }

    private func retold(_ batch: [Encoded], _ named: [String: [String]]) throws {
        for item in batch { try rows.retell(item, generation: generation + 1) }
        if !named.isEmpty { try FaceRows(try open(), path).noteWritten(named) }
        try rows.settle()
    }

    /// Writes the file anew where bytes of what was forgotten may be in it.
    func erase() throws {
        let db = try open()
        if try db.first("SELECT 1 FROM meta WHERE key=?", [.text(AlbumWriter.erasing)]) == nil { return }
        do { try db.run("VACUUM") } catch {
            throw Failure.album("\(path): forgotten, but its bytes are not erased (\(error)); the next indexing tries that again")
        }
        try commit(counts: false) { _ = try db.rows("DELETE FROM meta WHERE key=?", [.text(AlbumWriter.erasing)]) }
    }

    /// Removes photos, and what belongs to them alone.
    public func remove(_ ids: [String]) throws {
        try commit {
            for id in ids { try rows.remove(id, generation: generation + 1) }
            try rows.settle()
        }
    }

    /// Ids of the photos that have no vector in any channel, in order of row.
    public func withoutVectors() throws -> [String] {
        try open().rows("SELECT id FROM photos WHERE row NOT IN (SELECT photo FROM vectors) ORDER BY row").compactMap { $0[0].text }
    }

    /// Photos by their ids.
    public func photos(_ ids: [String]) throws -> [Photo] { try ids.map { try rows.photo($0) } }

    /// Gives photos their vectors, and nothing else of what was encoded; for a copy of an album for other encoders
    /// (Reencoding).
    public func renew(_ batch: [Encoded]) throws {
        try commit(counts: false) { for item in batch { try rows.renew(item) } }
    }

    /// What `gamer index remove` keeps out from then on: pictures' SHA-256, and ids of photos without one; none where the
    /// note is damaged.
    public func removed() throws -> Set<String> {
        let note = try open().first("SELECT value FROM meta WHERE key='removed'")?[0].text ?? "[]"
        return Set((try? JSONDecoder().decode([String].self, from: Data(note.utf8))) ?? [])
    }

    /// Encodes the entity names that have no vector yet, so that similarity search finds them. `encode`:
    /// names → unit vectors.
    public func embed(_ encode: ([String]) throws -> [[Float]]) throws {
        try commit(counts: false) {
            let db = try open()
            let todo = try db.rows("SELECT row, name FROM entities WHERE data IS NULL AND same_as IS NULL ORDER BY row")
            // Names given to the encoder at once, so that memory stays bounded.
            for start in stride(from: 0, to: todo.count, by: 512) {
                let part = todo[start..<min(start + 512, todo.count)]
                let made = try encode(part.map { $0[1].text ?? "" })
                guard made.count == part.count, made.allSatisfy({ $0.count == meta.dim && $0.allSatisfy(\.isFinite) }) else {
                    throw Failure.album("\(path): entity vectors of \(made.first?.count ?? 0) where finite [\(part.count), \(meta.dim)] is needed; check the encoder")
                }
                for (row, vector) in zip(part, made) { try give(db, row[0], Quantized(vector)) }
            }
        }
    }

    private func give(_ db: Database, _ row: Value, _ vector: Quantized) throws {
        let data = Value.blob(vector.codes.map { UInt8(bitPattern: $0) })
        try db.rows("UPDATE entities SET scale=?, data=? WHERE row=?", [.real(Double(vector.scale)), data, row])
        if let record = try db.first("SELECT \(Checksum.entityColumns) FROM entities WHERE row=?", [row]) {
            try db.rows("UPDATE entities SET crc=? WHERE row=?", [.integer(Checksum.values(record)), row])
        }
    }

    /// Encodes entity names without a vector, rebuilds the K-D tree and the graphs if they have fallen far behind, and
    /// closes the album. A graph that `isStopped` ends is left to the next time.
    public func finish(isStopped: () -> Bool = { false }, _ encode: ([String]) throws -> [[Float]]) throws {
        try embed(encode)
        try commit(counts: false) { try buildSegments(isStopped) }
        try erase()
        close()
    }

    /// Builds again what is derived from the rows (indexes, the index of words, segments), where a check finds it wrong;
    /// damage in the rows themselves stays. Returns a line for each repair (index/album/writing/repair.py).
    public func repair() throws -> [String] {
        var done: [String] = []
        try commit {
            let db = try open()
            if try db.first("PRAGMA integrity_check(1)")?[0].text != "ok" {
                try db.run("REINDEX")
                done.append("indexes built again")
            }
            let photos = try Loader.photoCount(db)
            if try TextIndex.repair(db) { done.append("index of words built again") }
            done += try OptionalTables.repair(db)
            let changes = "FROM changes WHERE photo NOT IN (SELECT row FROM photos) OR generation > ?"
            let stray = try db.integer("SELECT count(*) \(changes)", [.integer(generation)])
            let isDue = try Segments.isDue(db, Segments.kdtree, photos: photos)
            if try stray > 0 || isDue || !Segments.problems(db, generation: generation).isEmpty {
                try db.rows("DELETE \(changes)", [.integer(generation)])
                try db.rows("DELETE FROM segments")
                done.append("segments built again")
            }
            try buildSegments { false }
        }
        return done
    }

    private func buildSegments(_ isStopped: () -> Bool) throws {
        let db = try open(), photos = try Loader.photoCount(db)
        if try Segments.isDue(db, Segments.kdtree, photos: photos) {
            let tree = KDTree(points: try Loader.points(db))
            try Segments.store(db, Segments.kdtree, version: KDTree.version, generation: generation, rows: photos, tree.bytes())
        }
        for channel in try Loader.channelDims(db).keys where channel != AlbumWriter.copies { try graph(db, channel, photos, isStopped) }
        try entityGraph(db, photos, isStopped)
        try TextIndex.restore(db)
        let oldest = try db.first("SELECT min(generation) FROM segments")?[0] ?? .null
        try db.rows("DELETE FROM changes WHERE generation <= ?", [oldest])
    }

    private func graph(_ db: Database, _ channel: String, _ photos: Int, _ isStopped: () -> Bool) throws {
        let name = Segments.hnsw(channel)
        guard try Segments.isDue(db, name, photos: photos) else { return }
        let count = try db.integer("SELECT count(*) FROM vectors WHERE channel=?", [.text(channel)])
        guard (HNSWBuilder.from...HNSWBuilder.most).contains(count), let vectors = try Loader.vectors(db, channel, photos),
            let blob = HNSW.build(vectors, photos: photos, isStopped: isStopped)
        else { return }
        try Segments.store(db, name, version: HNSW.version, generation: generation, rows: photos, blob)
    }

    private func entityGraph(_ db: Database, _ photos: Int, _ isStopped: () -> Bool) throws {
        let nodes = try db.integer("SELECT count(*) FROM entities WHERE data IS NOT NULL")
        guard (EntityNodes.graphFrom...HNSWBuilder.most).contains(nodes), try Segments.isDue(db, EntityNodes.segment, photos: photos),
            let found = try Loader.entityVectors(db), let blob = HNSW.build(found.vectors, photos: found.roots.count, isStopped: isStopped)
        else { return }
        try Segments.store(db, EntityNodes.segment, version: HNSW.version, generation: generation, rows: photos, blob)
    }

    public func close() {
        db?.close()  // the last connection to close checkpoints the WAL
        db = nil
        lock.release()
    }

    private func open() throws -> Database {
        guard let db else { throw Failure.album("\(path): this writer is finished; open another") }
        return db
    }

    /// Runs `change` in a transaction. `counts`: whether the change increments the generation; false if it
    /// only adds derived data.
    private func commit<T>(counts: Bool = true, _ change: () throws -> T) throws -> T {
        let db = try open(), dims = rows.dims
        do {
            let done = try AlbumWriter.transaction(db) {
                guard try Loader.generation(db) == generation else { throw Failure.album("\(path): another writer has changed the album; open it again") }
                let done = try change()
                if counts { try db.rows("UPDATE meta SET value = ? WHERE key = 'generation'", [.text(String(generation + 1))]) }
                return done
            }
            if counts { generation += 1 }
            return done
        } catch let error as SQLiteError {
            rows.dims = dims
            rows.forget()
            throw Failure.album("\(path): not written (\(error)); check the free space; nothing was changed")
        } catch Failure.value(let line) {
            rows.dims = dims
            rows.forget()
            throw AlbumFile.damaged(path, line)
        } catch {
            rows.dims = dims
            rows.forget()
            throw error
        }
    }

    /// A transaction that takes the write lock at its start, waiting for it if need be.
    static func transaction<T>(_ db: Database, _ change: () throws -> T) throws -> T {
        try db.run("BEGIN IMMEDIATE")
        do {
            let done = try change()
            try db.run("COMMIT")
            return done
        } catch {
            if db.inTransaction { try? db.run("ROLLBACK") }
            throw error
        }
    }

    /// Opens a connection whose commits are durable: a commit returns when it has reached the disk.
    static func openForWriting(_ path: String, _ mode: Database.Mode) throws -> Database {
        let db = try Database(path, mode)
        db.wait(milliseconds: 10_000)
        try db.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA trusted_schema=0")
        return db
    }

    static func sealEntities(_ db: Database) throws {
        for record in try db.rows("SELECT row, \(Checksum.entityColumns) FROM entities") {
            try db.rows("UPDATE entities SET crc=? WHERE row=?", [.integer(Checksum.values(Array(record.dropFirst()))), record[0]])
        }
    }

    private static func upgrade(_ db: Database) throws {
        try transaction(db) {
            let version = try db.integer("PRAGMA main.user_version")
            try db.run(AlbumSchema.upgrade(version))
            if version > 1 { return }
            let rows = try PhotoRows(db: db, path: "", dims: try Loader.channelDims(db))
            for row in 0..<(try rows.count()) { try rows.seal(row) }
            try sealEntities(db)
            var told: [String: String] = [:]
            for row in try db.rows("SELECT key, CAST(value AS TEXT) FROM meta") { told[row[0].text ?? ""] = row[1].text }
            try db.rows("INSERT OR REPLACE INTO meta VALUES('crc', ?)", [.text(String(AlbumMeta.checksum(told)))])
        }
    }
}
