package gamer

import gamer.browse.MapPoint
import gamer.browse.WorldMap
import java.io.File
import kotlin.math.abs
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue

class BrowseTest {
    private val map = WorldMap.read(File(System.getProperty("gamer.test"), "../../../runtime/serve/static/land.json").readText())

    private fun isLand(lat: Double, lon: Double): Boolean = WorldMap.point(lat, lon).let { at ->
        (-1..1).any { turn -> map.rings.count { crosses(it, at.x + turn, at.y) } % 2 == 1 }
    }

    /** Whether a ray to the right crosses a ring an odd number of times. */
    private fun crosses(ring: List<MapPoint>, x: Float, y: Float): Boolean = ring.indices.count { n ->
        val (a, b) = ring[n] to ring[(n + 1) % ring.size]
        (a.y > y) != (b.y > y) && x < (b.x - a.x) * (y - a.y) / (b.y - a.y) + a.x
    } % 2 == 1

    @Test
    fun `the projection is Mercator's`() {
        val middle = WorldMap.point(0.0, 0.0)
        assertTrue(abs(middle.x - 0.5f) < 1e-6 && abs(middle.y - 0.5f) < 1e-6)
        assertEquals(0f, WorldMap.point(10.0, -180.0).x)
        assertTrue(abs(WorldMap.point(85.06, 180.0).y) < 1e-3 && abs(WorldMap.point(90.0, 0.0).y) < 1e-3 && abs(WorldMap.point(-90.0, 0.0).y - 1) < 1e-3)
        assertTrue(abs(WorldMap.point(60.0, 0.0).y - 0.290402f) < 1e-4)
    }

    @Test
    fun `cities and Antarctica lie on land and oceans do not`() {
        val cities = listOf(52.5 to 13.4, 35.7 to 139.6, -33.9 to 150.9, 40.4 to -3.7, -1.3 to 36.8, 66.2 to -173.0, 39.9 to 116.4, -77.8 to 106.9, -80.0 to -120.0)
        for ((lat, lon) in cities) assertTrue(isLand(lat, lon), "$lat, $lon")
        for ((lat, lon) in listOf(-60.0 to 100.0, 30.0 to -40.0, 0.0 to -150.0, -40.0 to 80.0, 40.0 to 179.9)) assertTrue(!isLand(lat, lon), "$lat, $lon")
    }
}
