package gamer.app

import android.content.Context

/** How far indexing is, kept in the app's preferences, so that the screen and a job in another process life tell the same. */
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
