import Foundation

/// The lock that the one writer of an album holds from open to close: SQLite's exclusive lock on `NAME.lock`.
/// The operating system drops it when the process dies, however it dies.
final class WriterLock {
    private let path: String
    private var db: Database?

    init(_ album: String) throws {
        path = album + ".lock"
        do {
            let db = try Database(path, .create)
            // In this locking mode the lock outlives the transaction.
            try db.run("PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT")
            // The previous writer may have deleted the file after we opened it; the next writer would lock
            // another file.
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

    /// Releases the lock; a second call does nothing.
    func release() {
        guard let db else { return }
        try? FileManager.default.removeItem(atPath: path)
        db.close()
        self.db = nil
    }

    deinit { release() }
}
