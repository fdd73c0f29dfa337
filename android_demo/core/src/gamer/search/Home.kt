package gamer.search

import gamer.album.Cube
import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Calendar.Companion.HOUR_MS

/**
 * Learns where the user's home is, for "at home", from the positions of the photos taken at night. A home is
 * a place of a few hundred metres where photos were taken on many different nights over a long time; the
 * nights at a holiday's hotel are consecutive.
 */
object Home {
    private const val CELL_KM = 0.25
    private const val RADIUS_KM = 0.4
    // Hours. The evening counts as night: at nine people are more likely to be at home than asleep.
    private const val NIGHT_FROM = 20
    private const val NIGHT_TO = 7
    private const val MIN_NIGHTS = 5
    private const val MIN_SHARE = 0.15
    private const val MIN_WEEKS = 4
    private const val KM_PER_DEGREE = 111.195

    private class Night(val lat: Double, val lon: Double, val night: Long, val row: Long, val column: Long)

    /**
     * A box around the home, open in time; null when no place stands out. By photo: degrees, NaN if unknown,
     * and ms of wall time, the least long if unknown.
     */
    fun learn(latitudes: DoubleArray, longitudes: DoubleArray, times: LongArray): Cube? {
        val nights = times.indices.filter { !latitudes[it].isNaN() && !longitudes[it].isNaN() && times[it] != Long.MIN_VALUE && isNight(times[it]) }
            .map { night(latitudes[it], longitudes[it], times[it]) }
        if (nights.isEmpty()) return null
        // One vote per night and cell, however many photos.
        val votes = nights.map { Triple(it.row, it.column, it.night) }.distinct().groupingBy { it.first to it.second }.eachCount()
        val best = votes.keys.sortedWith(compareBy({ it.first }, { it.second })).maxByOrNull { votes.getValue(it) }!!
        val around = nights.filter { maxOf(Math.abs(it.row - best.first), Math.abs(it.column - best.second)) <= 1 }
        val own = around.map { it.night }.distinct()
        val all = nights.map { it.night }.distinct().size
        val enough = own.size >= MIN_NIGHTS && own.size >= MIN_SHARE * all && own.map { Math.floorDiv(it, 7L) }.distinct().size >= MIN_WEEKS
        return if (enough) box(median(around.map { it.lat }), median(around.map { it.lon })) else null
    }

    private fun isNight(ms: Long): Boolean = Math.floorMod(Math.floorDiv(ms, HOUR_MS), 24L).let { it >= NIGHT_FROM || it < NIGHT_TO }

    /**
     * The night of a photo, and its row and column in a grid of cells of CELL_KM. Longitudes are scaled by
     * the cosine of the latitude rounded to full degrees, so that neighbours share a grid. Hours after
     * midnight count as the evening before.
     */
    private fun night(lat: Double, lon: Double, ms: Long): Night {
        val shrink = maxOf(0.05, Math.cos(Math.toRadians(Math.rint(lat))))
        val step = CELL_KM / KM_PER_DEGREE
        val night = Math.floorDiv(ms + (24 - NIGHT_FROM) * HOUR_MS, DAY_MS)
        return Night(lat, lon, night, Math.floor(lat / step).toLong(), Math.floor(lon * shrink / step).toLong())
    }

    private fun median(values: List<Double>): Double {
        val sorted = values.sorted()
        val middle = sorted.size / 2
        return if (sorted.size % 2 == 1) sorted[middle] else (sorted[middle - 1] + sorted[middle]) / 2
    }

    private fun box(lat: Double, lon: Double): Cube {
        val dlat = RADIUS_KM / KM_PER_DEGREE
        val dlon = dlat / maxOf(0.05, Math.cos(Math.toRadians(lat)))
        fun wrapped(x: Double) = ((x + 180.0) % 360.0).let { if (it < 0) it + 360.0 else it } - 180.0
        return Cube(south = maxOf(-90.0, lat - dlat), north = minOf(90.0, lat + dlat), west = wrapped(lon - dlon), east = wrapped(lon + dlon))
    }
}
