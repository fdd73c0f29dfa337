package gamer.app

import android.app.Activity
import android.view.View
import android.widget.FrameLayout

/** Shows [view] as the activity's content, inside the system's bars: from Android 15 on an app draws beneath them unless it minds. */
fun Activity.content(view: View) {
    // A frame around it takes the bars' insets as its padding: a view would lose its own.
    setContentView(FrameLayout(this).apply {
        fitsSystemWindows = true
        addView(view)
    })
}
