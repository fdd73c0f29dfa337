package gamer.album

import gamer.common.AlbumError

/**
 * Layer 1: maps photos to points of the K-D tree and space-time cubes to boxes. A cue never excludes a photo
 * for an unknown field: such a field is stored as [LOWEST] on its axis, a value that no known field takes.
 * Degrees are compared in steps of 1e-7 (about a centimetre); bounds are inclusive.
 *
 * [tree]: the photos as they were when the segment was built. [late]: rows added or changed since; their
 * points are in a small tree of their own.
 */
class Space(private val tree: KdTree, private val n: Int, private val late: IntArray, latePoints: Array<LongArray>) {
    private val lateTree = KdTree.build(latePoints)

    /** Latitudes e7, longitudes e7 and wall times in ms, each in order of row. */
    fun columns(): Array<LongArray> = Array(3) { axis ->
        val out = LongArray(n) { LOWEST }
        for (at in 0 until tree.size) if (tree.order[at] < n) out[tree.order[at]] = tree.columns[axis][at]
        for (at in 0 until lateTree.size) out[late[lateTree.order[at]]] = lateTree.columns[axis][at]
        out
    }

    /** The photos in any of the cubes. Empty [cubes] is the paper's "N/A": every photo. */
    fun inCubes(cubes: List<Cube>): CubeResult {
        if (cubes.isEmpty()) return IntArray(n) { it }.let { CubeResult(it, it, 0) }
        val all = BooleanArray(n)
        val inside = BooleanArray(n)
        val stale = BooleanArray(maxOf(n, tree.size)) { it >= n }
        late.forEach { stale[it] = true }
        var visited = 0
        for ((border, within) in cubes.groupBy { it.border }) {
            val known = within.flatMap { boxesOf(it).first }
            val beside = within.flatMap { boxesOf(it).second }
            fun mark(row: Int, box: Int) {
                if (border != null && !isBeside(border, row)) return
                all[row] = true
                if (box < known.size) inside[row] = true
            }
            val found = tree.hits(known + beside)
            for (i in found.rows.indices) if (!stale[found.rows[i]]) mark(found.rows[i], found.boxes[i])
            val more = lateTree.hits(known + beside)
            for (i in more.rows.indices) mark(late[more.rows[i]], more.boxes[i])
            visited += found.visited + more.visited
        }
        return CubeResult(Rows.where(all), Rows.where(inside), visited)
    }

    private val places: Array<LongArray> by lazy { columns() }

    /** Whether a photo lies inside a border, or has no place. */
    private fun isBeside(border: Border, row: Int): Boolean = places[0][row] == LOWEST || border.holds(places[0][row], places[1][row])

    /**
     * The k rows nearest to a place (degrees), a time (ms), or both, nearest first. [metresAnHour]: how many
     * metres an hour's difference counts for. Raises [AlbumError] if neither is given, or only half a place.
     */
    fun near(k: Int, lat: Double?, lon: Double?, takenAt: Long?, metresAnHour: Double): IntArray {
        if ((lat == null) != (lon == null) || (lat == null && takenAt == null)) {
            throw AlbumError("nearest photos: give a place, a time, or both; a place is a latitude and a longitude")
        }
        val at = longArrayOf(toE7(lat ?: 0.0), toE7(lon ?: 0.0), takenAt ?: 0)
        val east = METRES_E7 * maxOf(Math.cos(Math.toRadians(lat ?: 0.0)), 1e-3)
        val unit = doubleArrayOf(if (lat == null) 0.0 else METRES_E7, if (lon == null) 0.0 else east, if (takenAt == null) 0.0 else metresAnHour / 3_600_000)
        val stale = late.toHashSet()
        val period = 360L * E7
        val found = tree.nearest(at, unit, k + stale.size + maxOf(0, tree.size - n), period).filter { it.first < n && it.first !in stale }
        val more = lateTree.nearest(at, unit, k, period).map { late[it.first] to it.second }
        return (found + more).sortedWith(compareBy({ it.second }, { it.first })).take(maxOf(k, 0)).map { it.first }.toIntArray()
    }

    companion object {
        private const val METRES_E7 = 111_320 / 1e7 // metres per 1e-7 degrees of latitude
        const val LOWEST = Long.MIN_VALUE
        const val E7 = 10_000_000

        /** Degrees in the file's unit of 1e-7 degrees. Raises [AlbumError] for a number that is not finite. */
        fun toE7(degrees: Double): Long {
            if (degrees.isNaN() || degrees.isInfinite()) throw AlbumError("a position of $degrees degrees; give finite degrees, or none")
            return Math.rint(degrees * E7).toLong()
        }

        /** Boxes of photos surely inside, and boxes of photos with unknown fields that fit otherwise. */
        fun boxesOf(cube: Cube): Pair<List<Box>, List<Box>> {
            val whole = longArrayOf(LOWEST, Long.MAX_VALUE)
            val unknown = longArrayOf(LOWEST, LOWEST)
            val time = if (cube.hasTime) span(cube.start, cube.end) else whole
            val places = if (cube.hasPlace) places(cube) else listOf(whole to whole)
            val beside = ArrayList<Box>()
            if (cube.hasPlace) beside.add(box(unknown, unknown, time))
            if (cube.hasTime) places.forEach { beside.add(box(it.first, it.second, unknown)) }
            if (cube.hasPlace && cube.hasTime) beside.add(box(unknown, unknown, unknown))
            return places.map { box(it.first, it.second, time) } to beside
        }

        private fun places(cube: Cube): List<Pair<LongArray, LongArray>> {
            val lat = span(cube.south?.let { toE7(it) }, cube.north?.let { toE7(it) })
            val west = cube.west?.let { toE7(it) }
            val east = cube.east?.let { toE7(it) }
            // The box crosses the antimeridian.
            if (west != null && east != null && west > east) return listOf(lat to span(west, null), lat to span(null, east))
            return listOf(lat to span(west, east))
        }

        /** Inclusive bounds; an open end covers every known value, but not [LOWEST], which means unknown. */
        private fun span(low: Long?, high: Long?): LongArray = longArrayOf(if (low == null) LOWEST + 1 else maxOf(low, LOWEST + 1), high ?: Long.MAX_VALUE)

        private fun box(lat: LongArray, lon: LongArray, time: LongArray): Box = Box(longArrayOf(lat[0], lon[0], time[0]), longArrayOf(lat[1], lon[1], time[1]))
    }
}
