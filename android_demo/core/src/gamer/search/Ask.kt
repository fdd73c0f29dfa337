package gamer.search

import gamer.questions.Wanted

/**
 * A question answered in several steps by rules (runtime/agent/rules.py): the photos in relation to an anchor ("the last one before the
 * wedding"), and what they tell where a time, a place or a person is asked for. Of other questions, and where nothing is found, what a
 * search finds.
 */
internal class Ask(private val engine: Engine, private val find: Find) {
    private val told = Told(engine, find)

    fun answer(): Answer {
        val question = find.question()
        val wanted = question.wanted
        val isAnchored = wanted.anchor.isNotEmpty()
        val within = find.within(question)
        if (question.grouped != null || !isAnchored && wanted.asks !in Told.ASKED) return find.answer(question, within)
        val related = Related(engine, wanted, within, find::part)
        val known = if (isAnchored) emptyList() else find.rowsOf(wanted.target).filter { within?.get(it) != false }
        val isLed = isAnchored || wanted.order != 0 && known.isEmpty()
        val led = if (isLed) related.rows() else related.ordered(related.byTime(known))
        if (isAnchored && led.isEmpty()) return find.answer(question, within).let { it.copy(note = it.note ?: related.remark) }
        val rows = if (led.isNotEmpty() || wanted.asks !in Told.ASKED) led else nearest(wanted, within)
        val fact = if (known.isNotEmpty()) told.ofAll(wanted, led) else if (wanted.asks in Told.ASKED) told.of(wanted.asks, find.query, rows.take(Told.EVIDENCE)) else ""
        if (fact.isEmpty() && !isAnchored) return find.answer(question, within)
        if (isAnchored) find.remarks += related.remark
        val shown = if (led.isEmpty()) rows.take(SHOWN) else led
        return find.shown(wanted, shown, known.isNotEmpty() || isAnchored && wanted.target.isEmpty(), Remark("line", fact).takeIf { fact.isNotEmpty() })
    }

    /** The photos nearest to the question; none where the album does not seem to have what it asks about. */
    private fun nearest(wanted: Wanted, within: BooleanArray?): List<Int> {
        if (!told.isHeard()) return emptyList()
        // A time or place is that of what is asked about, whose other words would only draw others near.
        val about = if (wanted.asks != "who" && wanted.target.isNotEmpty()) wanted.target else find.query
        val nearest = find.part(about, Told.EVIDENCE, within)
        return if (Membership.presence(nearest, engine.ranking, engine.album.size) >= Membership.PRESENT) nearest.hits.map { it.row } else emptyList()
    }

    private companion object {
        const val SHOWN = 3 // photos beside a fact
    }
}
