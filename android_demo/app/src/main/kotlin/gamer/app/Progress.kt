package gamer.app

import android.content.Context
import android.content.SharedPreferences
import gamer.indexing.IndexReport
import gamer.screen.Pause

/**
 * The progress of indexing. It is stored in the app's preferences, because the job may run in an earlier or
 * later process than the screen.
 */
object Progress {
    private fun kept(context: Context) = context.getSharedPreferences("progress", Context.MODE_PRIVATE)

    fun report(context: Context): IndexReport =
        kept(context).run { IndexReport(getInt("done", 0), getInt("total", 0), getInt("unread", 0), lines("left out"), unsearched = getInt("unsearched", 0)) }

    private fun SharedPreferences.lines(key: String) = getString(key, null).orEmpty().split('\n').filter { it.isNotEmpty() }

    /** What the last run waits for, or null. */
    fun pause(context: Context): Pause? = kept(context).getString("pause", null)?.let { name -> Pause.values().firstOrNull { it.name == name } }

    fun paused(context: Context, why: Pause) = kept(context).edit().putString("pause", why.name).apply()

    /** Why the last run failed, or null. */
    fun failure(context: Context): String? = kept(context).getString("failure", null)

    fun set(context: Context, report: IndexReport) = kept(context).edit().putInt("done", report.done).putInt("total", report.total)
        .putInt("unread", report.unread).putInt("unsearched", report.unsearched).putString("left out", report.skipped.joinToString("\n")).remove("failure").remove("pause").apply()

    fun failed(context: Context, message: String) = kept(context).edit().putString("failure", message).apply()
}
