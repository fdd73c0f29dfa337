package gamer.indexing

/**
 * The first of several ways that works. A vendor's decoder may refuse one of them; what the others know (a photo's
 * rotation, say) must not be lost with it.
 */
object Attempts {
    fun <T> first(ways: List<() -> T>, otherwise: T): T {
        for (way in ways) {
            try {
                return way()
            } catch (error: Exception) {
                continue
            }
        }
        return otherwise
    }
}
