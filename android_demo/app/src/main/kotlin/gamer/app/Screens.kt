package gamer.app

import android.app.Activity
import android.view.View
import android.widget.FrameLayout
import android.widget.TextView
import gamer.common.oneLine

private val FRAME = View.generateViewId()

/**
 * Shows [view] as the activity's content, inside the system's bars: from Android 15 on an app draws beneath them unless it
 * minds. To be called in `onCreate`, and again for another view.
 */
fun Activity.content(view: View) {
    // A frame around it takes the bars' insets as its padding: a view would lose its own. The frame stays, because the system
    // tells a later one of no insets.
    val frame = findViewById(FRAME) as FrameLayout? ?: FrameLayout(this).apply {
        id = FRAME
        fitsSystemWindows = true
        setContentView(this)
    }
    frame.removeAllViews()
    frame.addView(view)
}

/** Does [work] on the screen's thread, unless the screen is gone by then. */
fun Activity.onScreen(work: () -> Unit) = runOnUiThread { if (!isDestroyed) work() }

/** Shows why there is nothing else to be seen. */
fun Activity.content(error: Throwable) = content(TextView(this).apply { setPadding(32, 32, 32, 32); text = oneLine(error) })
