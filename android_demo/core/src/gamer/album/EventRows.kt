package gamer.album

/**
 * Keeps events true when their photos change (index/album/writing/event_rows.py). Rows stay 0..e-1: when an event is deleted, the
 * last one moves to its row. Runs inside the caller's transaction.
 */
internal object EventRows {
    private const val TIMES = "UPDATE events SET (starts, ends) = (" +
        "SELECT min(taken_at + 60000 * coalesce(utc_offset, 0)), max(taken_at + 60000 * coalesce(utc_offset, 0)) " +
        "FROM event_photos JOIN photos ON photos.row = photo WHERE event = events.row) WHERE row = ?"
    private const val COLUMNS = "id, name, summary, place, starts, ends, edited, scale, data"
    private const val PHOTOS = "SELECT photos.id FROM event_photos JOIN photos ON photos.row = photo WHERE event=? ORDER BY photos.id"

    /** The row of the event that a photo row is in, if it is in one. */
    fun ofPhoto(db: Database, photo: Long): List<Long> = db.query("SELECT event FROM event_photos WHERE photo=?", photo).map { it[0].asLong() }

    /** Computes these events' times and checksums from their photos; deletes those that have none left. */
    fun refresh(db: Database, events: Set<Long>) {
        for (event in events.sortedDescending()) { // a deletion moves the last row, which has had its turn
            if (db.query("SELECT 1 FROM event_photos WHERE event=? LIMIT 1", event).isEmpty()) {
                delete(db, event)
            } else {
                db.execute(TIMES, event)
                seal(db, event)
            }
        }
    }

    fun seal(db: Database, event: Long) = db.execute("UPDATE events SET crc=? WHERE row=?", checksum(db, event), event)

    /** Of the event's values and of its photos' ids, since their rows change. */
    fun checksum(db: Database, event: Long): Long {
        val crc = Crc().add(db.query("SELECT $COLUMNS FROM events WHERE row=?", event)[0])
        db.query(PHOTOS, event).forEach { crc.add(it) }
        return crc.value
    }

    private fun delete(db: Database, event: Long) {
        db.execute("DELETE FROM events WHERE row=?", event)
        val last = db.query("SELECT coalesce(max(row), -1) FROM events")[0][0].asLong()
        if (last <= event) return
        db.execute("UPDATE events SET row=? WHERE row=?", event, last)
        db.execute("UPDATE event_photos SET event=? WHERE event=?", event, last)
    }
}
