/// Tables that an album may have or lack, and that name photos by their ids (index/album/declarations/optional_tables.py),
/// in groups that are there as a whole. Their column `photo` holds the id. Rows of a table that is not known here would
/// name nothing, which readers skip.
enum OptionalTables {
    /// What was computed from a picture, and not of what is there in its place.
    static let ofPictures = ["clips", "cameras", "orientations", "lightings", "mediums"]
    static let ofPhotos = groups.flatMap(\.ofPhotos)

    /// Rows whose column `crc` is the checksum of `columns`. `what`: a row in words, by its `key`. `sources`: with the
    /// turns of an item.
    private struct Sealed: Sendable {
        let table: String, columns: String, key: String
        var sources = false
        let what: @Sendable (Value) -> String
    }

    /// `first`: its first table. `ofPhotos`: those with a column `photo`. `invariants`: problem → the SQL that counts it.
    /// `isDerived`: whether the pictures say all that the tables hold.
    private struct Group: Sendable {
        let first: String, ofPhotos: [String], sealed: [Sealed]
        var invariants: [(problem: String, sql: String)] = []
        var isDerived = false
    }

    private static func quoted(_ value: Value) -> String { (value.text ?? "").scalars.quoted }
    private static func number(_ value: Value) -> String { "\(value.integer ?? -1)" }

    private static func field(_ table: String, _ name: String) -> Group {
        Group(
            first: table, ofPhotos: [table],
            sealed: [Sealed(table: table, columns: "photo, name", key: "photo") { "\(name) of \(quoted($0))" }], isDerived: true)
    }

    private static let ofNoPhoto = "of photos that are not in the album"
    private static let stray = "photo NOT IN (SELECT id FROM photos)"
    private static let labels = "NOT coalesce(sharing, 'low') IN ('low', 'high')"
    private static let absentFrom1 = "person_objects"  // what version 1 of its group lacks
    private static let groups = [person, faces, Group(first: "clips", ofPhotos: ["clips"], sealed: []), things]
        + [
            field("cameras", "camera"), field("orientations", "orientation"), field("lightings", "lighting"),
            field("mediums", "medium"),
        ]

    private static let person = Group(
        first: "person_meta", ofPhotos: [],
        sealed: [
            Sealed(table: "person_objects", columns: "item, name, picture, encoder, scale, data", key: "item") { "object of m\(number($0))" },
            Sealed(table: "person_turns", columns: "uid, chat, speaker, at, text, pictures, sharing", key: "id") { "turn t\(number($0))" },
            Sealed(
                table: "person_items", columns: "kind, key, text, keywords, at, ends, past, origin, sharing", key: "id",
                sources: true
            ) { "memory m\(number($0))" },
        ],
        invariants: [
            (
                "turns or memories of the person with an unknown sharing label",
                "SELECT (SELECT count(*) FROM person_turns WHERE \(labels)) + (SELECT count(*) FROM person_items WHERE \(labels))"
            ),
            (
                "memories of the person of an unknown kind",
                "SELECT count(*) FROM person_items WHERE kind NOT IN ('core', 'semantic', 'episodic', 'procedural') OR past NOT IN (0, 1)"
            ),
            (
                "keys of the person with two current values",
                "SELECT count(*) FROM (SELECT 1 FROM person_items WHERE past = 0 AND kind IN ('core', 'procedural') "
                    + "GROUP BY kind, key HAVING count(*) > 1)"
            ),
            (
                "links to a turn, or from a memory, that does not exist",
                "SELECT count(*) FROM person_sources WHERE turn NOT IN (SELECT id FROM person_turns) OR child IN ('item', 'says') "
                    + "AND id NOT IN (SELECT id FROM person_items) OR child = 'turn' AND id NOT IN (SELECT id FROM person_turns) "
                    + "OR child NOT IN ('item', 'turn', 'says')"
            ),
            (
                "objects of a memory that does not exist",
                "SELECT count(*) FROM person_objects WHERE item NOT IN (SELECT id FROM person_items)"
            ),
            (
                "turns missing from their index of words",
                "SELECT (SELECT count(*) FROM person_turns) <> (SELECT count(*) FROM person_words_docsize)"
            ),
        ])

    private static let faces = Group(
        first: "face_meta", ofPhotos: ["faces", "face_photos", "face_names"],
        sealed: [
            Sealed(table: "faces", columns: "photo, x, y, width, height, quality, person, fixed, scale, data", key: "id") { "face f\(number($0))" },
            Sealed(table: "face_people", columns: "id, name", key: "id") { "person p\(number($0))" },
        ],
        invariants: [
            ("faces of no person", "SELECT count(*) FROM faces WHERE person NOT IN (SELECT id FROM face_people)"),
            (
                "faces outside of their photo",
                "SELECT count(*) FROM faces WHERE NOT (x >= 0 AND y >= 0 AND width >= 0 AND height >= 0 "
                    + "AND x + width <= 1.000001 AND y + height <= 1.000001)"
            ),
            ("faces with a vector of another length", "SELECT count(*) FROM faces WHERE length(data) <> 128"),
            (
                "faces of photos that were not looked at",
                "SELECT count(*) FROM faces WHERE photo NOT IN (SELECT photo FROM face_photos)"
            ),
        ])

    private static let things = Group(
        first: "thing_meta", ofPhotos: ["thing_sightings", "thing_photos"],
        sealed: [
            Sealed(
                table: "thing_sightings",
                columns: "photo, place, head, category, subcategory, color, texture, shape, material, brand, style, pattern, "
                    + "feature, usage, status, owned",
                key: "photo"
            ) { "thing of photo \(quoted($0))" }
        ],
        invariants: [
            (
                "sightings of a thing that does not exist",
                "SELECT count(*) FROM thing_sightings WHERE thing NOT IN (SELECT id FROM things)"
            ),
            (
                "things that are another that does not exist, or that is itself another",
                "SELECT count(*) FROM things WHERE same_as NOT IN (SELECT id FROM things WHERE same_as IS NULL)"
            ),
            (
                "sightings of photos that were not read",
                "SELECT count(*) FROM thing_sightings WHERE photo NOT IN (SELECT photo FROM thing_photos)"
            ),
        ])

    /// Deletes what belongs to a photo, where these tables are there.
    static func drop(_ db: Database, _ photo: String, _ tables: [String]) throws {
        for table in tables where try isThere(db, table) { try db.rows("DELETE FROM \(table) WHERE photo=?", [.text(photo)]) }
    }

    /// What is wrong in these tables, one line each.
    static func problems(_ db: Database) throws -> [String] {
        var out: [String] = []
        for group in groups where try isThere(db, group.first) {
            let isWhole = try group.first != "person_meta" || isThere(db, absentFrom1)
            let strays = group.ofPhotos.map { (problem: "\($0) \(ofNoPhoto)", sql: "SELECT count(*) FROM \($0) WHERE \(stray)") }
            for (problem, sql) in strays + group.invariants where isWhole || !sql.contains(absentFrom1) {
                let wrong = try db.integer(sql)
                if wrong != 0 { out.append("\(problem): \(wrong)") }
            }
            for sealed in group.sealed where isWhole || sealed.table != absentFrom1 {
                let mismatch = sealed.sources ? "its rows do not match their checksum" : "its row does not match its checksum"
                out += try wrong(db, sealed).map { "\(sealed.what($0)): \(mismatch)" }
            }
            if group.first == "clips" { out += try Clip.problems(db) }
        }
        return out
    }

    /// Deletes what is wrong in tables that are derived, in the caller's transaction; one line for each repair.
    static func repair(_ db: Database) throws -> [String] {
        var done: [String] = []
        for group in groups where try group.isDerived && isThere(db, group.first) {
            for table in group.ofPhotos where try db.integer("SELECT count(*) FROM \(table) WHERE \(stray)") != 0 {
                try db.rows("DELETE FROM \(table) WHERE \(stray)")
                done.append("\(table) \(ofNoPhoto) deleted")
            }
            for sealed in group.sealed {
                for key in try wrong(db, sealed) {
                    try db.rows("DELETE FROM \(sealed.table) WHERE \(sealed.key)=?", [key])
                    done.append("\(sealed.what(key)) deleted: add its folder again")
                }
            }
        }
        return done
    }

    /// The keys of the rows that do not match their checksum.
    private static func wrong(_ db: Database, _ sealed: Sealed) throws -> [Value] {
        try db.rows("SELECT \(sealed.key), crc, \(sealed.columns) FROM \(sealed.table)").filter { row in
            let more = sealed.sources ? try sources(db, row[0]) : []
            return row[1].integer != Checksum.values(Array(row.dropFirst(2)) + more)
        }.map { $0[0] }
    }

    /// The turns that an item was drawn from, ascending.
    private static func sources(_ db: Database, _ item: Value) throws -> [Value] {
        try db.rows("SELECT turn FROM person_sources WHERE child='item' AND id=? ORDER BY turn", [item]).map { $0[0] }
    }

    static func isThere(_ db: Database, _ table: String) throws -> Bool {
        try db.first("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name=?", [.text(table)]) != nil
    }
}
