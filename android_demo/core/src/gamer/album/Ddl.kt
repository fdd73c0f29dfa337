package gamer.album

/**
 * The statements that create an album's tables (FORMAT.md, Tables), and those that upgrade version 1 to
 * version 2 and version 2 to version 3.
 */
internal object Ddl {
    private const val MEMORIES = "(id INTEGER PRIMARY KEY, photo INTEGER NOT NULL REFERENCES photos(row), source TEXT NOT NULL, text TEXT NOT NULL, " +
        "sharing TEXT, sensitivity TEXT)"
    private const val ENTITIES = "(row INTEGER PRIMARY KEY, canonical TEXT NOT NULL, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, scale REAL, " +
        "data BLOB, same_as INTEGER REFERENCES entities(row), split INTEGER NOT NULL DEFAULT 0, crc INTEGER)"
    private const val MENTIONS = "(entity INTEGER NOT NULL REFERENCES entities(row), photo INTEGER NOT NULL REFERENCES photos(row), " +
        "leaf INTEGER NOT NULL, PRIMARY KEY(entity, photo)) WITHOUT ROWID"
    private const val SEGMENTS = "(name TEXT PRIMARY KEY, version INTEGER NOT NULL, generation INTEGER NOT NULL, rows INTEGER NOT NULL, " +
        "sha256 TEXT NOT NULL, blob BLOB NOT NULL)"
    private const val EDGES = "(parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row), " +
        "relation TEXT NOT NULL DEFAULT '', PRIMARY KEY(parent, child, relation)) WITHOUT ROWID"
    private const val LEAF_IN_1 =
        "NOT EXISTS (SELECT 1 FROM main.edges e JOIN main.mentions c ON c.entity = e.child AND c.photo = m.photo WHERE e.parent = m.entity)"
    private val NEW_IN_2 = listOf(
        "CREATE INDEX entities_canonical ON entities(canonical)",
        "CREATE INDEX entities_same_as ON entities(same_as) WHERE same_as IS NOT NULL",
        "CREATE INDEX mentions_photo ON mentions(photo)",
        "CREATE TABLE preferences(kind TEXT NOT NULL, better INTEGER NOT NULL, worse INTEGER NOT NULL, PRIMARY KEY(kind, better, worse)) WITHOUT ROWID",
        "CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL)",
    )
    private val NEW_IN_3 = listOf(
        "CREATE TABLE events(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, summary TEXT NOT NULL, place TEXT, " +
            "starts INTEGER, ends INTEGER, edited INTEGER NOT NULL DEFAULT 0, scale REAL, data BLOB, crc INTEGER)",
        "CREATE TABLE event_photos(photo INTEGER PRIMARY KEY REFERENCES photos(row), event INTEGER NOT NULL REFERENCES events(row))",
        "CREATE INDEX event_photos_event ON event_photos(event)",
    )
    val CREATE: List<String> = listOf(
        "PRAGMA application_id=$APPLICATION_ID",
        "PRAGMA user_version=$USER_VERSION",
        "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE photos(row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL, " +
            "utc_offset INTEGER, lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT, crc INTEGER)",
        "CREATE TABLE memories$MEMORIES",
        "CREATE INDEX memories_photo ON memories(photo)",
        "CREATE TABLE entities$ENTITIES",
        "CREATE TABLE mentions$MENTIONS",
        "CREATE TABLE edges$EDGES",
        "CREATE TABLE vectors(channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL, " +
            "scale REAL NOT NULL, data BLOB NOT NULL, fine BLOB, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID",
        "CREATE TABLE segments$SEGMENTS",
    ) + NEW_IN_2 + NEW_IN_3
    private val FROM_1 = listOf(
        "ALTER TABLE photos ADD COLUMN utc_offset INTEGER",
        "ALTER TABLE photos ADD COLUMN crc INTEGER",
        "ALTER TABLE memories ADD COLUMN sharing TEXT",
        "ALTER TABLE memories ADD COLUMN sensitivity TEXT",
        "ALTER TABLE vectors ADD COLUMN fine BLOB",
        "CREATE TABLE new_entities${ENTITIES.replace("REFERENCES entities", "REFERENCES new_entities")}",
        "INSERT INTO new_entities(row, canonical, name, kind, scale, data) SELECT row, canonical, name, kind, scale, data FROM entities",
        "DROP TABLE entities",
        "ALTER TABLE new_entities RENAME TO entities",
        "CREATE TABLE new_mentions$MENTIONS",
        "INSERT INTO new_mentions SELECT m.entity, m.photo, $LEAF_IN_1 FROM mentions m",
        "DROP TABLE mentions",
        "ALTER TABLE new_mentions RENAME TO mentions",
        "DROP TABLE segments",
        "CREATE TABLE segments$SEGMENTS",
    ) + NEW_IN_2
    private val FROM_2 = listOf(
        "CREATE TABLE new_edges$EDGES",
        "INSERT INTO new_edges(parent, child) SELECT parent, child FROM edges",
        "DROP TABLE edges",
        "ALTER TABLE new_edges RENAME TO edges",
    ) + NEW_IN_3

    /** What makes an album of an older [version] one of the current version, but for the checksums that version 1 lacks. */
    fun upgrade(version: Int): List<String> = (if (version < 2) FROM_1 else emptyList()) + FROM_2 + "PRAGMA user_version=$USER_VERSION"
}
