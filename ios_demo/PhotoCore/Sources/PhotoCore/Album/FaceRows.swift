/// Reads and changes the tables of faces, inside the caller's transaction: faces in, grouped, named, forgotten
/// (index/people/writing.py). The numbers of people and faces are never given again.
public struct FaceRows {
    private static let version = "1", dim = 128
    private static let grouped = "grouped" // the greatest number of a face that was grouped
    private static let columns = "photo, x, y, width, height, quality, person, fixed, scale, data"
    private static let here = "(SELECT id FROM photos)"
    // The text of each statement as the Python program has it, which takes an album with other ones for somebody else's.
    private static let ddl = """
        CREATE TABLE face_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE face_people(id INTEGER PRIMARY KEY, name TEXT, crc INTEGER NOT NULL);
        CREATE TABLE faces(
            id INTEGER PRIMARY KEY, photo TEXT NOT NULL, x REAL NOT NULL, y REAL NOT NULL, width REAL NOT NULL,
            height REAL NOT NULL, quality REAL NOT NULL, person INTEGER NOT NULL, fixed INTEGER NOT NULL,
            scale REAL NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL);
        CREATE INDEX faces_photo ON faces(photo);
        CREATE INDEX faces_person ON faces(person);
        CREATE TABLE face_photos(
            photo TEXT PRIMARY KEY, sha256 TEXT, closed INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE face_names(
            photo TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(photo, text)) WITHOUT ROWID
        """
    private let db: Database
    private let path: String

    init(_ db: Database, _ path: String) { (self.db, self.path) = (db, path) }

    /// The people of the album, each row checked; nil if it has no tables of them. Faces of photos that are gone are left out.
    public func read() throws -> People? {
        guard try isThere() else { return nil }
        let version = try text("version")
        guard version == FaceRows.version else {
            throw Failure.album("\(path): its faces are in version \(version ?? "none"), this program reads \(FaceRows.version); update the program")
        }
        var out = People()
        out.faces = try db.rows("SELECT id, crc, \(FaceRows.columns) FROM faces WHERE photo IN \(FaceRows.here) ORDER BY id").map(face)
        for row in try db.rows("SELECT id, crc, name FROM face_people WHERE name IS NOT NULL") {
            guard let id = row[0].integer, let name = row[2].text, Checksum.values([row[0], row[2]]) == row[1].integer else {
                throw Failure.album("\(path): person p\(row[0].integer ?? 0) is damaged (its checksum differs): give them their name again")
            }
            out.names[id] = name
        }
        for row in try db.rows("SELECT photo, closed FROM face_photos") {
            out.lookedAt.insert(row[0].text ?? "")
            if row[1] != .integer(0) { out.closed.insert(row[0].text ?? "") }
        }
        for row in try db.rows("SELECT photo, text FROM face_names WHERE photo IN \(FaceRows.here)") { out.written[row[0].text ?? "", default: []].insert(row[1].text ?? "") }
        out.encoder = try text("encoder") ?? ""
        return out
    }

    private func isThere() throws -> Bool { try OptionalTables.isThere(db, "face_meta") }

    private func face(_ row: [Value]) throws -> StoredFace {
        let values = Array(row.dropFirst(2)), box = values[1...4].compactMap(\.real)
        guard Checksum.values(values) == row[1].integer, let id = row[0].integer, let photo = values[0].text, box.count == 4, let quality = values[5].real,
            let person = values[6].integer, let scale = values[8].real, let codes = values[9].blob, codes.count == FaceRows.dim
        else { throw Failure.album("\(path): face f\(row[0].integer ?? 0) is damaged (its checksum differs): forget everybody and find them again") }
        let vector = codes.map { Float(Int8(bitPattern: $0)) * Float(scale) }
        let face = Face(box: FaceBox(box[0], box[1], box[2], box[3]), quality: quality, vector: vector)
        return StoredFace(row: id, photo: photo, face: face, person: person, isFixed: values[7] != .integer(0))
    }

    /// Makes the tables if there are none. Raises Failure.album if the faces there are another encoder's.
    public func begin(_ encoder: String) throws {
        let before = try isThere() ? try text("encoder") : nil
        if before == encoder { return }
        if let before { throw Failure.album("\(path): its faces were made by \(before), the bundle has \(encoder): forget everybody, then find them again") }
        try db.run(FaceRows.ddl)
        try put("version", FaceRows.version)
        try put("encoder", encoder)
    }

    /// Stores what was found in photos, in place of earlier faces of theirs. Each is a person of its own.
    public func store(_ photos: [LookedAt]) throws {
        try keepNumbers()
        for looked in photos {
            try db.rows("DELETE FROM faces WHERE photo=?", [.text(looked.photo)])
            try db.rows("INSERT OR REPLACE INTO face_photos VALUES(?,?,0)", [.text(looked.photo), .optional(looked.sha256)])
            for face in looked.faces.prefix(FaceReader.maxFaces) { try insert(looked.photo, face) }
        }
        try dropEmpty()
    }

    private func insert(_ photo: String, _ face: Face) throws {
        let person = try last("person", "face_people") + 1, row = try last("face", "faces") + 1, vector = Quantized(face.vector), box = face.box
        try name(person, nil)
        let values: [Value] =
            [.text(photo)] + [box.left, box.top, box.width, box.height, face.quality].map(Value.real)
            + [.integer(person), .integer(0), .real(Double(vector.scale)), .blob(vector.codes.map { UInt8(bitPattern: $0) })]
        let all = [.integer(row)] + values + [.integer(Checksum.values(values))]
        try db.rows("INSERT INTO faces(id, \(FaceRows.columns), crc) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", all)
    }

    /// Groups the faces that were stored since the last time with each other and with those of before.
    public func regroup() throws {
        let before = try number(FaceRows.grouped)
        guard try db.first("SELECT 1 FROM faces WHERE id > ? LIMIT 1", [.integer(before)]) != nil, let found = try read() else { return }
        let faces = found.faces
        let fresh = faces.indices.filter { faces[$0].row > before }
        let persons = Grouping.group(faces.map(\.face.vector), faces.map(\.person), fresh: fresh, held: found.held)
        for (face, person) in zip(faces, persons) where face.person != person { try put(face, person, face.isFixed) }
        try dropEmpty()
        try put(FaceRows.grouped, String(try last("face", "faces")))
    }

    /// Gives a person a name, in place of an earlier one. Raises Failure.album if somebody else has it.
    public func name(_ person: Person, _ text: String) throws {
        let wanted = text.scalars.casefolded(), names = try read()?.names ?? [:]
        if let (row, other) = names.first(where: { $0 != person.row && $1.scalars.casefolded() == wanted }) {
            throw Failure.album("p\(row) is called \(other) already: merge the two if they are one, or tell them apart by name")
        }
        try name(person.row, text)
    }

    /// Makes people one: `into`, whose name stays, or who gets that of the first of the others with one.
    public func merge(_ into: Person, _ others: [Person]) throws {
        if into.name == nil, let named = others.lazy.compactMap(\.name).first {
            for other in others { try name(other.row, nil) }
            try name(into.row, named)
        }
        for face in into.faces + others.flatMap(\.faces) { try put(face, into.row, true) }
        try dropEmpty()
    }

    /// Deletes people with their faces. Nobody is searched any more in the photos that showed them.
    public func forget(_ people: [Person]) throws {
        try keepNumbers()
        for person in people {
            try db.rows("UPDATE face_photos SET closed=1 WHERE photo IN (SELECT photo FROM faces WHERE person=?)", [.integer(person.row)])
            try db.rows("DELETE FROM faces WHERE person=?", [.integer(person.row)])
        }
        try dropEmpty()
    }

    /// The photos in which nobody is searched any more.
    public func closed() throws -> Set<String> {
        try isThere() ? Set(try db.rows("SELECT photo FROM face_photos WHERE closed<>0").compactMap { $0[0].text }) : []
    }

    /// Nobody is searched in these photos.
    public func close(_ photos: Set<String>) throws {
        for photo in photos { try db.rows("INSERT OR REPLACE INTO face_photos VALUES(?,NULL,1)", [.text(photo)]) }
    }

    /// Deletes the tables, but for the list of memories that naming wrote, if there are any to take back.
    public func forgetAll() throws {
        if try !isThere() { return }
        for table in ["faces", "face_people", "face_photos"] { try db.rows("DELETE FROM \(table)") }
        if try db.first("SELECT 1 FROM face_names WHERE photo IN \(FaceRows.here)") != nil { return }
        for table in ["face_meta", "face_people", "faces", "face_photos", "face_names"] { try db.rows("DROP TABLE \(table)") }
    }

    /// Notes which memories of photos (id → texts) naming has written from now on.
    func noteWritten(_ texts: [String: [String]]) throws {
        for (photo, written) in texts {
            try db.rows("DELETE FROM face_names WHERE photo=?", [.text(photo)])
            for text in written { try db.rows("INSERT INTO face_names VALUES(?,?)", [.text(photo), .text(text)]) }
        }
    }

    private func put(_ face: StoredFace, _ person: Int, _ isFixed: Bool) throws {
        try db.rows("UPDATE faces SET person=?, fixed=? WHERE id=?", [.integer(person), .integer(isFixed ? 1 : 0), .integer(face.row)])
        let values = try db.first("SELECT \(FaceRows.columns) FROM faces WHERE id=?", [.integer(face.row)]) ?? []
        try db.rows("UPDATE faces SET crc=? WHERE id=?", [.integer(Checksum.values(values)), .integer(face.row)])
    }

    private func name(_ row: Int, _ text: String?) throws {
        let values: [Value] = [.integer(row), .optional(text)]
        try db.rows("INSERT OR REPLACE INTO face_people VALUES(?,?,?)", values + [.integer(Checksum.values(values))])
    }

    /// Deletes the people who have no face left.
    private func dropEmpty() throws {
        try keepNumbers()
        try db.rows("DELETE FROM face_people WHERE id NOT IN (SELECT person FROM faces)")
    }

    /// Notes the greatest numbers that there were, before some are deleted.
    private func keepNumbers() throws {
        for (what, table) in [("person", "face_people"), ("face", "faces")] { try put("last \(what)", String(try last(what, table))) }
    }

    private func last(_ what: String, _ table: String) throws -> Int {
        max(try db.integer("SELECT coalesce(max(id), 0) FROM \(table)"), try number("last \(what)"))
    }

    /// A noted number; 0 for a damaged one.
    private func number(_ key: String) throws -> Int { try text(key).flatMap { Int($0) }.flatMap { (0...(1 << 53)).contains($0) ? $0 : nil } ?? 0 }

    private func text(_ key: String) throws -> String? { try db.first("SELECT value FROM face_meta WHERE key=?", [.text(key)])?[0].text }

    private func put(_ key: String, _ value: String) throws { try db.rows("INSERT OR REPLACE INTO face_meta VALUES(?,?)", [.text(key), .text(value)]) }
}
