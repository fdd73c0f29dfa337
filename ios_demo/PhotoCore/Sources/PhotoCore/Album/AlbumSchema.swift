/// The statements that create an album's tables, and those that upgrade format 1 to format 2 and format 2 to
/// format 3 (index/album/declarations/tables.py; FORMAT.md describes the same).
enum AlbumSchema {
    private static let memories = """
        (id INTEGER PRIMARY KEY, photo INTEGER NOT NULL REFERENCES photos(row), source TEXT NOT NULL, text TEXT NOT NULL, sharing TEXT, sensitivity TEXT)
        """
    private static func entities(_ name: String) -> String {
        """
        (row INTEGER PRIMARY KEY, canonical TEXT NOT NULL, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, scale REAL, data BLOB,
            same_as INTEGER REFERENCES \(name)(row), split INTEGER NOT NULL DEFAULT 0, crc INTEGER)
        """
    }
    private static let mentions = """
        (entity INTEGER NOT NULL REFERENCES entities(row), photo INTEGER NOT NULL REFERENCES photos(row), leaf INTEGER NOT NULL,
            PRIMARY KEY(entity, photo)) WITHOUT ROWID
        """
    private static let segments = """
        (name TEXT PRIMARY KEY, version INTEGER NOT NULL, generation INTEGER NOT NULL, rows INTEGER NOT NULL, sha256 TEXT NOT NULL, blob BLOB NOT NULL)
        """
    private static let newIn2 = """
        CREATE INDEX entities_canonical ON entities(canonical);
        CREATE INDEX entities_same_as ON entities(same_as) WHERE same_as IS NOT NULL;
        CREATE INDEX mentions_photo ON mentions(photo);
        CREATE TABLE preferences(kind TEXT NOT NULL, better INTEGER NOT NULL, worse INTEGER NOT NULL, PRIMARY KEY(kind, better, worse)) WITHOUT ROWID;
        CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
        """
    private static let edges = """
        (parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row),
            relation TEXT NOT NULL DEFAULT '', PRIMARY KEY(parent, child, relation)) WITHOUT ROWID
        """
    private static let newIn3 = """
        CREATE TABLE events(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, summary TEXT NOT NULL, place TEXT,
            starts INTEGER, ends INTEGER, edited INTEGER NOT NULL DEFAULT 0, scale REAL, data BLOB, crc INTEGER);
        CREATE TABLE event_photos(photo INTEGER PRIMARY KEY REFERENCES photos(row), event INTEGER NOT NULL REFERENCES events(row));
        CREATE INDEX event_photos_event ON event_photos(event);
        """

    static let create = """
        PRAGMA application_id=\(AlbumFile.applicationId); PRAGMA user_version=\(AlbumFile.version);
        CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE photos(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL, utc_offset INTEGER,
            lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT, crc INTEGER);
        CREATE TABLE memories\(memories);
        CREATE INDEX memories_photo ON memories(photo);
        \(TextIndex.table);
        CREATE TABLE entities\(entities("entities"));
        CREATE TABLE mentions\(mentions);
        CREATE TABLE edges\(edges);
        CREATE TABLE vectors(channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL, scale REAL NOT NULL,
            data BLOB NOT NULL, fine BLOB, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID;
        CREATE TABLE segments\(segments);
        \(newIn2)
        \(newIn3)
        """

    /// What makes an album of an older format one of the current format, but for the checksums that format 1
    /// lacks.
    static func upgrade(_ version: Int) -> String {
        (version < 2 ? from1 : "") + from2 + "PRAGMA user_version=\(AlbumFile.version);"
    }
    private static let from2 = """
        CREATE TABLE new_edges\(edges);
        INSERT INTO new_edges(parent, child) SELECT parent, child FROM edges;
        DROP TABLE edges;
        ALTER TABLE new_edges RENAME TO edges;
        \(newIn3)

        """
    private static let from1 = """
        ALTER TABLE photos ADD COLUMN utc_offset INTEGER;
        ALTER TABLE photos ADD COLUMN crc INTEGER;
        ALTER TABLE memories ADD COLUMN sharing TEXT;
        ALTER TABLE memories ADD COLUMN sensitivity TEXT;
        ALTER TABLE vectors ADD COLUMN fine BLOB;
        CREATE TABLE new_entities\(entities("new_entities"));
        INSERT INTO new_entities(row, canonical, name, kind, scale, data) SELECT row, canonical, name, kind, scale, data FROM entities;
        DROP TABLE entities;
        ALTER TABLE new_entities RENAME TO entities;
        CREATE TABLE new_mentions\(mentions);
        INSERT INTO new_mentions SELECT m.entity, m.photo, \(AlbumFile.leafIn1) FROM mentions m;
        DROP TABLE mentions;
        ALTER TABLE new_mentions RENAME TO mentions;
        DROP TABLE segments;
        CREATE TABLE segments\(segments);
        \(newIn2)

        """
}
