package gamer.replay

import gamer.album.Cube
import gamer.cues.CueReader
import gamer.cues.CueTables
import gamer.cues.Cues
import gamer.cues.Explain
import gamer.cues.Gazetteer
import gamer.cues.Interval
import gamer.cues.Near
import gamer.cues.PlaceCue
import gamer.cues.Situation
import gamer.cues.TimeContext
import gamer.cues.TimeCue
import gamer.jvm.JdbcDatabase
import gamer.search.Context
import gamer.search.Home
import gamer.search.Refine
import java.io.File
import java.time.LocalDateTime
import org.json.JSONArray
import org.json.JSONObject

/** Suite `cues`. */
class CuePlayer(private val suite: Suite) : Player {
    private val gazetteer = Gazetteer.open(suite.file(suite.shared.getString("gazetteer")), JdbcDatabase)
    private val reader = CueReader(CueTables.read(File(System.getProperty("gamer.rules")).readText()), gazetteer)

    override fun play(case: Case): Any? {
        val g = case.given
        return when (g.getString("op")) {
            "parse" -> parse(g)
            "home" -> home(g)
            "fast" -> json("text" to Refine.fast(g.getString("text")))
            "clean" -> json("text" to Refine.clean(g.getString("text"), g.getInt("limit")))
            "content_words" -> json("words" to list(Refine.contentWords(g.getString("text")).sorted()))
            "objection" -> json("text" to Refine.objection(g.getString("text"), g.getString("query"), g.getString("plain"), Context(g.texts("names"))))
            "fitting" -> json("notes" to Context.fitting(g.texts("names"), g.getString("query")).notes())
            "fold" -> json("text" to Gazetteer.fold(g.getString("text")))
            "nearest" -> g.getJSONArray("at").let { json("name" to gazetteer.nearest(it.getDouble(0), it.getDouble(1))?.name) }
            else -> throw IllegalArgumentException("op ${g.getString("op")}")
        }
    }

    private fun parse(g: JSONObject): JSONObject {
        val extent = if (g.isNull("extent")) null else g.getJSONArray("extent").let { it.getLong(0)..it.getLong(1) }
        val near: Near? = if (g.isNull("positions")) null else near(suite.shared.getJSONObject("positions").getJSONArray(g.getString("positions")))
        val home = if (g.isNull("home")) null else g.getJSONArray("home").let { Cube(south = it.getDouble(0), north = it.getDouble(1), west = it.getDouble(2), east = it.getDouble(3)) }
        val time = TimeContext(LocalDateTime.parse(g.getString("now")), extent, g.getBoolean("southern"))
        val read = reader.parse(g.getString("query"), Situation(time, near, if (home == null) null else { -> home }))
        return shown(reader.resolve(read) { events(it) })
    }

    private fun near(positions: JSONArray): Near = { place -> positions.arrays().count { place.contains(it.getDouble(0), it.getDouble(1)) } }

    private fun events(phrase: String): List<Interval> {
        val found = suite.shared.getJSONObject("events").optJSONArray(phrase.lowercase()) ?: return emptyList()
        return found.arrays().map { Interval(it.getLong(0), it.getLong(1)) }
    }

    private fun shown(c: Cues): JSONObject = json(
        "times" to list(c.times.map { time(it) }), "negated_times" to list(c.negatedTimes.map { time(it) }),
        "places" to list(c.places.map { place(it) }), "negated_places" to list(c.negatedPlaces.map { place(it) }),
        "recurring" to list(c.recurring.map {
            json("text" to it.text, "kind" to it.kind, "weekdays" to list(it.weekdays), "minutes" to list(it.minutes), "confidence" to it.confidence)
        }),
        "anchors" to list(c.anchors.map { json("text" to it.text, "phrase" to it.phrase) }),
        "cubes" to list(c.cubes.map { json(it) }), "rest" to c.rest, "refined" to Refine.fast(c.rest),
        "lines" to list(Explain.cueLines(c)), "cube_lines" to list(Explain.cubeLines(c)),
    )

    private fun time(t: TimeCue) = json("text" to t.text, "start" to t.start, "end" to t.end, "kind" to t.kind, "confidence" to t.confidence)

    private fun place(p: PlaceCue) = json(
        "text" to p.text, "name" to p.name, "kind" to p.kind, "photos" to p.photos, "confidence" to p.confidence, "boxes" to list(p.boxes.map { box(it) }),
    )

    private fun box(c: Cube): JSONArray = list(listOf(c.south, c.north, c.west, c.east))

    private fun home(g: JSONObject): JSONObject {
        val positions = g.getJSONArray("positions").arrays()
        val times = g.getJSONArray("times").let { a -> LongArray(a.length()) { a.getLong(it) } }
        val found = Home.learn(DoubleArray(positions.size) { positions[it].getDouble(0) }, DoubleArray(positions.size) { positions[it].getDouble(1) }, times)
        return json("box" to found?.let { box(it) })
    }
}
