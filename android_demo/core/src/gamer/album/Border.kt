package gamer.album

/**
 * The outline of a country (index/borders.py). [rings]: latitude and longitude of each point in 1e-7 degrees,
 * in turn. A ring closes from its last point to its first, and none crosses the antimeridian. A ring inside
 * another is a hole: a position is inside if a line from it westwards crosses the rings an odd number of times.
 */
class Border(val code: String, rings: List<IntArray>) {
    private val rings = rings.filter { it.size >= 6 }

    /** The edges that reach into each degree of latitude: ring and position of the first point, in turn. */
    private val edges: Map<Long, IntArray>

    init {
        val found = HashMap<Long, ArrayList<Int>>()
        this.rings.forEachIndexed { number, ring ->
            for (at in ring.indices step 2) {
                val next = (at + 2) % ring.size
                val low = Math.floorDiv(minOf(ring[at], ring[next]).toLong(), DEGREE)
                for (band in low..Math.floorDiv(maxOf(ring[at], ring[next]).toLong(), DEGREE)) {
                    if (band in -90L..90L) found.getOrPut(band) { ArrayList() }.run { add(number); add(at) }
                }
            }
        }
        edges = found.mapValues { it.value.toIntArray() }
    }

    /** Of a border's own points, those at its south and west are inside. */
    fun holds(lat: Long, lon: Long): Boolean {
        val near = edges[Math.floorDiv(lat, DEGREE)] ?: return false
        var inside = false
        for (i in near.indices step 2) {
            val ring = rings[near[i]]
            val first = near[i + 1]
            val second = (first + 2) % ring.size
            val (low, high) = if (ring[first] <= ring[second]) first to second else second to first
            if (lat < ring[low] || lat >= ring[high]) continue
            val across = (lon - ring[low + 1]) * (ring[high].toLong() - ring[low])
            if (across >= (ring[high + 1].toLong() - ring[low + 1]) * (lat - ring[low])) inside = !inside
        }
        return inside
    }

    private companion object {
        const val DEGREE = 10_000_000L
    }
}
