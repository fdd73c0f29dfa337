package gamer.search

import gamer.album.Album
import gamer.album.Rows
import gamer.common.PyText
import gamer.questions.Facet

/** The photos of an album that have what a query says literally: a shape, a camera, a fact, who is there (runtime/search/facets.py). */
internal class FacetRows(private val album: Album, private val engine: Engine) {
    private val found = HashMap<Facet, BooleanArray>()

    /** Whether a question may name a facet: a photo has it, or the album is sure to have none. */
    fun isNamed(facet: Facet): Boolean = true in of(facet) || isLacking(facet)

    private fun isLacking(facet: Facet): Boolean = when {
        // An album that a phone made has pictures and knows no header of theirs.
        facet.kind == "medium" && facet.value != "receipt" -> (album.details("orientations").isNotEmpty() || true !in album.pictured()) && album.words(facet.value).bm25().all { it == 0f }
        facet.kind == "orientation" -> album.details("orientations").isNotEmpty()
        facet.kind == "fact" && facet.value == "flash" -> album.details("lightings").isNotEmpty()
        else -> false
    }

    fun of(facet: Facet): BooleanArray = found.getOrPut(facet) {
        when (facet.kind) {
            "fact" -> knowing(facet.value)
            "orientation" -> album.detailed("orientations", facet.value)
            "camera" -> words(facet.value).let { asked ->
                album.details("cameras").filter { words(it).containsAll(asked) }.map { album.detailed("cameras", it) }.fold(BooleanArray(album.size)) { all, some ->
                    BooleanArray(all.size) { all[it] || some[it] }
                }
            }
            "alone", "together" -> withFaces(facet.value.split(BETWEEN_NAMES), facet.kind == "alone")
            else -> when (facet.value) {
                "video" -> album.detailed("clips")
                "receipt" -> album.words("receipt receipts").bm25().let { scores -> BooleanArray(album.size) { scores[it] > 0 } }
                else -> album.detailed("mediums", facet.value)
            }
        }
    }

    /** The photos whose "date" or "place" is known, that show "text", or were taken with "flash". */
    fun knowing(fact: String): BooleanArray = when (fact) {
        "date" -> Copies.inherited(album, engine.dated)
        "place" -> Copies.inherited(album, engine.placed)
        "text" -> Rows.mask(album.memoriesOf("ocr").map { it.first }.toIntArray(), album.size)
        else -> album.detailed("lightings", "flash")
    }

    /**
     * The photos that show the faces of all of them, by the name or its first word; [isAlone]: and no other. Without names those
     * that show two faces or more, or one.
     */
    private fun withFaces(names: List<String>, isAlone: Boolean): BooleanArray {
        val wanted = names.map { PyText.casefold(PyText.strip(it)) }.filter { it.isNotEmpty() }
        val shown = album.faces().groupBy({ it.first }, { it.second })
        val rows = shown.filter { (_, faces) ->
            if (wanted.isEmpty()) (faces.size == 1) == isAlone
            else (!isAlone || faces.size == 1) && wanted.all { name -> faces.filterNotNull().map(PyText::casefold).any { name == it || name == PyText.split(it).firstOrNull() } }
        }.keys
        return Rows.mask(rows.toIntArray(), album.size)
    }

    private fun words(name: String): Set<String> = PyText.split(PyText.casefold(name).replace('-', ' ')).toSet()

    private companion object {
        val BETWEEN_NAMES = Regex(",|&|\\band\\b")
    }
}
