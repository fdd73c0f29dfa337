package gamer.app

import android.app.Activity
import android.content.Context
import android.graphics.Canvas
import android.graphics.Paint
import android.graphics.Path
import android.os.Bundle
import android.view.MotionEvent
import android.view.View
import gamer.browse.Cell
import gamer.browse.WorldMap
import gamer.screen.Zoom
import java.util.concurrent.Executors
import kotlin.math.hypot
import kotlin.math.ln

/** Where the album's photos were taken: dots over the outlines of the land. A tap shows the photos of a place. Nothing is fetched. */
class MapActivity : Activity() {
    private val work = Executors.newSingleThreadExecutor()

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        content(View(this))
        work.execute {
            try {
                val land = WorldMap.read(assets.open("land.json").use { it.readBytes().toString(Charsets.UTF_8) })
                val cells = Browser.open(this).use { it.cells() }
                runOnUiThread { content(MapView(this, land, cells, ::open)) }
            } catch (error: Throwable) {
                runOnUiThread { content(error) }
            }
        }
    }

    override fun onDestroy() {
        work.shutdown()
        super.onDestroy()
    }

    private fun open(cells: List<Cell>) {
        startActivity(ShelfActivity.place(this, resources.getString(R.string.photos_here, cells.sumOf { it.rows.size }), cells.map { it.square }))
    }
}

/** [open]: called with the cells under a finger. */
private class MapView(context: Context, map: WorldMap, private val cells: List<Cell>, private val open: (List<Cell>) -> Unit) : View(context) {
    private val land = Path().apply {
        for (ring in map.rings) {
            for ((at, point) in ring.withIndex()) if (at == 0) moveTo(point.x * WORLD, point.y * WORLD) else lineTo(point.x * WORLD, point.y * WORLD)
            close()
        }
    }
    private val points = cells.map { WorldMap.point(it.lat, it.lon) }
    private val unit = resources.displayMetrics.density
    private val ground = Paint().apply { color = 0xFFB9C4B0.toInt() }
    private val dot = Paint(Paint.ANTI_ALIAS_FLAG).apply { color = 0xD0C2410C.toInt() }
    private var zoom: Zoom? = null
    private val touch = ZoomTouch(context, { zoom }, { zoom = it; invalidate() }, { 3f }, tapped = ::tapped)

    init {
        setBackgroundColor(0xFFDCE6EE.toInt())
        contentDescription = resources.getString(R.string.photos_here, cells.sumOf { it.rows.size })
    }

    override fun onSizeChanged(width: Int, height: Int, oldWidth: Int, oldHeight: Int) {
        zoom = Zoom.whole(Zoom.Size(width.toFloat(), height.toFloat()), Zoom.Size(WORLD, WORLD), CLOSEST)
    }

    override fun onTouchEvent(event: MotionEvent): Boolean = touch.take(event)

    override fun onDraw(canvas: Canvas) {
        val shown = zoom ?: return
        canvas.save()
        canvas.translate(shown.x, shown.y)
        canvas.scale(shown.scale, shown.scale)
        canvas.clipRect(0f, 0f, WORLD, WORLD)
        for (turn in -1..1) { // land that crosses the antimeridian runs on beyond the map
            canvas.save()
            canvas.translate(turn * WORLD, 0f)
            canvas.drawPath(land, ground)
            canvas.restore()
        }
        canvas.restore()
        for ((at, cell) in cells.withIndex()) {
            val radius = minOf(7f, 2.4f + ln(cell.rows.size.toFloat()) / LN2 * 0.6f) * unit
            canvas.drawCircle(shown.x + points[at].x * WORLD * shown.scale, shown.y + points[at].y * WORLD * shown.scale, radius, dot)
        }
    }

    private fun tapped(x: Float, y: Float) {
        val shown = zoom ?: return
        val under = cells.indices.filter {
            hypot(shown.x + points[it].x * WORLD * shown.scale - x, shown.y + points[it].y * WORLD * shown.scale - y) < FINGER * unit
        }
        if (under.isNotEmpty()) open(under.map { cells[it] })
    }

    private companion object {
        const val WORLD = 1_024f // units of the drawing from west to east
        const val CLOSEST = 1_000f // times the whole world
        const val FINGER = 24 // density-independent pixels
        const val LN2 = 0.6931472f
    }
}
