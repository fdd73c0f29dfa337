/// The statements that create an album's tables, and those that upgrade format 1 to format 2
/// (index/album/schema.py; FORMAT.md describes the same).
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

    static let create = """
        PRAGMA application_id=\(AlbumFile.applicationId); PRAGMA user_version=\(AlbumFile.version);
        CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE photos(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL, utc_offset INTEGER,
            lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT, crc INTEGER);
        CREATE TABLE memories\(memories);
        CREATE INDEX memories_photo ON memories(photo);
        CREATE VIRTUAL TABLE memories_fts USING fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61');
        CREATE TABLE entities\(entities("entities"));
        CREATE TABLE mentions\(mentions);
        CREATE TABLE edges(parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row),
            PRIMARY KEY(parent, child)) WITHOUT ROWID;
        CREATE TABLE vectors(channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL, scale REAL NOT NULL,
            data BLOB NOT NULL, fine BLOB, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID;
        CREATE TABLE segments\(segments);
        \(newIn2)
        """

    static let upgrade = """
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
        PRAGMA user_version=\(AlbumFile.version);
        """
}
