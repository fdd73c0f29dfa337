package gamer.screen

import gamer.indexing.IndexReport
import gamer.search.Remark

/** The photos that the user lets the app see; [CHOSEN]: some that the user chose. */
enum class Access { ALL, CHOSEN, NONE }

/** What the button below the message does. */
enum class Press { NOTHING, ALLOW, SETTINGS, INDEX, MODEL }

/** The message of the search screen, and its button. */
data class Headline(val text: String, val press: Press = Press.NOTHING)

/**
 * What the phone has: [bundle] and [album] are there; [failure]: why the last indexing stopped; [isIndexing]: a run is in
 * progress; [isRefused]: the system does not ask the user for the photos any more; [pause]: what the last run waits for;
 * [time]: milliseconds of a clock that does not jump.
 */
data class Situation(
    val bundle: Boolean,
    val album: Boolean,
    val access: Access,
    val report: IndexReport = IndexReport(0, 0),
    val failure: String? = null,
    val isIndexing: Boolean = false,
    val isRefused: Boolean = false,
    val pause: Pause? = null,
    val time: Long = 0,
)

/**
 * The search screen without its views: which message it shows. The screen is drawn again every second; what a search said
 * stays until the next search.
 */
class Screen(private val folder: String, private val words: Words = English) {
    private var said: String? = null
    private var model: String? = null // what is said of the model that the user chose
    private var isUnpacking = false
    private var searches = 0
    private val pace = Pace()

    /** Returns the number of this search, to be handed back with its end. */
    fun searching(): Int {
        said = words.say(Say.SEARCHING)
        return ++searches
    }

    /** Takes a search's message, and returns whether it is that of the last search; an earlier one came too late. */
    fun ended(search: Int, message: String): Boolean {
        if (search == searches) said = message
        return search == searches
    }

    /** A packed model is being unpacked and checked. */
    fun unpacking() {
        isUnpacking = true
        model = words.say(Say.UNPACKING)
    }

    /** [failure]: why the model was not taken. */
    fun unpacked(failure: String?) {
        isUnpacking = false
        model = failure
    }

    fun headline(now: Situation): Headline {
        if (isUnpacking) return Headline(model.orEmpty())
        if (!now.bundle) {
            return Headline(model ?: words.say(Say.NO_MODEL, folder), Press.MODEL)
        }
        val press = press(now)
        val isWanted = said == null || now.isIndexing || press != Press.NOTHING // else the last search's message is enough
        return Headline(listOfNotNull(model, said, progress(now).takeIf { isWanted }).joinToString("\n"), press)
    }

    private fun press(now: Situation): Press = when {
        now.isIndexing -> Press.NOTHING
        now.access == Access.NONE -> if (now.isRefused) Press.SETTINGS else Press.ALLOW
        now.failure != null || now.report.total == 0 -> Press.INDEX
        else -> Press.NOTHING
    }

    private fun progress(now: Situation): String {
        val r = now.report
        val notes = listOfNotNull(
            if (r.unread > 0) words.say(Say.UNREAD, r.unread) else null,
            r.skipped.firstOrNull()?.let { if (r.skipped.size > 1) words.say(Say.LEFT_OUT_MORE, it, r.skipped.size - 1) else words.say(Say.LEFT_OUT_ONE, it) },
            if (now.access == Access.CHOSEN) words.say(Say.ONLY_CHOSEN) else null,
        )
        val head = when {
            now.access == Access.NONE && !now.isIndexing -> words.say(Say.NO_ACCESS)
            now.failure != null -> words.say(Say.STOPPED, now.failure)
            now.pause != null && !now.isIndexing && (r.total == 0 || r.done < r.total) -> waits(now.pause, r)
            r.total == 0 -> words.say(if (now.album) Say.OF_OTHERS else Say.NONE_YET)
            now.isIndexing && r.unsearched > 0 -> words.say(Say.PEOPLE_LEFT, r.unsearched)
            now.isIndexing -> words.say(Say.INDEXING, r.done, r.total) + left(now).orEmpty()
            else -> words.say(Say.INDEXED, r.done, r.total)
        }
        return if (notes.isEmpty()) head else "$head (${notes.joinToString("; ")})"
    }

    private fun waits(why: Pause, r: IndexReport): String = words.say(why.say) + if (r.total > 0) ": ${words.say(Say.INDEXED, r.done, r.total)}" else ""

    private fun left(now: Situation): String? = pace.left(now.time, now.report.done, now.report.total)?.let { ", ${Pace.said(it, words)}" }

    /**
     * The message of an answer. [count]: of the photos shown, or the number that was asked for; [here]: the probability that the album
     * holds what is meant; [remarks]: as of the answer, its note among them.
     */
    fun answer(count: Int, here: Double, remarks: List<Remark> = emptyList()): String {
        val notes = remarks.distinct().mapNotNull(::said)
        val isNone = count == 0 && notes.isNotEmpty() // "the nearest" would follow
        val head = if (here < 0.5 && !isNone) words.say(Say.DOUBTFUL, (here * 100).toInt()) else words.say(Say.FOUND, count)
        return if (notes.isEmpty()) head else "${notes.joinToString("; ")}\n$head"
    }

    /** A remark, null for one that only a trace shows. Of facets, each value that is not somebody's or a camera's name has words of its own. */
    private fun said(remark: Remark): String? {
        if (remark.code == "line") return remark.text // numbers and names
        val isOfNames = remark.code == "facet.camera" || remark.code.removePrefix("facet.") in Remark.ANYBODY && remark.name !in Remark.ANYBODY.values
        val key = if (remark.code.startsWith("facet.") && !isOfNames) "${remark.code}_${remark.name}" else remark.code
        val what = Say.entries.firstOrNull { it.name == "REMARK_${key.replace('.', '_').uppercase()}" } ?: return null
        return if ("%1\$s" in what.english) words.say(what, remark.name.ifEmpty { remark.text }, remark.n) else words.say(what, remark.n)
    }

    /** What a phone does not index, for the person who looks for it in vain. */
    val leftOut: String get() = words.say(Say.NOT_INDEXED)
}

/** What "Index now" does: a job that waits, for its backoff or its deadline, is put in front; one that runs is left alone. */
enum class Pressed(val say: Say) {
    STARTED(Say.BEGINS), MOVED_UP(Say.BEGINS_NOW), RUNNING(Say.IN_PROGRESS);

    companion object {
        fun of(isPending: Boolean, isRunning: Boolean): Pressed = if (isRunning) RUNNING else if (isPending) MOVED_UP else STARTED
    }
}
