package gamer.browse

import gamer.album.Album
import gamer.album.Space
import gamer.common.PyText
import gamer.common.RuntimeFailure
import gamer.cues.Gazetteer
import java.time.Instant
import java.time.ZoneOffset

/** [start]: the month's first moment in ms of wall time, null for photos without a date. [rows]: newest first. */
class Month(val start: Long?, val rows: IntArray)

/** A square of a map, in degrees: [south] and [west] belong to it, its other sides to others. */
data class Square(val south: Double, val west: Double, val side: Double) {
    companion object {
        /** The square of a grid that a point lies in. */
        fun of(lat: Double, lon: Double, side: Double): Square = Square(Math.floor(lat / side) * side, Math.floor(lon / side) * side, side)
    }
}

/**
 * Photos that lie together on a map: their mean in degrees, their [rows], newest first, and a near city's name where it is
 * known. [square]: where others lie that belong to them, after a change of the album too.
 */
class Cell(val lat: Double, val lon: Double, val rows: IntArray, val name: String?, val square: Square)

/** Photos like another, best first; [channel]: in which they were compared. */
class Similar(val channel: String, val rows: IntArray, val cosines: FloatArray)

/**
 * An album without a query, as the web page shows it (runtime/serve/catalogue.py, overview.py, runtime/search/similar.py). Copies
 * of a photo are not put together here.
 */
object Shelf {
    private val CHANNELS = listOf("image", "text") // what pictures show; what is said of them
    private const val CELL = 0.05 // degrees, about 5 km; doubled until there are at most MOST_CELLS
    private const val MOST_CELLS = 3_000
    private const val NAMED = 200

    /** All photos newest first, those without a date last. An album that has pictures is shown without what was only said. */
    fun rows(album: Album): IntArray {
        val pictured = album.pictured()
        val shown = if (pictured.any { it }) (0 until album.size).filter { pictured[it] } else (0 until album.size).toList()
        return shown.sortedByDescending { album.time(it) }.toIntArray()
    }

    /** [rows], in the order of the timeline, by their months. */
    fun months(album: Album, rows: IntArray = rows(album)): List<Month> =
        rows.groupBy { month(album.time(it)) }.map { (start, found) -> Month(start, found.toIntArray()) }

    private fun month(time: Long): Long? {
        if (time == Space.LOWEST) return null
        val day = Instant.ofEpochMilli(time).atOffset(ZoneOffset.UTC).toLocalDate().withDayOfMonth(1)
        return day.atStartOfDay(ZoneOffset.UTC).toInstant().toEpochMilli()
    }

    /** The cells of a grid that hold photos with a place, the fullest first; with [gazetteer] the fullest have a name. */
    fun cells(album: Album, gazetteer: Gazetteer? = null, rows: IntArray = rows(album)): List<Cell> {
        val placed = rows.filter { !album.latitude(it).isNaN() && !album.longitude(it).isNaN() }
        var side = CELL
        var grid = grid(album, placed, side)
        while (grid.size > MOST_CELLS) {
            side *= 2
            grid = grid(album, placed, side)
        }
        val ordered = grid.toSortedMap(compareBy({ it.south }, { it.west })).entries.sortedByDescending { it.value.size }
        return ordered.mapIndexed { rank, (square, found) ->
            val (lat, lon) = listOf(album::latitude, album::longitude).map { of -> PyText.round(found.sorted().sumOf { of(it) } / found.size, 4) }
            Cell(lat, lon, found.toIntArray(), if (rank < NAMED) gazetteer?.nearest(lat, lon)?.name else null, square)
        }
    }

    /** The rows that lie in [squares], newest first. */
    fun within(album: Album, squares: Set<Square>, rows: IntArray = rows(album)): IntArray {
        val sides = squares.mapTo(HashSet()) { it.side }
        return rows.filter { row -> sides.any { square(album, row, it) in squares } }.toIntArray()
    }

    private fun grid(album: Album, rows: List<Int>, side: Double): Map<Square, List<Int>> = rows.groupBy { square(album, it, side) }

    private fun square(album: Album, row: Int, side: Double) = Square.of(album.latitude(row), album.longitude(row), side)

    /**
     * The [k] photos most similar to that of [row]: by what the pictures show, or by what is said of them where it has no picture's
     * vector. Raises [RuntimeFailure] for a photo without a vector.
     */
    fun similar(album: Album, row: Int, k: Int): Similar {
        for (channel in CHANNELS) {
            val vector = album.meanOf(channel, row) ?: continue
            val found = album.searchVectors(channel, vector, k + 1) // the photo itself is among them
            val others = found.rows.indices.filter { found.rows[it] != row }.take(k)
            return Similar(channel, others.map { found.rows[it] }.toIntArray(), others.map { found.scores[it] }.toFloatArray())
        }
        throw RuntimeFailure("${album.photo(row).id}: no vector of its picture or of a memory: index it again")
    }
}
