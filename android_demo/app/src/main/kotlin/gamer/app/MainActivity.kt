package gamer.app

import android.app.Activity
import android.content.Intent
import android.os.Bundle
import android.os.Handler
import android.os.Looper
import android.text.InputType
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.view.inputmethod.EditorInfo
import android.widget.Button
import android.widget.EditText
import android.widget.GridView
import android.widget.LinearLayout
import android.widget.TextView
import java.util.concurrent.Executors

/**
 * The search screen: an input line, a grid of hits, and above it a message about what is still needed for a
 * search.
 */
class MainActivity : Activity() {
    private val work = Executors.newSingleThreadExecutor()
    private val screen = Handler(Looper.getMainLooper())
    private lateinit var state: TextView
    private lateinit var action: Button
    private lateinit var line: EditText
    private lateinit var grid: GridView
    private var finder: Finder? = null // used on the thread of `work` only
    private var last: Found? = null
    private var visible = false

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        state = TextView(this).apply { setPadding(32, 24, 32, 8) }
        action = Button(this).apply { visibility = View.GONE }
        line = EditText(this).apply {
            hint = "coffee I photographed last spring"
            inputType = InputType.TYPE_CLASS_TEXT
            imeOptions = EditorInfo.IME_ACTION_SEARCH
            setOnEditorActionListener { _, _, _ -> search(); true }
        }
        grid = GridView(this).apply {
            numColumns = 3
            setOnItemClickListener { _, _, at, _ -> explain(at) }
        }
        setContentView(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            for (view in listOf(line, state, action)) addView(view)
            addView(grid, LinearLayout.LayoutParams(LinearLayout.LayoutParams.MATCH_PARENT, 0, 1f))
        })
    }

    override fun onResume() {
        super.onResume()
        visible = true
        watch()
    }

    override fun onPause() {
        visible = false
        super.onPause()
    }

    override fun onDestroy() {
        work.execute { finder?.close() }
        work.shutdown()
        super.onDestroy()
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        for ((at, name) in listOf("Benchmark", "What was done", "Index now", "Choose photos").withIndex()) menu.add(0, at, at, name)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        when (item.itemId) {
            0 -> startActivity(Intent(this, BenchActivity::class.java))
            1 -> explain(null)
            2 -> IndexJob.schedule(this)
            else -> Access.ask(this)
        }
        return true
    }

    override fun onRequestPermissionsResult(code: Int, permissions: Array<String>, results: IntArray) {
        if (Access.of(this) != Access.NONE) IndexJob.schedule(this)
        show()
    }

    /** Shows what is still needed, or the progress of indexing; once a second while the screen is visible. */
    private fun watch() {
        if (!visible) return
        show()
        screen.postDelayed(::watch, 1_000)
    }

    private fun show() {
        val files = Files(this)
        val progress = Progress.get(this)
        val access = Access.of(this)
        when {
            !files.hasBundle() -> tell("No model bundle. Push one with:\nadb push out/pocket/. $files/bundle/", null) {}
            access == Access.NONE && !files.hasAlbum() -> tell("No photo may be seen yet. Photos never leave this phone.", "Allow photos") { Access.ask(this) }
            !files.hasAlbum() && progress.total == 0 -> tell("No photos indexed yet.", "Index now") { IndexJob.schedule(this) }
            !files.hasAlbum() -> tell("$progress", null) {}
            else -> tell(if (access == Access.CHOSEN) "$progress (only those that you chose)" else last?.let(::headline) ?: "$progress", null) {}
        }
        line.isEnabled = files.hasBundle() && files.hasAlbum()
    }

    private fun headline(found: Found): String = if (found.here < 0.5) "Probably not in this album (${(found.here * 100).toInt()} %); the nearest:" else "${found.photos.size} found"

    private fun tell(text: String, button: String?, pressed: () -> Unit) {
        state.text = text
        action.visibility = if (button == null) View.GONE else View.VISIBLE
        action.text = button ?: ""
        action.setOnClickListener { pressed() }
    }

    private fun search() {
        val query = line.text.toString()
        state.text = "Searching…"
        work.execute {
            try {
                // Opened again for each search, because the job may have added photos since.
                finder?.close()
                val opened = Cores.search(this)
                finder = opened
                val found = opened.search(query)
                screen.post { shown(found) }
            } catch (error: Exception) {
                screen.post { last = null; state.text = error.message ?: error.javaClass.simpleName }
            }
        }
    }

    private fun shown(found: Found) {
        last = found
        grid.adapter = PhotoGrid(this, found.photos)
        show()
    }

    private fun explain(at: Int?) {
        val found = last ?: return
        val lines = if (at == null) found.trace else found.photos[at].run { listOf(id, memory ?: "", "likely %.0f %%".format(probability * 100), why) }
        startActivity(Intent(this, TraceActivity::class.java).putExtra(TraceActivity.LINES, lines.toTypedArray()))
    }
}
