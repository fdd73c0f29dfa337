package gamer.album

/** The words of a text as SQLite's `porter unicode61` finds them: what a search without FTS5 compares. */
object OwnWords {
    fun tokens(text: String): List<String> = Unicode61.tokens(text)
}
