/// What an album knows of a video, or of a part of one, beyond a photo; all in ms from the file's begin.
/// `length`: of the whole file. `frames`: of each vector of the channel `image`, the time of its frame.
public struct Clip: Sendable, Equatable {
    public let start: Int
    public let end: Int
    public let length: Int
    public let frames: [Int]

    public init(start: Int, end: Int, length: Int, frames: [Int]) { (self.start, self.end, self.length, self.frames) = (start, end, length, frames) }

    static let longest = 24 * 3_600_000 // ms; a longer video is cut off here
    private static let ddl = """
        CREATE TABLE clips(photo TEXT PRIMARY KEY, starts INTEGER NOT NULL, ends INTEGER NOT NULL, length INTEGER NOT NULL, \
        frames TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID
        """
    private static let mostFrames = 64

    private static let columns = "photo, starts, ends, length, frames, crc"
    private static let otherFrames = """
        SELECT count(*) FROM clips c JOIN photos p ON p.id = c.photo WHERE
        (SELECT count(*) FROM vectors v WHERE v.channel = 'image' AND v.photo = p.row) NOT IN
        (0, length(frames) - length(replace(frames, ' ', '')) + (frames <> ''))
        """

    static func exist(_ db: Database) throws -> Bool { try OptionalTables.isThere(db, "clips") }

    /// Stores what is known of a clip, and forgets it for nil; in the caller's transaction. Raises Failure.album.
    static func write(_ db: Database, _ photoId: String, _ clip: Clip?) throws {
        try OptionalTables.drop(db, photoId, ["clips"])
        guard let clip else { return }
        let times = clip.frames.map(String.init).joined(separator: " ")
        let row: [Value] = [.text(photoId), .integer(clip.start), .integer(clip.end), .integer(clip.length), .text(times)]
        guard Clip(row) != nil else {
            throw Failure.album("\(photoId): not the times of a clip: \(clip.start) to \(clip.end) of \(clip.length); check the decoder")
        }
        if try !exist(db) { try db.rows(ddl) }
        try db.rows("INSERT INTO clips VALUES(?,?,?,?,?,?)", row + [.integer(Checksum.values(row))])
    }

    /// What is wrong in the table, which exists; one line each.
    static func problems(_ db: Database) throws -> [String] {
        let other = try db.integer(otherFrames)
        var out = other > 0 ? ["clips with another number of vectors than of frames: \(other)"] : []
        for row in try db.rows("SELECT \(columns) FROM clips") {
            let name = "clip \((row[0].text ?? "").scalars.quoted)"
            if row[5].integer != Checksum.values(Array(row[0..<5])) {
                out.append("\(name): its row does not match its checksum")
            } else if Clip(row) == nil {
                out.append("\(name): its times are those of no clip")
            }
        }
        return out
    }

    /// The clip with this id, nil for a photo. Raises Failure.album if its row does not fit its checksum
    /// (FORMAT.md, Clips).
    static func of(_ db: Database, _ path: String, _ photoId: String) throws -> Clip? {
        guard let row = try db.first("SELECT \(columns) FROM clips WHERE photo = ?", [.text(photoId)]) else { return nil }
        guard row[5].integer == Checksum.values(Array(row[0..<5])), let clip = Clip(row) else {
            throw Failure.album("\(path): the clip '\(photoId)' is damaged (its checksum differs); run verify and index it again")
        }
        return clip
    }

    private init?(_ row: [Value]) {
        guard let start = row[1].integer, let end = row[2].integer, let length = row[3].integer, let told = row[4].text else { return nil }
        let words = told.isEmpty ? [] : told.split(separator: " ", omittingEmptySubsequences: false)
        let frames = words.compactMap { word in word.utf8.allSatisfy { $0 >= 48 && $0 <= 57 } ? Int(word) : nil }
        guard frames.count == words.count, frames.count <= Clip.mostFrames, frames.allSatisfy({ $0 <= length }) else { return nil }
        guard 0 <= start, start < end, end <= length, length <= Clip.longest else { return nil }
        (self.start, self.end, self.length, self.frames) = (start, end, length, frames)
    }
}
