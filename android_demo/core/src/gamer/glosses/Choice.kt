package gamer.glosses

import gamer.album.Words
import gamer.common.PyText

/**
 * A query as a search uses it. [text]: for the text tower, in English unless the album's memories are in the query's
 * language. [forms]: its words for BM25, each with what else may stand for it. [lines]: what was read, for the trace.
 */
class Glossed(val text: String, val forms: List<List<String>>, val lines: List<String>)

/**
 * Which of a word's glosses a search takes: for BM25 all, for the text tower the first that a memory of the album
 * holds, unless the dictionary thinks little of it (runtime/glosses/choice.py). The query's own words stay beside
 * their glosses, and where memories hold most of them, these are in its language, and the text tower gets the query
 * as it is.
 */
object Choice {
    private const val TOLD = 0.3 // of a dictionary's weight: what it counts that a memory holds a gloss
    private const val MOST_FORMS = 10 // of a word for BM25
    private const val MOST_ASKED = 64 // words that are looked up in the album
    private const val MARKS = "¿¡«»„"

    /** English words with forms that no stemmer finds: a dictionary gives "win", and a memory says "won". */
    private val FORMS: Map<String, List<String>> = (
        "become became | begin began begun | bite bit bitten | blow blew blown | break broke broken | bring brought | " +
            "build built | buy bought | catch caught | choose chose chosen | come came | cost cost | cut cut | dig dug | " +
            "draw drew drawn | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen | feed fed | " +
            "feel felt | fight fought | find found | fly flew flown | forget forgot forgotten | freeze froze frozen | " +
            "get got | give gave given | go went gone | grow grew grown | hang hung | hear heard | hide hid hidden | " +
            "hold held | keep kept | know knew known | lead led | leave left | lend lent | lie lay lain | light lit | " +
            "lose lost | make made | mean meant | meet met | pay paid | ride rode ridden | ring rang | rise rose risen | " +
            "run ran | say said | see saw seen | sell sold | send sent | shake shook shaken | shine shone | shoot shot | " +
            "sing sang sung | sink sank sunk | sit sat | sleep slept | speak spoke spoken | spend spent | stand stood | " +
            "steal stole stolen | stick stuck | strike struck | swim swam swum | take took taken | teach taught | " +
            "tear tore torn | tell told | think thought | throw threw thrown | understand understood | wake woke | " +
            "wear wore worn | win won | write wrote written | child children | man men | woman women | foot feet | " +
            "tooth teeth | mouse mice | goose geese | knife knives | leaf leaves | wife wives | life lives | wolf wolves | " +
            "shelf shelves | loaf loaves | person people"
        ).split(" | ").map { it.split(' ') }.associate { it[0] to it.drop(1) }

    /**
     * The glosses of a reading that fit the album; null if only words such as "the" have one. [holds]: whether a
     * memory holds a word.
     */
    fun chosen(reading: Reading, holds: (String) -> Boolean): Glossed? {
        val content = reading.pieces.filter { it.options.isNotEmpty() && !it.saysNothing }
        if (content.isEmpty()) return null
        val own = content.map { PyText.casefold(it.word) }
        val asked = (own + content.flatMap { piece -> piece.options.map { it.text } }).distinct().take(MOST_ASKED)
        val held = asked.filterTo(HashSet(), holds)
        val isAlbums = 2 * own.count { it in held } > own.size
        val text = StringBuilder()
        val forms = ArrayList<List<String>>()
        val lines = ArrayList<String>()
        var kept = ""
        for (piece in reading.pieces) {
            val gloss = if (piece.options.isEmpty()) piece.said else best(piece, held)
            text.append(gloss)
            if (piece.options.isEmpty() || piece.saysNothing && isAlbums) {
                kept += piece.said
            } else if (!piece.saysNothing) {
                val said = listOf(PyText.casefold(gloss)) + piece.options.map { it.text }.filter { it != gloss }
                val isAlone = piece.isEnglish && !isAlbums // "pain" is bread, and would find pains
                forms += plain(kept)
                forms += withForms(said, if (isAlone) "" else PyText.casefold(piece.word))
                lines += "${piece.said} → ${said.joinToString(", ")}"
                kept = ""
            }
        }
        val sentence = if (isAlbums) reading.text else text.toString()
        return Glossed(PyText.joined(sentence.filter { it !in MARKS }), (forms + plain(kept)).distinct(), lines.distinct())
    }

    /** The words of a part of the query that stays as it is. */
    private fun plain(text: String): List<List<String>> = if (PyText.codePoints(text).any { PyText.isAlnum(it) }) Words.spellings(text) else emptyList()

    /** What stands for a word in memories: its glosses, with their forms, and the word itself. */
    private fun withForms(glosses: List<String>, own: String): List<String> =
        (listOf(own).filter { it.isNotEmpty() } + glosses + glosses.flatMap { FORMS[it].orEmpty() }).distinct().take(MOST_FORMS)

    private fun best(piece: Piece, held: Set<String>): String =
        if (piece.saysNothing) piece.options[0].text else piece.options.maxByOrNull { it.weight + if (it.text in held) TOLD else 0.0 }!!.text
}
