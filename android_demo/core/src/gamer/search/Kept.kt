package gamer.search

/**
 * A value that is opened once and kept until its [version] changes; a version of null is never kept. Not thread-safe.
 */
class Kept<T : Any>(private val version: () -> Any?, private val open: () -> T, private val shut: (T) -> Unit) : AutoCloseable {
    private var value: T? = null
    private var of: Any? = null

    fun get(): T {
        val now = version()
        value?.let { if (now != null && now == of) return it }
        close()
        return open().also { value = it; of = now }
    }

    override fun close() {
        value?.let(shut)
        value = null
    }
}
