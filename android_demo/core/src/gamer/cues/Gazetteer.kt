package gamer.cues

import gamer.album.Border
import gamer.album.Cube
import gamer.album.Database
import gamer.album.DatabaseError
import gamer.album.DatabaseOpener
import gamer.album.Space
import gamer.album.asInt
import gamer.album.asLong
import gamer.album.asReal
import gamer.album.asText
import gamer.common.CombiningMarks
import gamer.common.PyText
import gamer.common.RuntimeFailure
import gamer.common.oneLine
import java.io.File
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.text.Normalizer

/** South, north, west, east in degrees; west > east crosses the antimeridian. */
class PlaceBox(val south: Double, val north: Double, val west: Double, val east: Double) {
    fun holds(lat: Double, lon: Double): Boolean = lat in south..north && (if (west <= east) lon in west..east else lon >= west || lon <= east)

    fun cube(border: Border?): Cube = Cube(south = south, north = north, west = west, east = east, border = border)
}

/**
 * A city, country or region with its extent. [primary]: the name asked for is the place's official or usual
 * English name, not an alternate one. [word]: that name is also an English word (Nice, Reading). [given]:
 * that name is also a given name (Florence). [parts]: the boxes of a country with distant parts, such as
 * Hawaii; empty if one box is enough. [border]: the outline of the country that it is or lies in; null for a
 * city, and where none is known.
 */
class Place(
    val id: Long,
    val name: String,
    val kind: String,
    val countryCode: String,
    val lat: Double,
    val lon: Double,
    val extent: PlaceBox,
    val population: Long,
    val primary: Boolean = true,
    val word: Boolean = false,
    val given: Boolean = false,
    val parts: List<PlaceBox> = emptyList(),
    val border: Border? = null,
) {
    /** The place's extent, one box or several. */
    val boxes: List<PlaceBox> get() = parts.ifEmpty { listOf(extent) }

    fun contains(lat: Double, lon: Double): Boolean =
        // Asked of every photo, so without a list of boxes made for it.
        (if (parts.isEmpty()) extent.holds(lat, lon) else parts.any { it.holds(lat, lon) }) && (border == null || border.holds(Space.toE7(lat), Space.toE7(lon)))
}

/**
 * Reads the gazetteer file: a name → the places of that name, a position → the nearest city. Answers are
 * cached. Thread-safe: calls run one at a time.
 */
class Gazetteer private constructor(private val db: Database, private val path: File, private val hasParts: Boolean) : AutoCloseable {
    private val cached = object : LinkedHashMap<String, List<Place>>(256, 0.75f, true) {
        override fun removeEldestEntry(eldest: Map.Entry<String, List<Place>>): Boolean = size > CACHED
    }

    private val borders = HashMap<String, Border?>()

    override fun close() = synchronized(this) { db.close() }

    /**
     * The places of that name, best first: by population, where alternate names count a quarter. Case,
     * accents and hyphens do not matter.
     */
    fun lookup(name: String): List<Place> {
        if (name.isEmpty() || name.codePointCount(0, name.length) > 100) return emptyList()
        val folded = fold(name)
        if (folded.isEmpty()) return emptyList()
        return synchronized(this) { cached.getOrPut(folded) { places(folded) } }
    }

    /**
     * The longest run of words at the beginning of [words] that is a place name: (number of words, its places
     * best first), or null.
     */
    fun longestMatch(words: List<String>): Pair<Int, List<Place>>? {
        for (length in minOf(MAX_WORDS, words.size) downTo 1) {
            val found = lookup(words.take(length).joinToString(" "))
            if (found.isNotEmpty()) return length to found
        }
        return null
    }

    /**
     * The city that a position in degrees lies in or nearest to, its centre within [maxKm] kilometres, or null:
     * one of a country whose border holds the position, or that has a centre within [CENTRE_KM], where one is
     * near. A city reaches as far around its centre as the root of its population, [NEARBY_KM] at most.
     */
    fun nearest(lat: Double, lon: Double, maxKm: Double = 50.0): Place? = synchronized(this) {
        if (lat.isNaN() || lon.isNaN() || lon.isInfinite() || lat !in -90.0..90.0 || maxKm <= 0) return null
        val x = mod360(lon + 180.0) - 180.0
        var near = emptyList<City>()
        // Most photos are close to a city, and a small box holds few rows.
        for (reach in if (maxKm > NEARBY_KM) listOf(NEARBY_KM, maxKm) else listOf(maxKm)) {
            val cities = citiesAround(lat, x, reach)
            val centres = cities.filter { it.away <= CENTRE_KM }.map { it.country }
            val countries = cities.map { it.country }.distinct().filter { it in centres || border(it)?.holds(Space.toE7(lat), Space.toE7(x)) == true }
            val home = cities.filter { it.country in countries }
            near = home.ifEmpty { near }.ifEmpty { cities }
            if (home.isNotEmpty()) break
        }
        near.minWithOrNull(compareBy({ it.edge }, { it.id }))?.let { place(query("SELECT $COLUMNS FROM places p WHERE p.id = ?", it.id)[0]) }
    }

    /** Code → the name of each country: "DE" → "Germany". */
    val countries: Map<String, String> by lazy {
        synchronized(this) { query("SELECT country_code, name FROM places WHERE kind = 'country'").associate { it[0].asText() to it[1].asText() } }
    }

    /** [edge], [away]: the kilometres to its edge, below 0 inside of the city, and to its centre. */
    private class City(val edge: Double, val id: Long, val country: String, val away: Double)

    /** The cities whose centre is within [km] kilometres. */
    private fun citiesAround(lat: Double, lon: Double, km: Double): List<City> {
        val dlat = km / KM_PER_DEGREE
        val shrink = Math.cos(Math.toRadians(minOf(90.0, Math.abs(lat) + dlat)))
        val dlon = if (shrink <= 0.01) 180.0 else minOf(180.0, dlat / shrink)
        val sql = "SELECT id, country_code, population, lat, lon FROM places WHERE kind = 'city' AND lat BETWEEN ? AND ? AND (lon BETWEEN ? AND ?"
        val west = lon - dlon
        val east = lon + dlon
        val rows = when {
            dlon >= 180.0 -> query("$sql)", lat - dlat, lat + dlat, -180.0, 180.0)
            west >= -180.0 && east <= 180.0 -> query("$sql)", lat - dlat, lat + dlat, west, east)
            else -> { // The box crosses the antimeridian, so the other side is searched too.
                val shift = if (west < -180.0) 360.0 else -360.0
                query("$sql OR lon BETWEEN ? AND ?)", lat - dlat, lat + dlat, west, east, west + shift, east + shift)
            }
        }
        return rows.mapNotNull {
            val away = distanceKm(lat, lon, it[3].asReal(), it[4].asReal())
            val reach = minOf(NEARBY_KM, KM_PER_ROOT * Math.sqrt(maxOf(0.0, it[2].asReal())))
            if (away <= km) City(away - reach, it[0].asLong(), it[1].asText(), away) else null
        }
    }

    private fun places(folded: String): List<Place> {
        val rows = query("SELECT $COLUMNS, n.flags FROM names n JOIN places p ON p.id = n.place_id WHERE n.name_folded = ?", folded)
        val people = { row: Array<Any?> -> if (row[11].asInt() and PRIMARY != 0) -row[10].asReal() else -row[10].asReal() / 4 }
        return rows.sortedWith(compareBy({ people(it) }, { it[0].asLong() })).take(MAX_CANDIDATES).map { place(it) }
    }

    private fun place(row: Array<Any?>): Place {
        val flags = if (row.size > 11) row[11].asInt() else PRIMARY
        val parts = if (hasParts && row.size > 11 && row[2] == "country") parts(row[0].asLong()) else emptyList()
        return Place(
            row[0].asLong(), row[1].asText(), row[2].asText(), row[3].asText(), row[4].asReal(), row[5].asReal(), box(row, 6), row[10].asLong(),
            flags and PRIMARY != 0, flags and WORD != 0, flags and GIVEN != 0, parts, borderOf(row),
        )
    }

    /** The outline of a country or region; of a region without one, that of its country. */
    private fun borderOf(row: Array<Any?>): Border? =
        if (row[2] == "city") null else (if (row[2] == "region") border(row[0].asLong().toString()) else null) ?: border(row[3].asText())

    private fun border(code: String): Border? = if (code.isEmpty()) null else borders.getOrPut(code) { read(code) }

    /** A border by a country's code or a region's id; null if the file has none. Rings that are no rings are left out. */
    private fun read(code: String): Border? {
        val rows = try {
            db.query("SELECT ring FROM borders WHERE country_code = ? ORDER BY rowid", code)
        } catch (_: DatabaseError) { // an older file has no such table
            return null
        }
        val blobs = rows.mapNotNull { it[0] as? ByteArray }
        if (blobs.sumOf { it.size.toLong() / POINT } > MAX_BORDER) throw RuntimeFailure("$path: the border of $code has too many points")
        val rings = blobs.filter { it.size >= 3 * POINT && it.size % POINT == 0 }.map { blob ->
            IntArray(blob.size / 4).also { ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(it) }
        }
        return if (rings.isEmpty()) null else Border(code, rings)
    }

    private fun parts(id: Long): List<PlaceBox> =
        query("SELECT south, north, west, east FROM parts WHERE place_id = ? ORDER BY rowid", id).map { box(it, 0) }

    private fun box(row: Array<Any?>, at: Int) = PlaceBox(row[at].asReal(), row[at + 1].asReal(), row[at + 2].asReal(), row[at + 3].asReal())

    private fun query(sql: String, vararg values: Any?): List<Array<Any?>> = try {
        db.query(sql, *values)
    } catch (error: DatabaseError) {
        throw RuntimeFailure("cannot read the gazetteer $path: ${oneLine(error)}")
    }

    companion object {
        const val MAX_WORDS = 4
        private const val APPLICATION_ID = 0x476D477A
        private const val VERSION = 2 // version 1 has no parts: each country is one box
        private const val PRIMARY = 1
        private const val WORD = 2
        private const val GIVEN = 4
        private const val MAX_CANDIDATES = 24
        private const val CACHED = 4096
        private const val NEARBY_KM = 8.0
        private const val KM_PER_ROOT = 0.005 // of a city's people
        private const val CENTRE_KM = 1.0
        private const val POINT = 8 // bytes of a border's point: latitude and longitude, int32, little-endian
        private const val MAX_BORDER = 20_000L // points
        private const val KM_PER_DEGREE = 111.195
        private const val COLUMNS = "p.id, p.name, p.kind, p.country_code, p.lat, p.lon, p.south, p.north, p.west, p.east, p.population"
        private val LETTERS = mapOf('ø' to "o", 'ł' to "l", 'đ' to "d", 'ı' to "i", 'æ' to "ae", 'œ' to "oe", 'ð' to "d", 'þ' to "th")

        /** Opens a gazetteer. Raises [RuntimeFailure] for a file that is not one. */
        fun open(path: File, opener: DatabaseOpener): Gazetteer {
            if (!path.isFile) throw RuntimeFailure("no gazetteer at $path: export the bundle again")
            val db = try {
                opener.reader(path, immutable = true)
            } catch (error: DatabaseError) {
                throw RuntimeFailure("$path is not a gazetteer: ${oneLine(error)}")
            }
            try {
                val id = db.query("PRAGMA application_id")[0][0].asInt()
                val version = db.query("PRAGMA user_version")[0][0].asInt()
                if (id != APPLICATION_ID) throw RuntimeFailure("$path is not a gazetteer (application_id 0x${Integer.toHexString(id)}, expected 0x476d477a)")
                if (version !in 1..VERSION) throw RuntimeFailure("$path is a gazetteer of version $version; this program reads up to $VERSION: update it")
                return Gazetteer(db, path, version > 1)
            } catch (error: DatabaseError) {
                db.close()
                throw RuntimeFailure("$path is not a gazetteer: ${oneLine(error)}")
            } catch (error: RuntimeFailure) {
                db.close()
                throw error
            }
        }

        /**
         * The form in which names are stored and looked up: casefolded, without accents, full stops and
         * apostrophes; hyphens and white space become one space.
         */
        fun fold(name: String): String {
            val folded = nfkd(PyText.casefold(nfkd(name))) // "𝑨" becomes an A only when decomposed
            val out = StringBuilder()
            for (cp in PyText.codePoints(folded)) {
                if (cp in CombiningMarks) continue
                val c = if (cp < 0x10000) cp.toChar() else null
                when {
                    c != null && c in ".'’`\u0000" -> {}
                    c != null && c in "-‐‑–_" -> out.append(' ')
                    c != null && c in LETTERS -> out.append(LETTERS.getValue(c))
                    else -> out.appendCodePoint(cp)
                }
            }
            return PyText.joined(out.toString())
        }

        private fun nfkd(text: String): String = Normalizer.normalize(text, Normalizer.Form.NFKD)

        private fun distanceKm(lat1: Double, lon1: Double, lat2: Double, lon2: Double): Double {
            val a = Math.toRadians(lat1)
            val b = Math.toRadians(lat2)
            val up = Math.sin((b - a) / 2)
            val across = Math.sin(Math.toRadians(lon2 - lon1) / 2)
            return 2 * 6371.0 * Math.asin(minOf(1.0, Math.sqrt(up * up + Math.cos(a) * Math.cos(b) * across * across)))
        }

        /** The value reduced to [0, 360), as by Python's `%`. */
        internal fun mod360(degrees: Double): Double = (degrees % 360.0).let { if (it < 0) it + 360.0 else it }
    }
}
