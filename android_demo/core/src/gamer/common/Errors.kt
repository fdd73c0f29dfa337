package gamer.common

/** An error that a person can act on. The message is one line: what is wrong, where, and what to do. */
open class GamerError(message: String) : RuntimeException(message)

/** An album file that cannot be opened, read or written as asked. */
class AlbumError(message: String) : GamerError(message)

/** A bundle directory that is not as its manifest says. */
class BundleError(message: String) : GamerError(message)

/** A request that cannot be served, such as an empty query or a prompt that does not fit. */
class RuntimeFailure(message: String) : GamerError(message)

/** The message of [error] on one line, or its class if it has none. */
fun oneLine(error: Throwable): String =
    (error.message ?: "").split(Regex("\\s+")).filter { it.isNotEmpty() }.joinToString(" ").ifEmpty { error.javaClass.simpleName }
