package gamer.screen

/**
 * How long an indexing will still take, by the photos that it was seen to finish in the last [WINDOW] ms. Looked at again
 * and again, so that the estimate follows a phone that becomes slower. Says nothing before [LEAST] photos were seen.
 */
class Pace {
    private val seen = ArrayDeque<Pair<Long, Int>>() // ms, photos done

    /** [now]: milliseconds of a clock that does not jump. Returns the seconds left, or null if they are not known yet. */
    fun left(now: Long, done: Int, total: Int): Long? {
        val last = seen.lastOrNull()
        val isNew = last == null || done != last.second
        if (last != null && (done < last.second || isNew && now - last.first > WINDOW)) seen.clear() // another run, or it paused
        if (isNew) seen.addLast(now to done)
        while (seen.size > 2 && now - seen.first().first > WINDOW) seen.removeFirst()
        val (begin, first) = seen.first()
        val photos = seen.last().second - first
        if (photos < LEAST || seen.last().first <= begin) return null
        return (seen.last().first - begin) * (total - done).coerceAtLeast(0) / photos / 1_000
    }

    companion object {
        const val WINDOW = 300_000L
        const val LEAST = 16

        /** "less than a minute left", "about 12 minutes left", "about 3 hours left". */
        fun said(seconds: Long, words: Words): String {
            val minutes = (seconds + 30) / 60
            return when {
                seconds < 60 -> words.say(Say.SECONDS_LEFT)
                minutes < 2 -> words.say(Say.MINUTE_LEFT)
                minutes < 90 -> words.say(Say.MINUTES_LEFT, minutes)
                else -> words.say(Say.HOURS_LEFT, (minutes + 30) / 60)
            }
        }
    }
}
