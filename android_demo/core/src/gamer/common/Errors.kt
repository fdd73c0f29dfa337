package gamer.common

/** What this core raises for anything a person can mend. The message is one line: what, where, and what to do. */
open class GamerError(message: String) : RuntimeException(message)

/** An album file that cannot be used as asked. */
class AlbumError(message: String) : GamerError(message)

/** A bundle that is not what its manifest promises. */
class BundleError(message: String) : GamerError(message)

/** A request that cannot be served: an empty query, a prompt that does not fit. */
class RuntimeFailure(message: String) : GamerError(message)

/** [error]'s message on one line, its class where it has none. */
fun oneLine(error: Throwable): String =
    (error.message ?: "").split(Regex("\\s+")).filter { it.isNotEmpty() }.joinToString(" ").ifEmpty { error.javaClass.simpleName }
