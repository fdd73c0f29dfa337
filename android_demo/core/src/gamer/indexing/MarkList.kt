package gamer.indexing

import java.io.File
import java.io.IOException

/**
 * Keys of the photos that the gallery had marked as favourites when it was last indexed, a line each: a mark that came from
 * elsewhere stays. Without the [file] no mark is taken off.
 */
class MarkList(private val file: File) {
    fun keys(): Set<String> = try {
        if (file.isFile) file.readLines().toSet() else emptySet()
    } catch (error: IOException) {
        emptySet()
    }

    fun put(keys: Set<String>) {
        val aside = File(file.path + ".partial")
        try {
            aside.writeText(keys.joinToString("") { "$it\n" })
            aside.renameTo(file)
        } catch (error: IOException) {
            aside.delete()
        }
    }
}
