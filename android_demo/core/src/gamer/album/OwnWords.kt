package gamer.album

/**
 * The words of a text as SQLite's tokenizer `porter unicode61` splits and stems them, for searches without
 * FTS5.
 */
object OwnWords {
    fun tokens(text: String): List<String> = Unicode61.tokens(text)
}
