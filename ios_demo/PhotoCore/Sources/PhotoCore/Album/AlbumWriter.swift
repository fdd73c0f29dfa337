import Foundation

/// Adds photos to an album as the Python writer does (index/album/writer.py): one durable transaction a call, one writer at a time, readers keep the
/// snapshot that they opened. A process killed between calls loses nothing that was committed.
///
/// Of the derived segments it builds the K-D tree. A graph stays as it is, behind in what came since, until `gamer index` builds it again: readers
/// scan what it does not know.
public final class AlbumWriter {
    public let path: String
    public let meta: AlbumMeta
    private let lock: WriterLock
    private var db: Database?
    private var rows: PhotoRows
    private var generation: Int

    /// Makes an album without photos. Raises Failure.album if something stands there.
    public static func create(_ path: String, _ meta: AlbumMeta) throws {
        guard !FileManager.default.fileExists(atPath: path) else { throw Failure.album("\(path): stands there already; choose another name") }
        let aside = path + ".partial"
        for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: aside + suffix) }
        do {
            let db = try openForWriting(aside, .create)
            defer { db.close() }
            let told = ["text_encoder": meta.textEncoder, "image_encoder": meta.imageEncoder, "dim": String(meta.dim), "delta": "\(meta.delta)"]
            try transaction(db) {
                try db.run(AlbumSchema.create)
                for (key, value) in told.merging(["crc": String(AlbumMeta.checksum(told)), "generation": "0"], uniquingKeysWith: { $1 }) {
                    try db.rows("INSERT INTO meta VALUES(?,?)", [.text(key), .text(value)])
                }
            }
        } catch let error as SQLiteError {
            throw Failure.album("\(aside): cannot be written (\(error)); check the folder and the free space")
        }
        do { try FileManager.default.moveItem(atPath: aside, toPath: path) } catch {
            throw Failure.album("\(path): cannot be written (\(error)); check the folder and the free space")
        }
    }

    /// Opens an album to change it in place; one of format 1 becomes format 2. Raises Failure.album.
    public init(_ path: String) throws {
        try AlbumFile.checkHeader(path)
        self.path = path
        lock = try WriterLock(path)
        do {
            let db = try AlbumWriter.openForWriting(path, .readWrite)
            if try db.integer("PRAGMA main.user_version") == 1 { try AlbumWriter.upgrade(db) }
            meta = try AlbumMeta(db, path)
            generation = try Loader.generation(db)
            rows = PhotoRows(db: db, path: path, dims: try Loader.channelDims(db))
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

    /// Ids of the photos that the album holds.
    public func ids() throws -> Set<String> { Set(try open().rows("SELECT id FROM photos").compactMap { $0[0].text }) }

    /// All of `batch`, or on any error none of it.
    public func add(_ batch: [Encoded]) throws {
        try commit { for item in batch { try rows.insert(item, generation: generation + 1) } }
    }

    /// Gives the entity names that have none a vector: with it a query's meaning finds them, not only its words. `encode`: names → unit vectors.
    public func embed(_ encode: ([String]) throws -> [[Float]]) throws {
        try commit(counts: false) {
            let db = try open()
            let todo = try db.rows("SELECT row, name FROM entities WHERE data IS NULL AND same_as IS NULL ORDER BY row")
            for start in stride(from: 0, to: todo.count, by: 512) {  // so many at once, that memory stays bounded
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

    /// Embeds what has no vector yet, builds the K-D tree if it has fallen far behind, and closes.
    public func finish(_ encode: ([String]) throws -> [[Float]]) throws {
        try embed(encode)
        try commit(counts: false) {
            let db = try open(), photos = try Loader.photoCount(db)
            if try Segments.isDue(db, Segments.kdtree, photos: photos) {
                let tree = KDTree(points: try Loader.points(db))
                try Segments.store(db, Segments.kdtree, version: KDTree.version, generation: generation, rows: photos, tree.bytes())
            }
            let oldest = try db.first("SELECT min(generation) FROM segments")?[0] ?? .null
            try db.rows("DELETE FROM changes WHERE generation <= ?", [oldest])
        }
        close()
    }

    public func close() {
        db?.close()  // the last connection folds the log back: a single file again
        db = nil
        lock.release()
    }

    private func open() throws -> Database {
        guard let db else { throw Failure.album("\(path): this writer is finished; open another") }
        return db
    }

    /// `counts`: false for what adds nothing but derived data.
    private func commit(counts: Bool = true, _ change: () throws -> Void) throws {
        let db = try open(), dims = rows.dims
        do {
            try AlbumWriter.transaction(db) {
                guard try Loader.generation(db) == generation else { throw Failure.album("\(path): another writer has changed the album; open it again") }
                try change()
                if counts { try db.rows("UPDATE meta SET value = ? WHERE key = 'generation'", [.text(String(generation + 1))]) }
            }
        } catch let error as SQLiteError {
            rows.dims = dims
            throw Failure.album("\(path): not written (\(error)); check the free space; nothing was changed")
        } catch Failure.value(let line) {
            rows.dims = dims
            throw AlbumFile.damaged(path, line)
        } catch {
            rows.dims = dims
            throw error
        }
        if counts { generation += 1 }
    }

    /// Takes the write lock first, waiting for whoever has it.
    private static func transaction(_ db: Database, _ change: () throws -> Void) throws {
        try db.run("BEGIN IMMEDIATE")
        do {
            try change()
            try db.run("COMMIT")
        } catch {
            if db.inTransaction { try? db.run("ROLLBACK") }
            throw error
        }
    }

    /// Durable: a commit has reached the disk when it returns.
    private static func openForWriting(_ path: String, _ mode: Database.Mode) throws -> Database {
        let db = try Database(path, mode)
        db.wait(milliseconds: 10_000)
        try db.run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA trusted_schema=0")
        return db
    }

    private static func upgrade(_ db: Database) throws {
        try transaction(db) {
            try db.run(AlbumSchema.upgrade)
            let rows = PhotoRows(db: db, path: "", dims: try Loader.channelDims(db))
            for row in 0..<(try rows.count()) { try rows.seal(row) }
            for record in try db.rows("SELECT row, \(Checksum.entityColumns) FROM entities") {
                try db.rows("UPDATE entities SET crc=? WHERE row=?", [.integer(Checksum.values(Array(record.dropFirst()))), record[0]])
            }
            var told: [String: String] = [:]
            for row in try db.rows("SELECT key, CAST(value AS TEXT) FROM meta") { told[row[0].text ?? ""] = row[1].text }
            try db.rows("INSERT OR REPLACE INTO meta VALUES('crc', ?)", [.text(String(AlbumMeta.checksum(told)))])
        }
    }
}
