package gamer.app

import android.content.Context
import android.view.GestureDetector
import android.view.MotionEvent
import android.view.ScaleGestureDetector
import gamer.screen.Zoom
import kotlin.math.abs

/**
 * Two fingers, a double tap and a drag move a [zoom], which [set] takes; a swipe over the whole picture tells [swiped] by how many;
 * a tap tells [tapped] where. [doubled]: the factor of a double tap.
 */
class ZoomTouch(
    context: Context, private val zoom: () -> Zoom?, private val set: (Zoom) -> Unit, private val doubled: (Zoom) -> Float,
    private val swiped: (Int) -> Unit = {}, private val tapped: (Float, Float) -> Unit = { _, _ -> },
) {
    private val pinch = ScaleGestureDetector(context, object : ScaleGestureDetector.SimpleOnScaleGestureListener() {
        override fun onScale(found: ScaleGestureDetector): Boolean = change { it.by(found.scaleFactor, found.focusX, found.focusY) }
    })
    private val touch = GestureDetector(context, object : GestureDetector.SimpleOnGestureListener() {
        override fun onDown(event: MotionEvent): Boolean = true

        override fun onScroll(from: MotionEvent?, to: MotionEvent, right: Float, down: Float): Boolean = change { it.moved(-right, -down) }

        override fun onDoubleTap(event: MotionEvent): Boolean = change { it.by(doubled(it), event.x, event.y) }

        override fun onSingleTapConfirmed(event: MotionEvent): Boolean {
            tapped(event.x, event.y)
            return true
        }

        override fun onFling(from: MotionEvent?, to: MotionEvent, right: Float, down: Float): Boolean {
            if (zoom()?.isWhole == false || abs(right) < 2 * abs(down)) return false
            swiped(if (right < 0) 1 else -1)
            return true
        }
    })

    fun take(event: MotionEvent): Boolean {
        pinch.onTouchEvent(event)
        return touch.onTouchEvent(event) || pinch.isInProgress
    }

    private fun change(next: (Zoom) -> Zoom): Boolean {
        set(next(zoom() ?: return false))
        return true
    }
}
