package gamer.screen

import gamer.indexing.IndexReport

/** The photos that the user lets the app see; [CHOSEN]: some that the user chose. */
enum class Access { ALL, CHOSEN, NONE }

/** What the button below the message does. */
enum class Press { NOTHING, ALLOW, INDEX }

/** The message of the search screen, and its button. */
data class Headline(val text: String, val press: Press = Press.NOTHING)

/** What the phone has: [bundle] and [album] are there; [failure]: why the last indexing stopped; [isIndexing]: a run is in progress. */
data class Situation(
    val bundle: Boolean,
    val album: Boolean,
    val access: Access,
    val report: IndexReport = IndexReport(0, 0),
    val failure: String? = null,
    val isIndexing: Boolean = false,
)

/**
 * The search screen without its views: which message it shows. The screen is drawn again every second; what a search said
 * stays until the next search.
 */
class Screen(private val folder: String) {
    private var said: String? = null
    private var searches = 0

    /** Returns the number of this search, to be handed back with its end. */
    fun searching(): Int {
        said = "Searching…"
        return ++searches
    }

    /** Takes a search's message, and returns whether it is that of the last search; an earlier one came too late. */
    fun ended(search: Int, message: String): Boolean {
        if (search == searches) said = message
        return search == searches
    }

    fun headline(now: Situation): Headline = when {
        !now.bundle -> Headline("No model bundle. Push one with:\nadb push out/pocket/. $folder/bundle/")
        now.access == Access.NONE && !now.album -> Headline("No photo may be seen yet. Photos never leave this phone.", Press.ALLOW)
        !now.album && now.failure == null && !now.isIndexing && now.report.total == 0 -> Headline("No photos indexed yet.", Press.INDEX)
        now.failure != null && said == null -> Headline(progress(now), Press.INDEX)
        else -> Headline(listOfNotNull(said, progress(now).takeIf { said == null || now.isIndexing || now.failure != null }).joinToString("\n"))
    }

    private fun progress(now: Situation): String {
        val r = now.report
        val notes = listOfNotNull(
            if (r.unread > 0) "${r.unread} could not be read and are tried again" else null,
            if (r.skipped > 0) "${r.skipped} ended the app twice and are left out" else null,
            if (now.access == Access.CHOSEN) "only those that you chose" else null,
        )
        val head = when {
            now.failure != null -> "Indexing stopped: ${now.failure}"
            r.total == 0 -> "No photos indexed yet"
            now.isIndexing -> "Indexing: ${r.done} of ${r.total} photos"
            else -> "${r.done} of ${r.total} photos indexed"
        }
        return if (notes.isEmpty()) head else "$head (${notes.joinToString("; ")})"
    }

    companion object {
        /** The message of an answer. [here]: the probability that the album holds what is meant. */
        fun answer(count: Int, here: Double): String =
            if (here < 0.5) "Probably not in this album (${(here * 100).toInt()} %); the nearest:" else "$count found"
    }
}

/** What "Index now" does: a job that waits, for its backoff or its deadline, is put in front; one that runs is left alone. */
enum class Pressed(val message: String) {
    STARTED("Indexing begins"),
    MOVED_UP("Indexing begins now, instead of later"),
    RUNNING("Indexing is in progress");

    companion object {
        fun of(isPending: Boolean, isRunning: Boolean): Pressed = if (isRunning) RUNNING else if (isPending) MOVED_UP else STARTED
    }
}
