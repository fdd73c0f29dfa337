package gamer.album

import gamer.common.PyText

/**
 * Tables that an album may have or lack, and that name photos by their ids (index/album/declarations/optional_tables.py), in groups
 * that are there as a whole. Their column `photo` holds the id. Rows of a table that is not known here would name nothing, which
 * readers skip.
 */
internal object OptionalTables {
    /** What was computed from a picture, and not of what is there in its place. */
    val OF_PICTURES = listOf("clips", "cameras", "orientations", "lightings", "mediums")

    /** Rows whose column `crc` is the checksum of [columns]. [what]: a row in words, by its [key]. [sources]: with the turns of an item. */
    private class Sealed(
        val table: String,
        val columns: String,
        val key: String,
        val sources: Boolean = false,
        val what: (Any?) -> String,
    )

    /**
     * [first]: its first table. [ofPhotos]: those with a column `photo`. [invariants]: problem → the SQL that counts it. [isDerived]:
     * whether the pictures say all that the tables hold.
     */
    private class Group(
        val first: String,
        val ofPhotos: List<String>,
        val sealed: List<Sealed>,
        val invariants: List<Pair<String, String>> = emptyList(),
        val isDerived: Boolean = false,
    )

    private fun quoted(value: Any?) = PyText.repr(value.asText())

    private fun field(table: String, name: String) =
        Group(table, listOf(table), listOf(Sealed(table, "photo, name", "photo") { "$name of ${quoted(it)}" }), isDerived = true)

    private const val OF_NO_PHOTO = "of photos that are not in the album"
    private const val STRAY = "photo NOT IN (SELECT id FROM photos)"
    private const val LABELS = "NOT coalesce(sharing, 'low') IN ('low', 'high')"
    private const val ABSENT_FROM_1 = "person_objects" // what version 1 of its group lacks
    private val GROUPS = listOf(
        Group(
            "person_meta",
            emptyList(),
            listOf(
                Sealed("person_objects", "item, name, picture, encoder, scale, data", "item") { "object of m$it" },
                Sealed("person_turns", "uid, chat, speaker, at, text, pictures, sharing", "id") { "turn t$it" },
                Sealed("person_items", "kind, key, text, keywords, at, ends, past, origin, sharing", "id", sources = true) { "memory m$it" },
            ),
            listOf(
                "turns or memories of the person with an unknown sharing label" to
                    "SELECT (SELECT count(*) FROM person_turns WHERE $LABELS) + (SELECT count(*) FROM person_items WHERE $LABELS)",
                "memories of the person of an unknown kind" to
                    "SELECT count(*) FROM person_items WHERE kind NOT IN ('core', 'semantic', 'episodic', 'procedural') OR past NOT IN (0, 1)",
                "keys of the person with two current values" to
                    "SELECT count(*) FROM (SELECT 1 FROM person_items WHERE past = 0 AND kind IN ('core', 'procedural') " +
                    "GROUP BY kind, key HAVING count(*) > 1)",
                "links to a turn, or from a memory, that does not exist" to
                    "SELECT count(*) FROM person_sources WHERE turn NOT IN (SELECT id FROM person_turns) OR child IN ('item', 'says') AND id NOT IN " +
                    "(SELECT id FROM person_items) OR child = 'turn' AND id NOT IN (SELECT id FROM person_turns) OR child NOT IN ('item', 'turn', 'says')",
                "objects of a memory that does not exist" to
                    "SELECT count(*) FROM person_objects WHERE item NOT IN (SELECT id FROM person_items)",
                "turns missing from their index of words" to
                    "SELECT (SELECT count(*) FROM person_turns) <> (SELECT count(*) FROM person_words_docsize)",
            ),
        ),
        Group(
            "face_meta",
            listOf("faces", "face_photos", "face_names"),
            listOf(
                Sealed("faces", "photo, x, y, width, height, quality, person, fixed, scale, data", "id") { "face f$it" },
                Sealed("face_people", "id, name", "id") { "person p$it" },
            ),
            listOf(
                "faces of no person" to "SELECT count(*) FROM faces WHERE person NOT IN (SELECT id FROM face_people)",
                "faces outside of their photo" to
                    "SELECT count(*) FROM faces WHERE NOT (x >= 0 AND y >= 0 AND width >= 0 AND height >= 0 AND x + width <= 1.000001 AND " +
                    "y + height <= 1.000001)",
                "faces with a vector of another length" to "SELECT count(*) FROM faces WHERE length(data) <> 128",
                "faces of photos that were not looked at" to
                    "SELECT count(*) FROM faces WHERE photo NOT IN (SELECT photo FROM face_photos)",
            ),
        ),
        Group("clips", listOf("clips"), emptyList()), // Clips.problems
        Group(
            "thing_meta",
            listOf("thing_sightings", "thing_photos"),
            listOf(
                Sealed(
                    "thing_sightings",
                    "photo, place, head, category, subcategory, color, texture, shape, material, brand, style, pattern, feature, usage, status, owned",
                    "photo",
                ) { "thing of photo ${quoted(it)}" },
            ),
            listOf(
                "sightings of a thing that does not exist" to
                    "SELECT count(*) FROM thing_sightings WHERE thing NOT IN (SELECT id FROM things)",
                "things that are another that does not exist, or that is itself another" to
                    "SELECT count(*) FROM things WHERE same_as NOT IN (SELECT id FROM things WHERE same_as IS NULL)",
                "sightings of photos that were not read" to
                    "SELECT count(*) FROM thing_sightings WHERE photo NOT IN (SELECT photo FROM thing_photos)",
            ),
        ),
        field("cameras", "camera"),
        field("orientations", "orientation"),
        field("lightings", "lighting"),
        field("mediums", "medium"),
    )
    val OF_PHOTOS = GROUPS.flatMap { it.ofPhotos }

    /** Deletes what belongs to a photo, where these tables are there. */
    fun drop(db: Database, photo: String, tables: List<String>) {
        for (table in tables) if (isThere(db, table)) db.execute("DELETE FROM $table WHERE photo=?", photo)
    }

    /** What is wrong in these tables, one line each. */
    fun problems(db: Database): List<String> = GROUPS.filter { isThere(db, it.first) }.flatMap { group ->
        val isWhole = group.first != "person_meta" || isThere(db, ABSENT_FROM_1)
        val strays = group.ofPhotos.map { "$it $OF_NO_PHOTO" to "SELECT count(*) FROM $it WHERE $STRAY" }
        val counted = (strays + group.invariants).filter { isWhole || ABSENT_FROM_1 !in it.second }.mapNotNull { (problem, sql) ->
            db.query(sql)[0][0].asLong().takeIf { it != 0L }?.let { "$problem: $it" }
        }
        val mismatches = group.sealed.filter { isWhole || it.table != ABSENT_FROM_1 }.flatMap { sealed ->
            val mismatch = if (sealed.sources) "its rows do not match their checksum" else "its row does not match its checksum"
            wrong(db, sealed).map { "${sealed.what(it)}: $mismatch" }
        }
        counted + mismatches + if (group.first == "clips") Clips.problems(db) else emptyList()
    }

    /** Deletes what is wrong in tables that are derived, in the caller's transaction; one line for each repair. */
    fun repair(db: Database): List<String> = GROUPS.filter { it.isDerived && isThere(db, it.first) }.flatMap { group ->
        val strays = group.ofPhotos.filter { db.query("SELECT count(*) FROM $it WHERE $STRAY")[0][0] != 0L }
        for (table in strays) db.execute("DELETE FROM $table WHERE $STRAY")
        strays.map { "$it $OF_NO_PHOTO deleted" } + group.sealed.flatMap { sealed ->
            wrong(db, sealed).map { key ->
                db.execute("DELETE FROM ${sealed.table} WHERE ${sealed.key}=?", key)
                "${sealed.what(key)} deleted: add its folder again"
            }
        }
    }

    /** The keys of the rows that do not match their checksum. */
    private fun wrong(db: Database, sealed: Sealed): List<Any?> =
        db.query("SELECT ${sealed.key}, crc, ${sealed.columns} FROM ${sealed.table}").filter { row ->
            val more = if (sealed.sources) sources(db, row[0]) else emptyList()
            Crc.of(*(row.drop(2) + more).toTypedArray()) != row[1]
        }.map { it[0] }

    /** The turns that an item was drawn from, ascending. */
    private fun sources(db: Database, item: Any?): List<Any?> =
        db.query("SELECT turn FROM person_sources WHERE child='item' AND id=? ORDER BY turn", item).map { it[0] }

    fun isThere(db: Database, table: String): Boolean = db.query("SELECT 1 FROM main.sqlite_master WHERE type='table' AND name=?", table).isNotEmpty()
}
