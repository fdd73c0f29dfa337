/// Tables that an album may have or lack, and that name photos by their ids (index/album/declarations/optional_tables.py). Their
/// column `photo` holds the id. Rows of a table that is not known here would name nothing, which readers skip.
enum OptionalTables {
    /// What was computed from a picture, and not of what is there in its place.
    static let ofPictures = ["clips", "cameras", "orientations"]
    static let ofPhotos = ["faces", "face_photos", "face_names", "clips", "thing_sightings", "thing_photos", "cameras", "orientations"]

    /// Deletes what belongs to a photo, where these tables are there.
    static func drop(_ db: Database, _ photo: String, _ tables: [String]) throws {
        for table in tables where try isThere(db, table) { try db.rows("DELETE FROM \(table) WHERE photo=?", [.text(photo)]) }
    }

    /// What is wrong in these tables, one line each.
    static func problems(_ db: Database) throws -> [String] {
        var out: [String] = []
        for table in ofPhotos where try isThere(db, table) {
            let lost = try db.integer("SELECT count(*) FROM \(table) WHERE photo NOT IN (SELECT id FROM photos)")
            if lost > 0 { out.append("\(table) of photos that are not in the album: \(lost)") }
            if table == "clips" { out += try Clip.problems(db) }
        }
        return out
    }

    static func isThere(_ db: Database, _ table: String) throws -> Bool {
        try db.first("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name=?", [.text(table)]) != nil
    }
}
