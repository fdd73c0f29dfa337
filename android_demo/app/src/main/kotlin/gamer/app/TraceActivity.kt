package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.graphics.Typeface
import android.os.Bundle
import android.widget.ScrollView
import android.widget.TextView

/** Shows lines of text: the trace of a search, or the reasons for a hit. */
class TraceActivity : Activity() {
    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        val text = TextView(this).apply {
            text = intent.getStringArrayExtra(LINES)?.joinToString("\n\n").orEmpty()
            typeface = Typeface.MONOSPACE
            setTextIsSelectable(true)
            setPadding(32, 32, 32, 32)
        }
        content(ScrollView(this).apply { addView(text) })
    }

    companion object {
        private const val LINES = "lines"

        fun intent(context: Context, lines: List<String>): Intent = Intent(context, TraceActivity::class.java).putExtra(LINES, lines.toTypedArray())
    }
}
