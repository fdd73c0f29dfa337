package gamer.indexing

import java.io.File

/**
 * Keys of the photos that the gallery had marked as favourites when it was last indexed, a line each: a mark that came from
 * elsewhere stays. Without the [file] no mark is taken off.
 */
class MarkList(private val file: File) {
    fun keys(): Set<String> = KeptLines.read(file).toSet()

    fun put(keys: Set<String>) = KeptLines.write(file, keys)
}
