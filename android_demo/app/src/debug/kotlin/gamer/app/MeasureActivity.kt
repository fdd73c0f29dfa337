package gamer.app

import android.app.Activity
import android.os.Bundle
import android.os.SystemClock
import android.widget.TextView
import gamer.common.oneLine
import java.io.File
import java.util.Locale
import org.json.JSONObject

/**
 * What `gamer bench device --device connected` starts: measures a bundle that the cable brought, without a finger on the screen,
 * and ends. It writes [ID].json into the app's files, `{"error": …}` if it cannot measure or is left, and tells how far it is in progress.txt.
 */
class MeasureActivity : Activity() {
    @Volatile private var isLeft = false
    private var told = 0L

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        val text = TextView(this).apply { setText(R.string.measuring); keepScreenOn = true }
        content(text)
        val id = intent.getStringExtra(ID).orEmpty()
        if (!id.matches(Regex("[0-9a-f]{16}"))) return finish() // it becomes a file's name
        Thread { measure(id) }.start()
    }

    override fun onDestroy() {
        isLeft = true
        super.onDestroy()
    }

    private fun measure(id: String) {
        val made = try {
            measured().json()
        } catch (error: Throwable) { // a library that cannot be loaded is an Error
            JSONObject().put("error", oneLine(error))
        }
        val aside = File(filesDir, "$id.part")
        aside.writeText(made.toString())
        aside.renameTo(File(filesDir, "$id.json"))
        runOnUiThread { finish() }
    }

    private fun measured() = intent.run {
        // SQLite writes beside a file that it opens, and what was brought belongs to the cable.
        val album = getStringExtra("album")?.let { File(it).copyTo(File(cacheDir, "measured.gamer"), overwrite = true) }
        val runner = Runner.valueOf(getStringExtra("runner").orEmpty().uppercase(Locale.ROOT).replace("ONNX", "PROCESSOR"))
        if (runner.backend == null) throw IllegalArgumentException("this build has no ${getStringExtra("runner")}")
        try {
            Cores.measure(
                this@MeasureActivity, File(getStringExtra("bundle").orEmpty()), album, runner, getIntExtra("rounds", 20), getBooleanExtra("ops", false), getIntExtra("threads", 0), ::tell,
            )
        } finally {
            album?.delete()
        }
    }

    /** At most once a second: a file is written. */
    private fun tell(said: String) {
        if (isLeft) throw InterruptedException("the measurement was left")
        val now = SystemClock.elapsedRealtime()
        if (now - told < 1_000) return
        told = now
        File(filesDir, "progress.txt").writeText(said)
    }

    private companion object {
        const val ID = "id"
    }
}
