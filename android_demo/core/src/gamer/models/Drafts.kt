package gamer.models

/** The tokens that must have stood together before, at the most and at the least. */
private const val LONGEST = 3
private const val SHORTEST = 2

/** The most tokens of a guess. */
private const val MOST = 7

/** The most steps without a guess after one that was wrong. */
private const val LONGEST_PAUSE = 32

/**
 * What will probably come next in a text that grows: the tokens that followed the last few where these stood
 * before, because a refinement and a quotation repeat what they read. Right guesses make the next longer, wrong
 * ones shorter and rarer.
 */
class Drafts(prompt: List<Int>) {
    private val ids = ArrayList<Int>()
    private val after = HashMap<List<Int>, Int>()
    private var size = 3
    private var pause = 1
    private var wait = 0

    init {
        grow(prompt)
    }

    /** At most [most] tokens that may follow the text, which goes on with [new]; often none. */
    fun guess(new: List<Int>, most: Int): List<Int> {
        grow(new)
        wait -= 1
        if (wait > 0) return emptyList()
        val place = (LONGEST downTo SHORTEST).firstNotNullOfOrNull { after[ids.takeLast(it)]?.takeIf { place -> place < ids.size } } ?: return emptyList()
        return ids.drop(place).take(minOf(size, most).coerceAtLeast(0))
    }

    /** Learns how many tokens of a guess were right. */
    fun judge(guessed: Int, right: Int) {
        size = if (right == guessed) minOf(MOST, 2 * size + 1) else maxOf(1, right)
        if (right > 0) {
            pause = 1
        } else {
            wait = pause + 1
            pause = minOf(LONGEST_PAUSE, 2 * pause)
        }
    }

    private fun grow(new: List<Int>) {
        for (token in new) {
            // What ended before this token is now followed by it; the newest place is the best guess.
            for (count in SHORTEST..LONGEST) if (ids.size >= count) after[ids.takeLast(count)] = ids.size
            ids.add(token)
        }
    }
}

/**
 * A decoder behind a prompt, whose logits are [begun]: reads the tokens that were chosen, and with them a guess at
 * the next. A wrong guess is cut from the cache, so that the text is the same as without. [drafts]: null reads one
 * token a call.
 */
internal class Ahead(private val decoder: BoundDecoder, private val slots: Int, private val embed: (IntArray) -> FloatArray, begun: FloatArray, private val drafts: Drafts?) {
    private val begin = decoder.past
    private var read = emptyList<Int>()
    private var rows = mapOf(0 to begun)
    private var guess = 0 until 0
    private var told = 0

    /** The tokens that were guessed, and those of them that were chosen. */
    var drafted = 0
        private set
    var right = 0
        private set

    /** Whether the decoder can read [count] chosen tokens. */
    fun hasRoom(count: Int): Boolean = begin + count <= slots

    /** The logits after [ids], the tokens chosen so far. */
    fun logits(ids: List<Int>): FloatArray {
        val known = common(ids, read)
        rows[known]?.takeIf { known == ids.size }?.let { return it }
        cut(known)
        var unread = ids.drop(known)
        if (unread.size > 1 && begin + ids.size == slots) {
            // No token shares a call with the last slot's, so that it always has the same numbers.
            forward(unread.dropLast(1), 1)
            unread = unread.takeLast(1)
        }
        val next = guessed(ids)
        rows = forward(unread + next, 1 + next.size).withIndex().associate { (n, row) -> ids.size + n to row }
        read = ids + next
        guess = ids.size until read.size
        return rows.getValue(ids.size)
    }

    /** Cuts what was guessed and not chosen. */
    fun end(ids: List<Int>) = cut(common(ids, read))

    private fun forward(ids: List<Int>, last: Int): List<FloatArray> = decoder.forward(embed(ids.toIntArray()), ids, last)

    private fun guessed(ids: List<Int>): List<Int> {
        val new = ids.drop(told)
        told = ids.size
        val guess = drafts?.guess(new, minOf(MOST, slots - 1 - begin - ids.size)).orEmpty()
        return if (guess.isNotEmpty() && decoder.isAlike) guess else emptyList()
    }

    private fun cut(known: Int) {
        if (!guess.isEmpty()) {
            val chosen = minOf(known, guess.last + 1) - guess.first
            drafts?.judge(guess.count(), chosen)
            drafted += guess.count()
            right += chosen
            guess = 0 until 0
        }
        decoder.cut(begin + known)
    }
}

/** The length of the longest common beginning. */
fun common(a: List<Int>, b: List<Int>): Int = a.zip(b).takeWhile { (x, y) -> x == y }.size
