package gamer.replay

import gamer.album.Album
import gamer.album.AlbumMeta
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.album.Clip
import gamer.album.Encoded
import gamer.album.Memory
import gamer.album.Mention
import gamer.album.Photo
import gamer.album.Rows
import gamer.browse.Shelf
import gamer.jvm.JdbcDatabase
import gamer.people.Face
import gamer.people.FaceBox
import gamer.people.LookedAt
import gamer.people.People
import java.io.File
import org.json.JSONObject

/** Suite `album`. Each file is copied first, because readers of a WAL file create files beside it. */
class AlbumPlayer(private val folder: File) : Player {
    private val opened = HashMap<String, Album>()

    override fun play(case: Case): Any? {
        val g = case.given
        val op = g.getString("op")
        if (op == "append") return append(g)
        if (op == "change") return change(g)
        if (op == "create") return create(g)
        if (op == "people") return people(g)
        if (op == "verify") return verify(g)
        if (op == "open" || op == "photo") {
            return Album.open(copied(g), JdbcDatabase).use { album -> if (op == "photo") told(album.photo(g.getInt("row"))) else json() }
        }
        if (op == "moments") return Album.open(copied(g), JdbcDatabase).use { moments(it, g.floats("query")) }
        val album = opened.getOrPut(g.getString("file")) { Album.open(copied(g), JdbcDatabase) }
        return when (op) {
            "read" -> told(album)
            "cubes" -> album.inCubes(g.objects("cubes").map { cube(it) }).let { json("rows" to list(it.rows), "inside" to list(it.inside)) }
            "near" -> json("rows" to list(album.near(g.getInt("k"), g.realOrNull("lat"), g.realOrNull("lon"), g.longOrNull("taken_at"), g.getDouble("metres_an_hour"))))
            "entities" -> json("matches" to list(album.matchEntities(g.floats("query"), g.ints("rows"), g.getDouble("delta")).map {
                json(
                    "row" to it.row, "name" to it.name, "kind" to it.kind, "similarity" to real(it.similarity), "photos" to list(it.photos),
                    "reached" to list(it.reached),
                )
            }))
            "scores" -> json("scores" to list(album.scores(g.getString("channel"), g.floats("query"), g.ints("rows"))))
            "search" -> search(album, g)
            "similar" -> Shelf.similar(album, g.getInt("row"), g.getInt("k")).let { json("channel" to it.channel, "rows" to list(it.rows), "scores" to list(it.cosines)) }
            "browse" -> json(
                "months" to list(Shelf.months(album).map { json("start" to it.start, "rows" to list(it.rows)) }),
                "cells" to list(Shelf.cells(album).map { json("lat" to it.lat, "lon" to it.lon, "photos" to it.rows.size) }),
            )
            "preferred" -> json("rows" to list(album.preferred(g.ints("ranked").toList())))
            else -> throw IllegalArgumentException("op $op")
        }
    }

    private fun moments(album: Album, query: FloatArray): JSONObject {
        val clips = (0 until album.size).mapNotNull { row -> album.photo(row).id.let { id -> album.clip(id)?.let { Triple(row, id, it) } } }
        return json("clips" to list(clips.map { (row, id, clip) ->
            json("id" to id, "start" to clip.start, "end" to clip.end, "length" to clip.length, "second" to album.second(row, clip, query))
        }))
    }

    private fun search(album: Album, g: JSONObject): JSONObject {
        val rows = if (g.isNull("rows")) null else g.ints("rows")
        val found = album.searchVectors(g.getString("channel"), g.floats("query"), g.getInt("k"), rows, g.getString("plan"))
        val out = json("rows" to list(found.rows), "scores" to list(found.scores))
        return if (g.getString("plan") == "hnsw") out.put("plan", found.plan) else out
    }

    private fun append(g: JSONObject): JSONObject {
        val path = copied(g)
        val vectors = g.getJSONObject("entity_vectors")
        AlbumWriter.extend(path, JdbcDatabase).use { writer ->
            writer.add(g.objects("photos").map { encoded(it) })
            writer.embed { names -> names.map { vectors.getJSONArray(it).floats() } }
        }
        val out = Album.open(path, JdbcDatabase).use { told(it).put("crc", list(it.checksums())) }
        return asked(path, g.getJSONObject("queries"), out)
    }

    private fun change(g: JSONObject): JSONObject {
        val path = copied(g)
        AlbumWriter.extend(path, JdbcDatabase).use { writer ->
            writer.update(g.objects("update").map { encoded(it) })
            writer.remove(g.texts("remove"))
        }
        val found = Album.open(path, JdbcDatabase).use { json("bm25" to list(it.words(g.getString("query")).bm25())) }
        return asked(path, g.getJSONObject("queries"), found)
    }

    private fun create(g: JSONObject): JSONObject {
        val path = File(Copies.stage(), "new.gamer")
        val meta = g.getJSONObject("meta")
        val told = AlbumMeta(meta.getString("text_encoder"), meta.getString("image_encoder"), meta.getInt("dim"), meta.getDouble("delta"))
        AlbumWriter.create(path, told, JdbcDatabase).close()
        return asked(path, g.getJSONObject("queries"), json())
    }

    private fun people(g: JSONObject): JSONObject {
        val path = copied(g)
        AlbumWriter.extend(path, JdbcDatabase).use { writer -> g.objects("steps").forEach { step(writer, it) } }
        val people = Album.open(path, JdbcDatabase).use { it.people() } ?: People()
        val out = json(
            "people" to list(people.people.map { list(listOf(it.row, it.name, list(it.faces.map { face -> face.row }), list(it.photos))) }),
            "held" to list(people.held.sorted()),
            "named_in" to list(people.namedIn.toSortedMap().map { (photo, names) -> list(listOf(photo, list(names))) }),
            "problems" to list(Check.problems(path, JdbcDatabase)),
        )
        return asked(path, g.getJSONObject("queries"), out)
    }

    private fun step(writer: AlbumWriter, g: JSONObject) {
        if (g.getString("do") == "retell") {
            val named = g.getJSONObject("named")
            return writer.retell(g.objects("photos").map { encoded(it) }, named.keys().asSequence().map { it.toString() }.associateWith { named.texts(it) })
        }
        writer.people {
            fun person(row: Int) = read()!!.person(row.toLong())
            when (g.getString("do")) {
                "begin" -> begin(g.getString("encoder"))
                "store" -> store(g.objects("photos").map { LookedAt(it.getString("photo"), it.textOrNull("sha256"), it.objects("faces").map(::face)) })
                "regroup" -> regroup()
                "name" -> name(person(g.getInt("person")), People.checkedName(g.getString("text")))
                "merge" -> merge(person(g.getInt("into")), g.ints("others").map(::person))
                else -> forget(g.ints("people").map(::person))
            }
        }
    }

    private fun face(g: JSONObject): Face {
        val (left, top, width, height) = g.reals("box")
        val vector = FloatArray(128)
        for (hot in g.getJSONArray("hot").arrays()) vector[hot.getInt(0)] = hot.getDouble(1).toFloat()
        return Face(FaceBox(left, top, width, height), g.getDouble("quality"), vector)
    }

    private fun verify(g: JSONObject): JSONObject {
        val path = copied(g)
        JdbcDatabase.writer(path).use { db -> g.texts("damage").forEach { db.execute(it) } }
        val before = Check.problems(path, JdbcDatabase)
        val repaired = AlbumWriter.extend(path, JdbcDatabase).use { it.repair() }
        return json("before" to list(before), "repaired" to list(repaired), "after" to list(Check.problems(path, JdbcDatabase)))
    }

    /** [out] with the rows that each query gives, by its name. */
    private fun asked(path: File, queries: JSONObject, out: JSONObject): JSONObject = JdbcDatabase.reader(path).use { db ->
        for (name in queries.keys()) out.put(name.toString(), list(db.query(queries.getString(name.toString())).map { list(it.asIterable()) }))
        out
    }

    private fun encoded(raw: JSONObject): Encoded {
        val channels = raw.getJSONObject("vectors")
        val names = channels.keys().asSequence().map { it.toString() }
        val mentions = raw.objects("mentions").map { Mention(it.getString("name"), it.getString("kind"), it.textOrNull("parent"), it.getString("relation")) }
        return Encoded(photo(raw.getJSONObject("photo")), names.associateWith { name -> channels.getJSONArray(name).arrays().map { it.floats() }.toTypedArray() }, mentions, raw.optJSONObject("clip")?.let(::clip))
    }

    private fun clip(raw: JSONObject) = Clip(raw.getLong("start"), raw.getLong("end"), raw.getLong("length"), raw.ints("frames").map { it.toLong() })

    private fun photo(p: JSONObject): Photo = Photo(
        p.getString("id"), p.textOrNull("path"), p.longOrNull("taken_at"), p.getString("tz_source"), p.realOrNull("lat"), p.realOrNull("lon"),
        p.objects("memories").map { Memory(it.getString("source"), it.getString("text"), it.textOrNull("sharing"), it.textOrNull("sensitivity")) },
        p.textOrNull("sharing"), p.textOrNull("sensitivity"), p.textOrNull("sha256"), p.longOrNull("utc_offset")?.toInt(),
    )

    private fun copied(g: JSONObject): File = Copies.of(folder, g)

    private fun told(album: Album): JSONObject {
        val told = album.preferences()
        val pairs = { some: List<Pair<Int, Int>> -> list(some.sortedWith(compareBy({ it.first }, { it.second })).map { list(listOf(it.first, it.second)) }) }
        return json(
            "meta" to json("text_encoder" to album.meta.textEncoder, "image_encoder" to album.meta.imageEncoder, "dim" to album.meta.dim, "delta" to album.meta.delta),
            "generation" to album.generation,
            "photos" to list((0 until album.size).map { told(album.photo(it)) }),
            "channels" to JSONObject(album.vectorCounts()),
            "entities" to list(album.entityNames(500)),
            "conversations" to list(Rows.where(album.conversations)),
            "preferred_photos" to pairs(told.photos),
            "preferred_entities" to pairs(told.entities),
        )
    }

    private fun told(p: Photo): JSONObject = json(
        "id" to p.id, "path" to p.path, "taken_at" to p.takenAt, "tz_source" to p.tzSource, "utc_offset" to p.utcOffset, "lat" to p.lat, "lon" to p.lon,
        "sharing" to p.sharing, "sensitivity" to p.sensitivity, "sha256" to p.sha256, "wall" to p.wall,
        "memories" to list(p.memories.map { json("source" to it.source, "text" to it.text, "sharing" to it.sharing, "sensitivity" to it.sensitivity) }),
    )
}
