package gamer.album

import gamer.common.AlbumError
import gamer.common.PyText
import gamer.people.Face
import gamer.people.FaceBox
import gamer.people.Grouping
import gamer.people.LookedAt
import gamer.people.People
import gamer.people.Person
import gamer.people.StoredFace
import java.io.File

/**
 * Reads and changes the tables of faces, inside the caller's transaction: faces in, grouped, named, forgotten
 * (index/people/writing.py). The numbers of people and faces are never given again.
 */
class FaceRows internal constructor(private val db: Database, private val path: File) {
    /** The people of the album, each row checked; null if it has no tables of them. Faces of photos that are gone are left out. */
    fun read(): People? {
        if (!isThere()) return null
        val version = text("version")
        if (version != VERSION) throw AlbumError("$path: its faces are in version $version, this program reads $VERSION; update the program")
        val faces = db.query("SELECT id, crc, $COLUMNS FROM faces WHERE photo IN $HERE ORDER BY id").map(::face)
        val names = db.query("SELECT id, crc, name FROM face_people WHERE name IS NOT NULL").associate { row ->
            if (Crc.of(row[0], row[2]) != row[1]) throw AlbumError("$path: person p${row[0]} is damaged (its checksum differs): give them their name again")
            row[0].asLong() to row[2].asText()
        }
        val looked = db.query("SELECT photo, sha256, closed FROM face_photos")
        val written = db.query("SELECT photo, text FROM face_names WHERE photo IN $HERE").groupBy({ it[0].asText() }, { it[1].asText() })
        return People(
            faces, names, looked.associate { it[0].asText() to it[1] as String? }, looked.filter { it[2] != 0L }.map { it[0].asText() }.toSet(),
            written.mapValues { it.value.toSet() }, text("encoder").orEmpty(),
        )
    }

    private fun isThere() = OptionalTables.isThere(db, "face_meta")

    private fun face(row: Array<Any?>): StoredFace {
        val values = row.drop(2)
        val codes = values[9] as ByteArray
        if (Crc.of(*values.toTypedArray()) != row[1] || codes.size != DIM) {
            throw AlbumError("$path: face f${row[0]} is damaged (its checksum differs): forget everybody and find them again")
        }
        val scale = (values[8] as Double).toFloat()
        val (left, top, width, height) = values.subList(1, 5).map { it as Double }
        val face = Face(FaceBox(left, top, width, height), values[5] as Double, FloatArray(DIM) { codes[it] * scale })
        return StoredFace(row[0].asLong(), values[0].asText(), face, values[6].asLong(), values[7] != 0L)
    }

    /** Makes the tables if there are none. Raises [AlbumError] if the faces there are another encoder's. */
    fun begin(encoder: String) {
        val before = if (isThere()) text("encoder") else null
        if (before == encoder) return
        if (before != null) throw AlbumError("$path: its faces were made by $before, the bundle has $encoder: forget everybody, then find them again")
        DDL.forEach { db.execute(it) }
        put("version", VERSION)
        put("encoder", encoder)
    }

    /** Stores what was found in photos, in place of earlier faces of theirs. Each is a person of its own. */
    fun store(photos: List<LookedAt>) {
        keepNumbers()
        for (looked in photos) {
            db.execute("DELETE FROM faces WHERE photo=?", looked.photo)
            db.execute("INSERT OR REPLACE INTO face_photos VALUES(?,?,0)", looked.photo, looked.sha256)
            for (face in looked.faces.take(MAX_FACES)) insert(looked.photo, face)
        }
        dropEmpty()
    }

    private fun insert(photo: String, face: Face) {
        val person = next("person", "face_people").also { name(it, null) }
        val vector = VectorSet.quantize(face.vector)
        val values = face.box.run { arrayOf<Any?>(photo, left, top, width, height, face.quality, person, 0L, vector.scale.toDouble(), vector.codes) }
        db.execute("INSERT INTO faces(id, $COLUMNS, crc) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", next("face", "faces"), *values, Crc.of(*values))
    }

    /** Groups the faces that were stored since the last time with each other and with those of before. */
    fun regroup() {
        val before = number(GROUPED)
        if (db.query("SELECT 1 FROM faces WHERE id > ? LIMIT 1", before).isEmpty()) return
        val found = read() ?: return
        val fresh = found.faces.indices.filter { found.faces[it].row > before }
        val persons = Grouping.group(found.faces.map { it.face.vector }, found.faces.map { it.person }, fresh, found.held)
        for ((face, person) in found.faces.zip(persons)) if (face.person != person) put(face, person, face.isFixed)
        dropEmpty()
        put(GROUPED, last("face", "faces").toString())
    }

    /** Gives a person a name, in place of an earlier one. Raises [AlbumError] if somebody else has it. */
    fun name(person: Person, text: String) {
        val others = read()?.names.orEmpty().filter { (row, name) -> row != person.row && PyText.casefold(name) == PyText.casefold(text) }
        for ((row, name) in others) throw AlbumError("p$row is called $name already: merge the two if they are one, or tell them apart by name")
        name(person.row, text)
    }

    /** Makes people one: [into], whose name stays, or who gets that of the first of the others with one. */
    fun merge(into: Person, others: List<Person>) {
        val named = others.firstNotNullOfOrNull { it.name }
        if (into.name == null && named != null) {
            for (other in others) name(other.row, null)
            name(into.row, named)
        }
        for (face in into.faces + others.flatMap { it.faces }) put(face, into.row, true)
        dropEmpty()
    }

    /** Deletes people with their faces. Nobody is searched any more in the photos that showed them. */
    fun forget(people: List<Person>) {
        keepNumbers()
        for (person in people) {
            db.execute("UPDATE face_photos SET closed=1 WHERE photo IN (SELECT photo FROM faces WHERE person=?)", person.row)
            db.execute("DELETE FROM faces WHERE person=?", person.row)
        }
        dropEmpty()
    }

    /** The photos in which nobody is searched any more. */
    fun closed(): Set<String> =
        if (isThere()) db.query("SELECT photo FROM face_photos WHERE closed<>0").mapTo(HashSet()) { it[0].asText() } else emptySet()

    /** Nobody is searched in these photos. */
    fun close(photos: List<String>) {
        for (photo in photos) db.execute("INSERT OR REPLACE INTO face_photos VALUES(?,NULL,1)", photo)
    }

    /** Deletes the tables, but for the list of memories that naming wrote, if there are any to take back. */
    fun forgetAll() {
        if (!isThere()) return
        for (table in listOf("faces", "face_people", "face_photos")) db.execute("DELETE FROM $table")
        if (db.query("SELECT 1 FROM face_names WHERE photo IN $HERE").isNotEmpty()) return
        for (table in listOf("face_meta", "face_people", "faces", "face_photos", "face_names")) db.execute("DROP TABLE $table")
    }

    /** Notes which memories of photos (id → texts) naming has written from now on. */
    internal fun noteWritten(texts: Map<String, List<String>>) {
        for ((photo, written) in texts) {
            db.execute("DELETE FROM face_names WHERE photo=?", photo)
            for (text in written) db.execute("INSERT INTO face_names VALUES(?,?)", photo, text)
        }
    }

    private fun put(face: StoredFace, person: Long, isFixed: Boolean) {
        db.execute("UPDATE faces SET person=?, fixed=? WHERE id=?", person, if (isFixed) 1L else 0L, face.row)
        db.execute("UPDATE faces SET crc=? WHERE id=?", Crc.of(*db.query("SELECT $COLUMNS FROM faces WHERE id=?", face.row)[0]), face.row)
    }

    private fun name(row: Long, text: String?) = db.execute("INSERT OR REPLACE INTO face_people VALUES(?,?,?)", row, text, Crc.of(row, text))

    /** Deletes the people who have no face left. */
    private fun dropEmpty() {
        keepNumbers()
        db.execute("DELETE FROM face_people WHERE id NOT IN (SELECT person FROM faces)")
    }

    /** Notes the greatest numbers that there were, before some are deleted. */
    private fun keepNumbers() {
        for ((what, table) in listOf("person" to "face_people", "face" to "faces")) put("last $what", last(what, table).toString())
    }

    private fun next(what: String, table: String): Long = last(what, table) + 1

    private fun last(what: String, table: String): Long = maxOf(db.query("SELECT coalesce(max(id), 0) FROM $table")[0][0].asLong(), number("last $what"))

    /** A noted number; 0 for a damaged one. */
    private fun number(key: String): Long = text(key)?.toLongOrNull()?.takeIf { it in 0..(1L shl 53) } ?: 0

    private fun text(key: String): String? = db.query("SELECT value FROM face_meta WHERE key=?", key).firstOrNull()?.get(0) as? String

    private fun put(key: String, value: String) = db.execute("INSERT OR REPLACE INTO face_meta VALUES(?,?)", key, value)

    private companion object {
        const val VERSION = "1"
        const val DIM = 128
        const val MAX_FACES = 100
        const val GROUPED = "grouped" // the greatest number of a face that was grouped
        const val COLUMNS = "photo, x, y, width, height, quality, person, fixed, scale, data"
        const val HERE = "(SELECT id FROM photos)"
        // The text of each statement as the Python program has it, which takes an album with other ones for somebody else's.
        val DDL = """
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
    photo TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(photo, text)) WITHOUT ROWID""".split(';').map { it.trim() }
    }
}
