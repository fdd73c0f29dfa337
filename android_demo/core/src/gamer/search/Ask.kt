package gamer.search

import gamer.questions.Wanted

/**
 * A question answered in several steps by rules (runtime/agent/rules.py): the photos in relation to an anchor ("the last one before the
 * wedding"), and what they tell where a time, a place or a person is asked for. Of other questions, and where nothing is found, what a
 * search finds.
 */
internal class Ask(private val engine: Engine, private val find: Find) {
    private val told = Told(engine)

    fun answer(): Answer {
        val question = find.question()
        val wanted = find.wanted(question)
        val isAnchored = wanted.anchor.isNotEmpty()
        if (question.grouped != null || !isAnchored && wanted.asks !in Told.ASKED) return find.answer()
        val related = Related(engine, wanted, find.within(question), find::part)
        val known = if (isAnchored) IntArray(0) else find.rowsOf(wanted.target)
        val isOrdered = wanted.order != 0 && !wanted.isOccasion && known.isEmpty()
        val led = if (isAnchored || isOrdered) related.rows() else related.ordered(related.byTime(known.toList()))
        if (isAnchored && led.isEmpty()) return other(related.remark)
        if (isAnchored) find.remarks += related.remark
        val (rows, fact) = if (known.isNotEmpty()) led to told.ofAll(wanted, led) else if (wanted.asks in Told.ASKED) fact(wanted, led) else led to ""
        if (fact.isEmpty() && !isAnchored) return other(null)
        return find.shown(wanted, led.ifEmpty { rows }, find.remarks, Remark("line", fact).takeIf { fact.isNotEmpty() })
    }

    /** The photos nearest to the question, those to which its relation leads first, and what they tell; "" where that is not sure. */
    private fun fact(wanted: Wanted, led: List<Int>): Pair<List<Int>, String> {
        // A time or place is that of what is asked about, whose other words would only draw others near.
        val about = if (wanted.asks != "who" && wanted.target.isNotEmpty()) wanted.target else find.query
        val nearest = find.part(about, Told.EVIDENCE, null)
        val rows = (led.take(LED) + nearest.hits.map { it.row }).distinct().take(Told.EVIDENCE)
        val isSure = led.isNotEmpty() || Membership.presence(nearest, engine.ranking, engine.album.size) >= Membership.PRESENT && find.isHeard()
        return rows to if (isSure) told.of(wanted.asks, find.query, rows) else ""
    }

    private fun other(why: Remark?): Answer {
        find.remarks.clear()
        return find.answer().let { it.copy(note = it.note ?: why) }
    }

    private companion object {
        const val LED = 3 // photos that are read for a fact, to which the question's relation leads
    }
}
