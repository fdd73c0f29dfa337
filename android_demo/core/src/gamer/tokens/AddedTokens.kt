package gamer.tokens

import org.json.JSONObject

/** A stretch of text, or the id of an added token. */
internal class Part(val text: String, val id: Int)

/**
 * The added tokens, such as `<|im_start|>` and `[SEP]`, which are cut out of a text first. At each position
 * the longest one is taken.
 */
internal class AddedTokens(entries: List<JSONObject>) {
    private val ids = HashMap<String, Int>()
    private val contents = HashMap<Int, String>()
    private val byFirst = HashMap<Char, MutableList<String>>()

    /** Ids that `decode` leaves out. */
    val special = HashSet<Int>()

    init {
        for (entry in entries) {
            for (name in listOf("single_word", "lstrip", "rstrip")) if (entry.optBoolean(name)) throw UnknownPart("an added token with $name")
            val content = entry.getString("content")
            if (content.isEmpty()) continue
            ids[content] = entry.getInt("id")
            contents[entry.getInt("id")] = content
            if (entry.optBoolean("special")) special.add(entry.getInt("id"))
            byFirst.getOrPut(content[0]) { ArrayList() }.add(content)
        }
        byFirst.values.forEach { found -> found.sortByDescending { it.length } }
    }

    fun idOf(token: String): Int? = ids[token]

    fun tokens(): Sequence<Pair<String, Int>> = ids.asSequence().map { it.toPair() }

    fun contentOf(id: Int): String? = contents[id]

    fun cut(text: String): List<Part> {
        val out = ArrayList<Part>()
        var begin = 0
        var i = 0
        while (i < text.length) {
            val token = byFirst[text[i]]?.firstOrNull { text.startsWith(it, i) }
            if (token == null) {
                i++
                continue
            }
            if (i > begin) out.add(Part(text.substring(begin, i), -1))
            out.add(Part(token, ids.getValue(token)))
            i += token.length
            begin = i
        }
        if (begin < text.length) out.add(Part(text.substring(begin), -1))
        return out
    }
}
