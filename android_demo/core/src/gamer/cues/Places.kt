package gamer.cues

import gamer.album.Cube
import gamer.common.Patterns
import gamer.common.PyText
import gamer.common.replaced
import java.util.regex.Pattern

/** The number of the album's photos in a place. */
typealias Near = (Place) -> Int

/**
 * A place that the query names. [boxes]: the place's extent, open in time. [span]: its characters in the
 * query, preposition included. [kind]: city, region, country or home. [photos]: the number of the album's
 * photos there, null if no album was given. A place without photos does not restrict the search; its name
 * stays in the text, since a memory may mention it.
 */
data class PlaceCue(val text: String, val name: String, val boxes: List<Cube>, val span: Span, val kind: String, val photos: Int?, val confidence: Double)

/**
 * Finds the words of a query that name a place, and chooses which place of that name is meant. Rules and a
 * gazetteer, no model. A wrong place excludes every photo that is meant, a missed place excludes none, so a
 * doubtful word makes no cue.
 */
class Places(private val tables: CueTables, private val gazetteer: Gazetteer) {
    private class Token(val text: String, val start: Int, val end: Int) {
        val low: String = text.lowercase()
        val capital: Boolean = text.isNotEmpty() && text[0].isUpperCase()
    }

    private val words = tables.places
    private val certain: Set<String> = words.strong - words.uncertain

    /** One text with its tokens. [near]: null if no album is given. */
    private inner class Look(val text: String, val letters: (String) -> String, val tokens: List<Token>, val near: Near?) {
        val ends: IntArray = runs()
        val shouted: Boolean = tokens.size >= 3 && tokens.all { it.capital || it.text.length <= 3 } && tokens.count { it.capital } >= 3

        /**
         * For each token, the index after the last token of its run. The tokens of a run are separated by one
         * or two spaces or hyphens only: names do not cross commas.
         */
        private fun runs(): IntArray {
            val out = IntArray(tokens.size)
            var end = tokens.size
            for (i in tokens.indices.reversed()) {
                if (i + 1 < tokens.size && !JOINED.matcher(between(i, i + 1)).matches()) end = i + 1
                out[i] = end
            }
            return out
        }

        fun between(i: Int, j: Int): String = if (tokens[i].end < tokens[j].start) text.substring(tokens[i].end, tokens[j].start) else ""
    }

    /**
     * The places that the text names, in its order. [taken]: the spans of other cues, in which no place is
     * sought. [letters]: restores a piece of the text as it was written.
     */
    fun find(text: String, taken: List<Span>, near: Near?, letters: (String) -> String = { it }): List<PlaceCue> {
        val look = Look(text, letters, tokens(text, taken), near)
        val cues = ArrayList<PlaceCue>()
        var i = 0
        var lookups = 0
        // The last place's preposition, which in "in Paris and Rome" governs Rome too.
        var previous = ""
        while (i < look.tokens.size && lookups < MAX_LOOKUPS && cues.size < MAX_PLACES) {
            lookups++
            val token = look.tokens[i]
            var found: Pair<PlaceCue, Int>? = null
            if (token.text.length > 1 && token.low !in words.strong && token.low !in words.weak && token.low !in NO_NAMES) {
                found = placeAt(look, i, if (continues(text, cues, token)) previous else "")
            }
            if (found == null) {
                i++
                continue
            }
            previous = preposition(look, i).first.ifEmpty { previous }
            cues.add(found.first)
            i = found.second
        }
        return cues
    }

    private fun tokens(text: String, taken: List<Span>): List<Token> {
        val free = BooleanArray(text.length) { true }
        for (span in taken) for (i in span.start until span.end) free[i] = false
        val m = WORD.matcher(text)
        val out = ArrayList<Token>()
        while (m.find()) {
            if ((m.start() until m.end()).any { !free[it] }) continue
            val word = if (m.group().count { it == '.' } > 1) m.group() else m.group().trimEnd('.')
            out.add(Token(word, m.start(), m.start() + word.length))
        }
        return out
    }

    /** The word without a possessive ending: "Paris" of "Paris's". */
    private fun bare(token: Token): String = POSSESSIVE.replaced(token.text, "")

    /**
     * The preposition that governs token i and the index of its token; ("", i) if there is none. Up to two
     * articles or adjectives between them are skipped.
     */
    private fun preposition(look: Look, i: Int): Pair<String, Int> {
        val tokens = look.tokens
        var j = i - 1
        while (j >= 0 && tokens[j].low in words.skip && i - j <= 2) j--
        if (j < 0 || (tokens[j].low !in words.strong && tokens[j].low !in words.weak)) return "" to i
        val gap = look.between(j, i).trim(' ')
        if (gap.isNotEmpty() && (j + 1 until i).none { tokens[it].text == gap }) return "" to i
        return tokens[j].low to j
    }

    /**
     * The place that is meant, and the number of the album's photos there. Places with photos come first,
     * then those whose primary name it is, then the gazetteer's order (most people first).
     */
    private fun choose(places: List<Place>, near: Near?): Pair<Place, Int> {
        val counts = places.map { near?.invoke(it) ?: 0 }
        // The numbers of photos of two places are not compared: 3 photos against 2 are chance.
        val best = places.indices.minWithOrNull(compareBy({ counts[it] == 0 }, { !places[it].primary }, { it }))!!
        return places[best] to counts[best]
    }

    /**
     * Whether the words count as a place. [asked]: whether the album was asked. [prep]: the preposition
     * before the name, or "". [count]: the number of words in the name. [alone]: no capitalised neighbour
     * could make the name a part of a longer one.
     */
    private fun accepts(place: Place, name: String, photos: Int, asked: Boolean, prep: String, capital: Boolean, count: Int, alone: Boolean): Boolean {
        val here = photos > 0
        val big = place.population >= CITY || place.kind != "city"
        val named = prep.isNotEmpty()
        if (place.word) return capital && (prep in certain || ((prep == "to" || prep == "from") && place.kind == "country"))
        if (place.given) return capital && (prep in certain || (named && here)) && (alone || here)
        if (!place.primary && !(here || (prep in certain && capital && place.population >= TOWN))) return false
        // Alone, a name must be well known: "Cat" would be Çat, "Haha" Hakha.
        if (!named && (name.length <= SHORT || (!place.primary && place.population < CITY))) return false
        if (!capital) {
            if (prep in words.strong || (named && big)) return here || (!asked && place.primary && (place.population >= TOWN || place.kind != "city"))
            return if (here) place.primary && (big || count > 1) else !asked && count > 1 && place.primary && place.population >= METROPOLIS
        }
        if (named) return alone || count > 1 || here || prep in certain
        return (if (asked) here else place.population >= BARE || place.kind != "city") && (alone || count > 1)
    }

    private fun isInside(place: Place, outer: Place): Boolean {
        if (place.id == outer.id || outer.kind == "city") return false
        if (outer.kind == "country" && place.countryCode == outer.countryCode) return true
        return outer.kind == "region" && outer.contains(place.lat, place.lon) && (outer.countryCode.isEmpty() || outer.countryCode == place.countryCode)
    }

    /**
     * Reads "Paris, Texas": the candidates within the country or region named next, and the index after it.
     * [places] and [after] unchanged if there is no such name, or none of them lies within it.
     */
    private fun qualified(look: Look, first: Int, after: Int, places: List<Place>): Pair<List<Place>, Int> {
        val tokens = look.tokens
        if (after >= tokens.size || !QUALIFIES.matcher(look.between(after - 1, after)).matches()) return places to after
        if (isUpper(tokens[after].text)) {
            val whole = gazetteer.lookup(look.letters((first..after).joinToString(" ") { bare(tokens[it]) }))
            // "Washington, DC" is in the gazetteer as one name.
            if (whole.isNotEmpty()) return whole to after + 1
        }
        val end = minOf(look.ends[after], after + Gazetteer.MAX_WORDS)
        val found = gazetteer.longestMatch((after until end).map { look.letters(bare(tokens[it])) })
        if (found == null || !tokens[after].capital) return places to after
        val kept = places.filter { place -> found.second.any { isInside(place, it) } }
        return if (kept.isEmpty()) places to after else kept to after + found.first
    }

    private fun isUpper(text: String): Boolean = text.any { it.isUpperCase() } && text.none { it.isLowerCase() || it.isTitleCase() }

    /**
     * The place cue that begins at token i and the index after it, or null. [lent]: the preposition of the
     * place before, or "".
     */
    private fun placeAt(look: Look, i: Int, lent: String): Pair<PlaceCue, Int>? {
        val tokens = look.tokens
        for (length in minOf(look.ends[i], i + Gazetteer.MAX_WORDS) - i downTo 1) {
            val run = tokens.subList(i, i + length)
            val name = look.letters((run.dropLast(1).map { it.text } + bare(run.last())).joinToString(" "))
            var places = gazetteer.lookup(name)
            if (places.isEmpty()) continue
            var capital = run.all { it.capital || it.low in words.inner }
            val (own, first) = preposition(look, i)
            val prep = own.ifEmpty { lent }
            val read = qualified(look, i, i + length, places)
            places = read.first
            val after = read.second
            val isQualified = after > i + length
            val (place, photos) = choose(places, look.near)
            capital = capital && run[0].capital && (!look.shouted || prep in certain)
            if (run[0].text in words.capitals && (prep.isNotEmpty() || isQualified)) return cue(look, i, after, first, prep, place, photos) to after
            val alone = standsAlone(look, i, after)
            if ((isQualified && capital) || accepts(place, name, photos, look.near != null, prep, capital, length, alone)) {
                return cue(look, i, after, first, prep, place, photos) to after
            }
        }
        return null
    }

    /**
     * Whether no capitalised word is adjacent to the name at tokens i to [after] - 1. "Paris Hilton" and
     * "Jack London" are people, "Boston Dynamics" is a firm.
     */
    private fun standsAlone(look: Look, i: Int, after: Int): Boolean {
        val tokens = look.tokens
        if (after < tokens.size && look.ends[i] > after && tokens[after].capital) return false
        if (i == 0 || look.ends[i - 1] <= i || !tokens[i - 1].capital) return true
        val before = tokens[i - 1].low
        return before in words.strong || before in words.weak || before in words.skip || before in words.openers
    }

    private fun continues(text: String, cues: List<PlaceCue>, token: Token): Boolean {
        val end = cues.lastOrNull()?.span?.end ?: return false
        return AND.matcher(if (end < token.start) text.substring(end, token.start) else "").matches()
    }

    private fun cue(look: Look, i: Int, after: Int, first: Int, prep: String, place: Place, photos: Int): PlaceCue {
        val a = look.tokens[minOf(first, i)].start
        val b = look.tokens[after - 1].end
        return PlaceCue(
            look.text.substring(a, b), place.name, boxes(place, prep in words.wide), Span(a, b), place.kind, photos.takeIf { look.near != null },
            tables.trust.getValue("place"),
        )
    }

    private fun boxes(place: Place, wide: Boolean): List<Cube> {
        if (!wide || place.kind != "city") return place.boxes.map { it.cube(place.border) }
        val grow = minOf(2.0, NEAR_DEG / maxOf(0.1, 1 - Math.abs(place.lat) / 90))
        val west = Gazetteer.mod360(place.extent.west - grow + 180) - 180
        val east = Gazetteer.mod360(place.extent.east + grow + 180) - 180
        return listOf(Cube(south = maxOf(-90.0, place.extent.south - NEAR_DEG), north = minOf(90.0, place.extent.north + NEAR_DEG), west = west, east = east))
    }

    private companion object {
        val WORD: Pattern = Patterns.of("[^\\W\\d_]+(?:['’.\\-‐‑][^\\W\\d_]+)*\\.?")
        val AND: Pattern = Patterns.of("\\s*(?:,|and|or|nor|&)\\s*(?:the\\s+)?(?:and\\s+|or\\s+)?")
        val JOINED: Pattern = Pattern.compile("[ \\-]{1,2}")
        val QUALIFIES: Pattern = Patterns.of("\\s*,\\s*| ")
        val POSSESSIVE: Pattern = Patterns.of("['’]s$")
        val NO_NAMES = setOf("the", "and", "or", "not")
        const val MAX_LOOKUPS = 400
        const val MAX_PLACES = 8
        // The people that a city needs for its name to count as a place. Without a preposition: capitalised
        // (BARE), two lower-case words (METROPOLIS). Lower-case: after a preposition of place (TOWN), after
        // any other (CITY).
        const val BARE = 250_000
        const val METROPOLIS = 500_000
        const val TOWN = 50_000
        const val CITY = 100_000
        const val SHORT = 3 // letters; a name this short counts only after a preposition
        const val NEAR_DEG = 0.27 // degrees by which "near X" extends the box of X: about 30 km
    }
}
