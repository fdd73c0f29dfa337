package gamer.cues

import gamer.common.PyText
import java.time.LocalDate

/** Cues and cubes as lines of text, for the trace. */
object Explain {
    /** "2011-04-25", or "…" for an open end. */
    fun day(ms: Long?): String {
        if (ms == null) return "…"
        val days = Math.floorDiv(ms, Calendar.DAY_MS)
        if (days + Calendar.EPOCH !in 1..3_652_059L) return "…"
        val date = LocalDate.ofEpochDay(days)
        return "${date.year.toString().padStart(4, '0')}-${two(date.monthValue)}-${two(date.dayOfMonth)}"
    }

    private fun two(number: Int): String = number.toString().padStart(2, '0')

    fun cueLines(cues: Cues): List<String> = cues.times.map { "time ${PyText.repr(it.text)}" } +
        cues.places.map { "place ${PyText.repr(it.text)} = ${it.name}" } + cues.recurring.map { "often ${PyText.repr(it.text)}" } +
        cues.anchors.map { "event not found ${PyText.repr(it.text)}" } +
        cues.negatedTimes.map { "not ${PyText.repr(it.text)}" } + cues.negatedPlaces.map { "not ${PyText.repr(it.text)}" }

    fun cubeLines(cues: Cues): List<String> {
        val out = cues.cubes.take(4).map { cube ->
            val time = if (cube.hasTime) "${day(cube.start)} to ${day(cube.end)}" else "any time"
            val place = if (cube.south != null) "${deg(cube.south)}…${deg(cube.north!!)} N, ${deg(cube.west!!)}…${deg(cube.east!!)} E" else "anywhere"
            "$time, $place"
        }
        return if (cues.cubes.size > 4) out + "and ${cues.cubes.size - 4} more" else out
    }

    private fun deg(degrees: Double): String = PyText.fixed(degrees, 2)
}
