import Foundation

/// Held from open to close by the one writer of an album: SQLite's exclusive lock of `NAME.lock`. The system drops it when the process dies.
final class WriterLock {
    private let path: String
    private var db: Database?

    init(_ album: String) throws {
        path = album + ".lock"
        do {
            let db = try Database(path, .create)
            try db.run("PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
            // The writer before us may have taken the file away between our opening and locking it: the next one would lock another.
            if db.hasMoved { throw WriterLock.taken(album) }
            self.db = db
        } catch let error as SQLiteError {
            throw error.isBusy
                ? WriterLock.taken(album)
                : Failure.album("\(album): cannot be written (\(error)); check the folder's permissions and the free space")
        }
    }

    private static func taken(_ album: String) -> Failure {
        .album("\(album): another program is writing this album; wait until it is done, or stop it")
    }

    /// May be called again.
    func release() {
        guard let db else { return }
        try? FileManager.default.removeItem(atPath: path)
        db.close()
        self.db = nil
    }

    deinit { release() }
}
