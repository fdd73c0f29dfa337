package gamer.app

import android.app.Activity
import android.content.ComponentCallbacks2
import android.content.Intent
import android.os.Bundle
import android.os.Handler
import android.os.Looper
import android.os.SystemClock
import android.text.InputType
import android.view.Menu
import android.view.MenuItem
import android.view.View
import android.view.inputmethod.EditorInfo
import android.view.inputmethod.InputMethodManager
import android.widget.Button
import android.widget.EditText
import android.widget.GridView
import android.widget.LinearLayout
import android.widget.TextView
import android.widget.Toast
import gamer.bundle.PackedBundle
import gamer.common.oneLine
import gamer.screen.Access
import gamer.screen.Press
import gamer.screen.Screen
import gamer.screen.Situation
import java.io.FileNotFoundException
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
    private lateinit var words: AppWords
    private lateinit var model: Screen
    private var finder: Finder? = null // used on the thread of `work` only
    private var last: Found? = null
    private lateinit var choice: Choice
    private val tick = Runnable { watch() }
    private var asked = "" // the query of the last search
    private var isRefused = false // as the last answer to the question for photos said

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        words = AppWords(this)
        model = Screen(Files(this).toString(), words)
        state = TextView(this).apply { setPadding(32, 24, 32, 8) }
        action = Button(this).apply { visibility = View.GONE }
        line = EditText(this).apply {
            setHint(R.string.hint)
            inputType = InputType.TYPE_CLASS_TEXT
            imeOptions = EditorInfo.IME_ACTION_SEARCH
            setOnEditorActionListener { _, _, _ -> search(); true }
        }
        grid = GridView(this).apply {
            numColumns = 3
            setOnItemClickListener { _, _, at, _ -> last?.let { startActivity(PhotoActivity.intent(context, it.photos, at)) } }
        }
        choice = Choice(this, grid)
        content(LinearLayout(this).apply {
            orientation = LinearLayout.VERTICAL
            for (view in listOf(line, state, action)) addView(view)
            addView(grid, LinearLayout.LayoutParams(LinearLayout.LayoutParams.MATCH_PARENT, 0, 1f))
        })
        val query = if (saved == null) intent.getStringExtra(QUERY) else saved.getString(QUERY) // the intent's: ci-emulator.sh
        if (!query.isNullOrEmpty()) {
            line.setText(query)
            search()
        }
    }

    override fun onSaveInstanceState(kept: Bundle) {
        if (last != null) kept.putString(QUERY, asked)
        super.onSaveInstanceState(kept)
    }

    /** The whole app is out of sight; a photo that is opened from here is not that. */
    override fun onTrimMemory(level: Int) {
        super.onTrimMemory(level)
        if (level < ComponentCallbacks2.TRIM_MEMORY_UI_HIDDEN) return
        Thumbnails.forget()
        leaveOut()
        Gallery.forget()
        work.execute { finder?.rest() }
    }

    override fun onResume() {
        super.onResume()
        leaveOut()
        watch()
    }

    override fun onPause() {
        screen.removeCallbacks(tick)
        super.onPause()
    }

    override fun onDestroy() {
        work.execute { finder?.close() }
        work.shutdown()
        super.onDestroy()
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        for ((at, choice) in choices.withIndex()) menu.add(0, at, at, choice.first)
        return true
    }

    private val choices: List<Pair<Int, () -> Unit>> = listOf(
        R.string.timeline to { browse(ShelfActivity.timeline(this)) },
        R.string.people to ::people,
        R.string.map to { browse(Intent(this, MapActivity::class.java)) },
        R.string.trace to ::explain,
        R.string.index to ::index,
        R.string.choose to { Permissions.ask(this) },
        R.string.choose_model to ::chooseModel,
        R.string.reword to ::reword,
        R.string.check to ::check,
        R.string.benchmark to { startActivity(Intent(this, BenchActivity::class.java)) },
    )

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        val (_, chosen) = choices.getOrNull(item.itemId) ?: return super.onOptionsItemSelected(item)
        chosen()
        return true
    }

    /** Lets the language model reword searches, or no longer. */
    private fun reword() {
        val isPossible = Wish.REWORDING.isPossible(Files(this).bundle)
        if (isPossible) Wish.REWORDING.choose(this, !Wish.REWORDING.isChosen(this))
        val says = if (!isPossible) R.string.reword_none else if (Wish.REWORDING.isChosen(this)) R.string.reword_on else R.string.reword_off
        Toast.makeText(this, says, Toast.LENGTH_SHORT).show()
    }

    /** What is forgotten there goes from the file with the last of its readers. */
    private fun people() {
        work.execute { finder?.rest() }
        browse(Intent(this, PeopleActivity::class.java))
    }

    private fun browse(to: Intent) {
        if (Files(this).hasAlbum()) startActivity(to) else show()
    }

    /** Checks the album file, and repairs what can be; on the thread of the searches, which wait for it. */
    private fun check() {
        if (!Files(this).hasAlbum()) return show()
        Toast.makeText(this, R.string.checking, Toast.LENGTH_SHORT).show()
        work.execute {
            val lines = try {
                Browser.check(this)
            } catch (error: Exception) {
                listOf(oneLine(error))
            }
            screen.post { startActivity(TraceActivity.intent(this, lines)) }
        }
    }

    override fun onRequestPermissionsResult(code: Int, permissions: Array<String>, results: IntArray) {
        isRefused = Permissions.isRefused(this)
        if (Permissions.access(this) != Access.NONE) IndexJob.schedule(this)
        show()
    }

    override fun onStart() {
        super.onStart()
        if (Permissions.access(this) == Access.NONE) return
        Permissions.askForVideos(this)
        IndexJob.watch(this)
        // Changes since a restart of the phone, or while the app was stopped by hand, were not noticed.
        if (Files(this).hasBundle() && !IndexJob.isRunning) IndexJob.schedule(this)
    }

    /** Asks for the file that `gamer pack` wrote, wherever the phone has it. */
    private fun chooseModel() {
        val wanted = Intent(Intent.ACTION_OPEN_DOCUMENT).addCategory(Intent.CATEGORY_OPENABLE).setType("*/*")
        startActivityForResult(wanted, MODEL)
    }

    override fun onActivityResult(code: Int, result: Int, data: Intent?) {
        if (Gallery.took(code, result)) return leaveOut()
        val uri = data?.data ?: return
        if (code != MODEL || result != RESULT_OK) return
        model.unpacking()
        IndexJob.stop(this)
        show()
        work.execute {
            val failure = try {
                finder?.close()
                finder = null
                val input = contentResolver.openInputStream(uri) ?: throw FileNotFoundException(uri.toString())
                input.use { PackedBundle.unpack(it, uri.lastPathSegment ?: uri.toString(), Files(this).bundle, Files(this).before) }
                null
            } catch (error: Exception) {
                oneLine(error)
            }
            screen.post {
                model.unpacked(failure)
                IndexJob.stop(this) // one that began meanwhile, with the model before
                if (Files(this).hasBundle() && Permissions.access(this) != Access.NONE) IndexJob.schedule(this)
                show()
            }
        }
    }

    private fun index() {
        Toast.makeText(this, words.say(IndexJob.schedule(this).say), Toast.LENGTH_SHORT).show()
        show()
    }

    /** Shows what is still needed, or the progress of indexing; once a second while the screen is visible. */
    private fun watch() {
        show()
        screen.postDelayed(tick, 1_000)
    }

    private fun show() {
        val files = Files(this)
        val now = Situation(
            files.hasBundle(), files.hasAlbum(), Permissions.access(this), Progress.report(this), Progress.failure(this), IndexJob.isRunning, isRefused,
            Progress.pause(this), SystemClock.elapsedRealtime(),
        )
        val said = model.headline(now)
        state.text = said.text
        action.visibility = if (said.press == Press.NOTHING) View.GONE else View.VISIBLE
        NAMES[said.press]?.let(action::setText)
        action.setOnClickListener { press(said.press) }
        line.isEnabled = now.bundle && now.album
    }

    private fun press(what: Press) = when (what) {
        Press.ALLOW -> Permissions.ask(this)
        Press.SETTINGS -> startActivity(Permissions.settings(this))
        Press.INDEX -> index()
        Press.MODEL -> chooseModel()
        Press.NOTHING -> Unit
    }

    private fun search() {
        val query = line.text.toString()
        val number = model.searching()
        asked = query
        (getSystemService(INPUT_METHOD_SERVICE) as InputMethodManager).hideSoftInputFromWindow(line.windowToken, 0)
        grid.requestFocus()
        show()
        work.execute {
            try {
                if (finder?.runner != Runner.chosen(this) || finder?.bundle != Cores.searched(Files(this))) {
                    finder?.close()
                    finder = Cores.search(this)
                }
                val opened = finder!!
                val found = opened.search(query, Wish.REWORDING.isChosen(this))
                if (IndexJob.isRunning) opened.rest() // its album's log would grow until the next search
                screen.post { ended(number, found, model.answer(found.count, found.here, found.remarks)) }
            } catch (error: Throwable) { // a library that cannot be loaded is an Error
                screen.post { ended(number, null, oneLine(error)) }
            }
        }
    }

    private fun ended(search: Int, found: Found?, message: String) {
        if (!model.ended(search, message)) return
        last = found
        fill()
        show()
    }

    /** Shows the answer without photos that were deleted, though the album may not have followed yet. */
    private fun fill() {
        choice.end()
        last = last?.run { Found(photos.filterNot(Gallery::isGone), here, remarks, count, trace) }
        grid.adapter = PhotoGrid(this, last?.photos.orEmpty())
    }

    private fun leaveOut() {
        if (last?.photos.orEmpty().any(Gallery::isGone)) fill()
    }

    private fun explain() {
        startActivity(TraceActivity.intent(this, last?.trace.orEmpty() + model.leftOut))
    }

    private companion object {
        const val MODEL = 3
        const val QUERY = "query"
        val NAMES = mapOf(
            Press.ALLOW to R.string.allow, Press.SETTINGS to R.string.allow_in_settings, Press.INDEX to R.string.index,
            Press.MODEL to R.string.choose_model,
        )
    }
}
