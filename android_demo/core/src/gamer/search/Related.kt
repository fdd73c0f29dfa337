package gamer.search

import gamer.cues.Calendar.Companion.DAY_MS
import gamer.cues.Explain
import gamer.questions.Wanted
import java.time.LocalDate
import java.time.YearMonth
import kotlin.math.abs

/**
 * The photos that a question wants in relation to an anchor: before it, after it, between two, of the same day; of two anchors that are
 * compared the photos, the earlier one first; without an anchor those of the target, in order (runtime/agent/rules.py). [search]: for so
 * many photos, among those of a mask. [allowed]: the photos that may be shown; null: all.
 */
internal class Related(
    private val engine: Engine,
    private val asked: Wanted,
    private val allowed: BooleanArray?,
    private val search: (String, Int, BooleanArray?) -> Answer,
) {
    private val album = engine.album
    private val order by lazy { (0 until album.size).filter { engine.dated[it] }.sortedWith(compareBy({ album.time(it) }, { it })) }
    private val place by lazy { IntArray(album.size) { -1 }.also { place -> order.forEachIndexed { at, row -> place[row] = at } } }
    private val anchors = ArrayList<String>()

    /** What was found out of the anchors, or why nothing is found. */
    var remark: Remark = Remark("anchor.none")
        private set

    /** In the order in which they are shown. */
    fun rows(): List<Int> {
        val rows = when (asked.relation) {
            "" -> if (asked.anchor.isEmpty()) plain() else earlier()
            "same" -> same()
            "between" -> between()
            else -> around()
        }
        if (rows == null || asked.anchor.isEmpty()) return rows.orEmpty()
        val code = if (rows.isEmpty()) "anchor.none" else if (asked.relation.isEmpty()) "first" else "anchor"
        remark = Remark(code, name = anchors.take(if (code == "first") 1 else 2).joinToString(" … "))
        return rows
    }

    /** All photos of the target, in order; null where the album does not seem to have it. */
    private fun plain(): List<Int>? {
        if (asked.target.isEmpty()) return ordered(order)
        return every(asked.target, null).let { (found, isPresent) -> if (isPresent) ordered(found) else null }
    }

    /** Which of two things was first. */
    private fun earlier(): List<Int>? {
        val first = anchor(asked.anchor, 0) ?: return null
        val second = anchor(asked.other, 0) ?: return null
        if (second(second) < second(first)) anchors.reverse()
        return listOf(first, second).sortedBy(::second).distinct()
    }

    private fun same(): List<Int>? {
        val anchor = anchor(asked.anchor, asked.anchorOrder) ?: return null
        var within = unit(asked.unit, anchor, asked.shift)
        if (asked.side.isNotEmpty()) within = within and side(anchor, asked.side == "earlier") else if (!asked.withAnchor) within[anchor] = false
        return ordered(among(permitted(within)))
    }

    private fun between(): List<Int>? {
        val first = anchor(asked.anchor, 0) ?: return null
        val second = anchor(asked.other, 0) ?: return null
        val (from, to) = listOf(first, second).sortedBy(::second)
        return ordered(among(permitted(side(from, false) and side(to, true))))
    }

    private fun permitted(within: BooleanArray): BooleanArray = if (allowed == null) within else within and allowed

    /** All photos in a mask, by time, or those of the target; none where none of them seems to show it. */
    private fun among(within: BooleanArray): List<Int> {
        val rows = sorted(within)
        if (rows.isEmpty() || asked.target.isEmpty()) return rows
        return every(asked.target, within).let { (found, isPresent) -> if (isPresent) found else emptyList() }
    }

    private fun around(): List<Int>? {
        val anchor = anchor(asked.anchor, asked.anchorOrder) ?: return null
        val isBefore = asked.relation == "before"
        var within = permitted(side(anchor, isBefore))
        if (asked.unit.isNotEmpty()) within = within and not(unit(asked.unit, anchor))
        if (asked.target.isNotEmpty()) return matching(within, isBefore)
        val limit = if (asked.number > 0 || asked.order != 0) maxOf(asked.number, 1) else 0
        if (limit == 0 && !asked.isExhaustive) return soon(anchor, within, isBefore)
        val rows = sorted(within)
        if (abs(asked.order) > 1 || asked.order == (if (isBefore) 1 else -1)) return ordered(rows)
        return (if (isBefore) rows.reversed() else rows).take(if (limit > 0) limit else rows.size)
    }

    /** "Photos after the launch" are those of the next hours; if there are none, of the nearest day. */
    private fun soon(anchor: Int, within: BooleanArray, isBefore: Boolean): List<Int> {
        val begin = second(anchor) * SECOND
        val near = if (isBefore) span(begin - SOON, begin + SECOND - 1) else span(begin, begin + SOON + SECOND - 1)
        val rows = sorted(within and near)
        if (rows.isNotEmpty()) return rows
        val side = sorted(within)
        val nearest = (if (isBefore) side.lastOrNull() else side.firstOrNull()) ?: return emptyList()
        return sorted(within and unit("day", nearest))
    }

    /** Photos of the target on one side of the anchor; where none is sure, the likeliest one there. */
    private fun matching(within: BooleanArray, isBefore: Boolean): List<Int> {
        val rows = byTime(every(asked.target, null).first.filter { within[it] })
        if (rows.isEmpty()) return if (true in within) search(asked.target, 1, within).hits.map { it.row } else emptyList()
        // "The cat before it" is the nearest one.
        return ordered(rows, if (asked.number > 0 && asked.order == 0) (if (isBefore) -1 else 1) else asked.order)
    }

    /** The row of an anchor's photo; null if the album does not seem to have it, or not to know when it was. */
    private fun anchor(phrase: String, order: Int): Int? {
        val row = if (order == 0) {
            search(phrase, ANCHORS, null).takeIf(::isPresent)?.hits?.first()?.row
        } else {
            val (rows, isPresent) = every(phrase, null)
            byTime(rows, order < 0).getOrNull(abs(order) - 1).takeIf { isPresent }
        }
        val day = row?.takeIf { engine.dated[it] }?.let { Explain.day(album.time(it)) }
        if (day != null && day.length == ISO) { // not of a time outside of the calendar
            anchors += "$phrase ($day)"
            return row
        }
        remark = Remark(if (row == null) "anchor.absent" else "anchor.undated", phrase)
        return null
    }

    /** Every photo of what [text] means, and whether the album seems to have it. */
    private fun every(text: String, within: BooleanArray?): Pair<List<Int>, Boolean> {
        val answer = search(text, LOOKED_AT, within)
        return Membership.members(album, answer, engine.ranking) to isPresent(answer)
    }

    private fun isPresent(answer: Answer): Boolean = Membership.presence(answer, engine.ranking, album.size) >= Membership.PRESENT

    /** The first, last or n-th of what was found, or all of it; of an occasion all of that one day. */
    fun ordered(found: List<Int>, order: Int = asked.order): List<Int> {
        val rows = found.filter { allowed?.get(it) != false }
        if (order == 0 && asked.number == 0) return rows
        val number = if (asked.number > 0) asked.number else if (asked.relation.isEmpty()) rows.size else 1
        val left = byTime(rows, order < 0).filter { engine.dated[it] }.drop(maxOf(abs(order), 1) - 1)
        val day = left.firstOrNull()?.let(::day)
        return byTime(if (asked.isOccasion) left.filter { day(it) == day } else left.take(number))
    }

    /** The photos in the unit of time around the anchor's, or [shift] of them away. */
    private fun unit(unit: String, anchor: Int, shift: Int = 0): BooleanArray {
        val day = day(anchor)
        if (shift != 0) return shifted(day, shift, unit)
        val event = if (unit == "trip" || unit == "event") album.sharingEvent(anchor) else IntArray(0)
        return when {
            event.isNotEmpty() -> BooleanArray(album.size).also { mask -> event.forEach { mask[it] = true } }
            unit == "month" -> months(YearMonth.from(LocalDate.ofEpochDay(day)), 1)
            unit == "year" -> months(LocalDate.ofEpochDay(day).let { YearMonth.of(it.year, 1) }, 12)
            else -> (AROUND[unit] ?: 0).let { days(day - it, day + it) }
        }
    }

    /**
     * The photos of the day [count] days after a day (nights, mornings and evenings are days), of the month or the year that many after its
     * own, of the weekend, or of the week that many weeks after it, day 1 to day 7.
     */
    private fun shifted(day: Long, count: Int, unit: String): BooleanArray = when (unit) {
        "month" -> months(YearMonth.from(LocalDate.ofEpochDay(day)).plusMonths(count.toLong()), 1)
        "year" -> months(YearMonth.of(LocalDate.ofEpochDay(day).year + count, 1), 12)
        "weekend" -> {
            // The weekend before a day of a weekend is another one, and so is the one after it.
            val since = Math.floorMod(day - 2, 7L) // days since Saturday; 3 January 1970 was one
            val saturday = day - since + 7 * (if (count > 0 || since < 2) count else count + 1)
            days(saturday, saturday + 1)
        }
        "week" -> if (count > 0) days(day + 7 * (count - 1) + 1, day + 7 * count) else days(day + 7 * count, day + 7 * (count + 1) - 1)
        else -> days(day + count, day + count)
    }

    private fun second(row: Int): Long = Math.floorDiv(album.time(row), SECOND)

    private fun day(row: Int): Long = Math.floorDiv(album.time(row), DAY_MS)

    private fun days(first: Long, last: Long): BooleanArray = span(first * DAY_MS, (last + 1) * DAY_MS - 1)

    private fun months(first: YearMonth, count: Long): BooleanArray = days(first.atDay(1).toEpochDay(), first.plusMonths(count).atDay(1).toEpochDay() - 1)

    private fun span(first: Long, last: Long): BooleanArray = BooleanArray(album.size) { engine.dated[it] && album.time(it) in first..last }

    /** The dated photos before or after a photo; those of the same moment in the album's order. */
    private fun side(row: Int, isBefore: Boolean): BooleanArray =
        BooleanArray(album.size) { place[it] >= 0 && if (isBefore) place[it] < place[row] else place[it] > place[row] }

    private fun sorted(mask: BooleanArray): List<Int> = byTime(mask.indices.filter { mask[it] })

    /** In order of time; undated photos come last. */
    fun byTime(rows: List<Int>, newestFirst: Boolean = false): List<Int> =
        rows.sortedBy { if (place[it] < 0) album.size else if (newestFirst) -place[it] else place[it] }

    private fun not(mask: BooleanArray): BooleanArray = BooleanArray(mask.size) { !mask[it] }

    private infix fun BooleanArray.and(other: BooleanArray): BooleanArray = BooleanArray(size) { this[it] && other[it] }

    private companion object {
        const val ANCHORS = 5 // hits of a search for an anchor
        const val LOOKED_AT = 40 // hits of which those of a set are taken
        const val ISO = 10 // characters of a day
        const val SECOND = 1_000L // to which times are compared
        const val SOON = 24 * 3_600_000L // that "after" reaches when it names no number and no order
        val AROUND = mapOf("week" to 3, "weekend" to 1, "trip" to 2, "event" to 2) // days
    }
}
