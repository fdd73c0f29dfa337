/// Keeps events true when their photos change (index/album/writing/event_rows.py). Rows stay 0..e-1: when an event is
/// deleted, the last one moves to its row. Runs inside the caller's transaction.
enum EventRows {
    private static let times = """
        UPDATE events SET (starts, ends) = (
        SELECT min(taken_at + 60000 * coalesce(utc_offset, 0)), max(taken_at + 60000 * coalesce(utc_offset, 0))
        FROM event_photos JOIN photos ON photos.row = photo WHERE event = events.row) WHERE row = ?
        """
    private static let columns = "id, name, summary, place, starts, ends, edited, scale, data"
    private static let photos = "SELECT photos.id FROM event_photos JOIN photos ON photos.row = photo WHERE event=? ORDER BY photos.id"

    /// The row of the event that a photo row is in, if it is in one.
    static func ofPhoto(_ db: Database, _ photo: Int) throws -> Int? {
        try db.first("SELECT event FROM event_photos WHERE photo=?", [.integer(photo)])?[0].integer
    }

    /// Computes these events' times and checksums from their photos; deletes those that have none left.
    static func refresh(_ db: Database, _ events: Set<Int>) throws {
        for event in events.sorted(by: >) {  // a deletion moves the last row, which has had its turn
            if try db.first("SELECT 1 FROM event_photos WHERE event=? LIMIT 1", [.integer(event)]) == nil {
                try delete(db, event)
            } else {
                try db.rows(times, [.integer(event)])
                try seal(db, event)
            }
        }
    }

    static func seal(_ db: Database, _ event: Int) throws {
        try db.rows("UPDATE events SET crc=? WHERE row=?", [.integer(try checksum(db, event)), .integer(event)])
    }

    /// Of the event's values and of its photos' ids, since their rows change.
    static func checksum(_ db: Database, _ event: Int) throws -> Int {
        let own = try db.first("SELECT \(columns) FROM events WHERE row=?", [.integer(event)]) ?? []
        return Checksum.values(own + (try db.rows(photos, [.integer(event)])).map { $0[0] })
    }

    private static func delete(_ db: Database, _ event: Int) throws {
        try db.rows("DELETE FROM events WHERE row=?", [.integer(event)])
        let last = try db.integer("SELECT coalesce(max(row), -1) FROM events")
        guard last > event else { return }
        try db.rows("UPDATE events SET row=? WHERE row=?", [.integer(event), .integer(last)])
        try db.rows("UPDATE event_photos SET event=? WHERE event=?", [.integer(event), .integer(last)])
    }
}
