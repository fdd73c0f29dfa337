/// Tables that an album may have or lack, and that name photos by their ids (index/album/optional_tables.py). Their
/// column `photo` holds the id. Rows of a table that is not known here would name nothing, which readers skip.
enum OptionalTables {
    /// What was computed from a picture, and not of what is there in its place.
    static let ofPictures = ["clips", "cameras"]
    static let ofPhotos = ofPictures + ["faces", "face_photos", "face_names", "thing_sightings", "thing_photos"]

    /// Deletes what belongs to a photo, where these tables are there.
    static func drop(_ db: Database, _ photo: String, _ tables: [String]) throws {
        for table in tables
        where try db.first("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name=?", [.text(table)]) != nil {
            try db.rows("DELETE FROM \(table) WHERE photo=?", [.text(photo)])
        }
    }
}
