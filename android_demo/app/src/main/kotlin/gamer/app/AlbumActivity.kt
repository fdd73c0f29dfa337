package gamer.app

import android.app.Activity
import gamer.album.AlbumWriter
import gamer.indexing.Naming
import java.util.concurrent.Executors

/**
 * A screen of the album as it is now: read anew, on a thread of its own, whenever the screen is shown, as rows of an older state may
 * be other photos'.
 */
abstract class AlbumActivity : Activity() {
    protected val work = Executors.newSingleThreadExecutor()!!

    /** Used on the thread of [work], and for what squares show. */
    protected var browser: Browser? = null
        private set

    @Volatile private var isShown = false

    /** Reads what is shown, on the thread of [work]; returns what shows it, on the screen's. */
    protected abstract fun read(album: Browser): () -> Unit

    override fun onStart() {
        super.onStart()
        isShown = true
        load()
    }

    protected fun load(): Unit = work.execute {
        browser?.close()
        if (!isShown) return@execute
        try {
            onScreen(read(Browser.open(this).also { browser = it }))
        } catch (error: Throwable) {
            onScreen { content(error) }
        }
    }

    /**
     * Changes who is who. The reader is closed meanwhile: what is deleted goes from the file with the last of its readers. [ended]: told,
     * on the screen's thread, why it failed, or null.
     */
    protected fun change(change: Naming.(AlbumWriter) -> Unit, ended: (Throwable?) -> Unit): Unit = work.execute {
        val failure = try {
            browser?.close()
            Cores.naming(this, change)
            null
        } catch (error: Throwable) {
            error
        }
        onScreen { ended(failure) }
    }

    /** While a reader is open the log of the album grows, and no copy takes its place. */
    override fun onStop() {
        isShown = false
        work.execute { browser?.close() }
        super.onStop()
    }

    override fun onDestroy() {
        work.shutdown()
        super.onDestroy()
    }
}
