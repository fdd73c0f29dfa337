package gamer.screen

/**
 * How long an indexing will still take, by the photos that it was seen to finish in the last [WINDOW] ms. Looked at again
 * and again, so that the estimate follows a phone that becomes slower. Says nothing before [LEAST] photos were seen.
 */
class Pace {
    private val seen = ArrayDeque<Pair<Long, Int>>() // ms, photos done

    /** [now]: milliseconds of a clock that does not jump. Returns the seconds left, or null if they are not known yet. */
    fun left(now: Long, done: Int, total: Int): Long? {
        if (seen.isNotEmpty() && done < seen.last().second) seen.clear() // another run
        if (seen.isEmpty() || done > seen.last().second) seen.addLast(now to done)
        while (seen.size > 2 && now - seen.first().first > WINDOW) seen.removeFirst()
        val (begin, first) = seen.first()
        val photos = seen.last().second - first
        if (photos < LEAST || seen.last().first <= begin) return null
        return (seen.last().first - begin) * (total - done).coerceAtLeast(0) / photos / 1_000
    }

    companion object {
        const val WINDOW = 300_000L
        const val LEAST = 16

        /** "less than a minute", "about 12 minutes", "about 3 hours". */
        fun said(seconds: Long): String {
            val minutes = (seconds + 30) / 60
            return when {
                seconds < 60 -> "less than a minute"
                minutes < 2 -> "about a minute"
                minutes < 90 -> "about $minutes minutes"
                else -> "about ${(minutes + 30) / 60} hours"
            }
        }
    }
}
