package gamer.album

/**
 * Tables that an album may have or lack, and that name photos by their ids (index/album/declarations/optional_tables.py). Their column
 * `photo` holds the id. Rows of a table that is not known here would name nothing, which readers skip.
 */
internal object OptionalTables {
    /** What was computed from a picture, and not of what is there in its place. */
    val OF_PICTURES = listOf("clips", "cameras", "orientations")
    val OF_PHOTOS = listOf("faces", "face_photos", "face_names", "clips", "thing_sightings", "thing_photos", "cameras", "orientations")

    /** Deletes what belongs to a photo, where these tables are there. */
    fun drop(db: Database, photo: String, tables: List<String>) {
        for (table in tables) if (isThere(db, table)) db.execute("DELETE FROM $table WHERE photo=?", photo)
    }

    /** What is wrong in these tables, one line each. */
    fun problems(db: Database): List<String> {
        val out = ArrayList<String>()
        for (table in OF_PHOTOS) {
            if (!isThere(db, table)) continue
            val lost = db.query("SELECT count(*) FROM $table WHERE photo NOT IN (SELECT id FROM photos)")[0][0].asLong()
            if (lost > 0) out.add("$table of photos that are not in the album: $lost")
            if (table == "clips") out += Clips.problems(db)
        }
        return out
    }

    fun isThere(db: Database, table: String): Boolean = db.query("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name=?", table).isNotEmpty()
}
