package gamer.app

import android.content.Context

/**
 * The progress of indexing. It is stored in the app's preferences, because the job may run in an earlier or
 * later process than the screen.
 */
class Progress(val done: Int, val total: Int, val failure: String?) {
    override fun toString(): String = when {
        failure != null -> "Indexing stopped: $failure"
        total == 0 -> "No photos indexed yet"
        done < total -> "Indexing: $done of $total photos"
        else -> "$total photos indexed"
    }

    companion object {
        private fun kept(context: Context) = context.getSharedPreferences("progress", Context.MODE_PRIVATE)

        fun get(context: Context): Progress = kept(context).run { Progress(getInt("done", 0), getInt("total", 0), getString("failure", null)) }

        fun set(context: Context, done: Int, total: Int) = kept(context).edit().putInt("done", done).putInt("total", total).remove("failure").apply()

        fun failed(context: Context, message: String) = kept(context).edit().putString("failure", message).apply()
    }
}
