package gamer.browse

import kotlin.math.PI
import kotlin.math.abs
import kotlin.math.ln
import kotlin.math.roundToInt
import kotlin.math.tan
import org.json.JSONArray
import org.json.JSONObject

/** A point of Mercator's map of the world: x from 0 (180° west) to 1 (180° east), y from 0 (north) to 1 (south). */
class MapPoint(val x: Float, val y: Float)

/**
 * The outlines of the land, as the web page draws them (runtime/serve/static/map.js), and the projection. No map is fetched from
 * anywhere. [rings]: closed lines; land that crosses the antimeridian runs on beyond 1.
 */
class WorldMap private constructor(val rings: List<List<MapPoint>>) {
    companion object {
        private const val POLE = 85.06 // degrees; beyond this latitude Mercator's map ends
        private const val UNIT = 100.0 // of a degree, as `land.json` counts

        fun point(lat: Double, lon: Double): MapPoint {
            val held = lat.coerceIn(-POLE, POLE) * PI / 180
            return MapPoint((lon / 360 + 0.5).toFloat(), (0.5 - ln(tan(PI / 4 + held / 2)) / (2 * PI)).toFloat())
        }

        /** Reads `land.json`. */
        fun read(text: String): WorldMap {
            val raw = JSONObject(text)
            val arcs = raw.getJSONArray("arcs").let { all -> List(all.length()) { arc(all.getJSONArray(it)) } }
            val rings = raw.getJSONArray("rings").let { all -> List(all.length()) { ring(all.getJSONArray(it), arcs) } }
            return WorldMap(rings.map { ring -> ring.map { (lat, lon) -> point(lat, lon) } })
        }

        /** Latitude and longitude in degrees, from steps of longitude and latitude. */
        private fun arc(steps: JSONArray): List<Pair<Double, Double>> {
            var lon = 0
            var lat = 0
            return List(steps.length() / 2) {
                lon += steps.getInt(2 * it)
                lat += steps.getInt(2 * it + 1)
                lat / UNIT to lon / UNIT
            }
        }

        /** ~n is arc n backwards. A ring that ends a turn away from its start goes round the south pole. */
        private fun ring(indices: JSONArray, arcs: List<List<Pair<Double, Double>>>): List<Pair<Double, Double>> {
            val out = ArrayList<Pair<Double, Double>>()
            for (n in 0 until indices.length()) {
                val index = indices.getInt(n)
                val arc = if (index < 0) arcs[index.inv()].asReversed() else arcs[index]
                val shift = if (out.isEmpty()) 0 else ((out.last().second - arc[0].second) / 360).roundToInt() * 360
                for ((lat, lon) in if (out.isEmpty()) arc else arc.drop(1)) out.add(lat to lon + shift)
            }
            val (first, last) = out.first().second to out.last().second
            if (abs(last - first) > 180) out += listOf(-POLE to last, -POLE to first)
            return out
        }
    }
}
