package gamer.tokens

/**
 * WordPiece: takes the longest piece of the vocabulary from the left each time. A word that cannot be split
 * this way becomes the unknown token (Schuster and Nakajima 2012).
 */
internal class WordPiece(
    private val vocab: Map<String, Int>,
    unknown: String,
    private val prefix: String,
    private val maxLetters: Int,
) : Model {
    private val unknownId = vocab[unknown] ?: throw UnknownPart("a vocabulary without $unknown")
    private val texts: Map<Int, String> = vocab.entries.associate { it.value to it.key }

    override fun idOf(token: String): Int? = vocab[token]

    override fun tokenOf(id: Int): String? = texts[id]

    override fun tokens(): Sequence<Pair<String, Int>> = vocab.asSequence().map { it.toPair() }

    override fun encode(piece: String, out: IntList) {
        if (piece.codePointCount(0, piece.length) > maxLetters) return out.add(unknownId)
        val begin = out.size
        var start = 0
        while (start < piece.length) {
            var end = piece.length
            var id: Int? = null
            while (end > start) {
                val part = piece.substring(start, end)
                id = vocab[if (start > 0) prefix + part else part]
                if (id != null) break
                end--
                if (end > start && Character.isLowSurrogate(piece[end])) end--
            }
            if (id == null) {
                out.truncate(begin)
                return out.add(unknownId)
            }
            out.add(id)
            start = end
        }
    }
}

/** Joins the pieces to words, as the WordPiece decoder of Hugging Face's tokenizers does. */
internal fun wordPieceText(tokens: List<String>, prefix: String, cleanup: Boolean): String =
    tokens.withIndex().joinToString("") { (n, token) ->
        val piece = if (n == 0) token else if (token.startsWith(prefix)) token.substring(prefix.length) else " $token"
        if (cleanup) tidy(piece) else piece
    }

private fun tidy(text: String): String =
    listOf(" ." to ".", " ?" to "?", " !" to "!", " ," to ",", " ' " to "'", " n't" to "n't", " 'm" to "'m", " do not" to " don't", " 's" to "'s", " 've" to "'ve", " 're" to "'re")
        .fold(text) { t, (from, to) -> t.replace(from, to) }
