package gamer.album

/**
 * Tables that an album may have or lack, and that name photos by their ids (index/album/optional_tables.py). Their column
 * `photo` holds the id. Rows of a table that is not known here would name nothing, which readers skip.
 */
internal object OptionalTables {
    /** What was computed from a picture, and not of what is there in its place. */
    val OF_PICTURES = listOf("clips", "cameras")
    val OF_PHOTOS = OF_PICTURES + listOf("faces", "face_photos", "face_names", "thing_sightings", "thing_photos")

    /** Deletes what belongs to a photo, where these tables are there. */
    fun drop(db: Database, photo: String, tables: List<String>) {
        for (table in tables) {
            if (db.query("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name=?", table).isNotEmpty()) {
                db.execute("DELETE FROM $table WHERE photo=?", photo)
            }
        }
    }
}
