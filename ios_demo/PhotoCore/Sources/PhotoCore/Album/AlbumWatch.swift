/// Tells whether an album changed, without reading it: by SQLite's count of other connections' commits. Not
/// thread-safe.
public final class AlbumWatch {
    private let path: String
    private var db: Database?
    private var files = 0

    public init(_ path: String) { self.path = path }

    deinit { db?.close() }

    /// Until the next version is asked for.
    func close() {
        db?.close()
        db = nil
    }

    /// Equal to an earlier result if nothing was committed since; nil where that cannot be known.
    public func version() -> [Int]? {
        if db?.hasMoved ?? true {  // another file has the album's name
            db?.close()
            db = try? Database(path, .readWrite)
            files += 1
        }
        return (try? db?.first("PRAGMA data_version")?[0].integer).map { [files, $0] }
    }
}
