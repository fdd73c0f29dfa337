package gamer.indexing

import gamer.image.Pixels
import java.io.File

/**
 * The photos that ended the process while they were encoded (a decoder that crashes), or that failed (memory that ran
 * out). After [TRIES] of these a photo is skipped, so that the others are reached. [file]: a line for each, its count and
 * its key.
 */
class SkipList(private val file: File) {
    private val tries = LinkedHashMap<String, Int>()
    private var open: String? = null

    init {
        for (line in KeptLines.read(file)) line.substringBefore('\t').toIntOrNull()?.let { tries[line.substringAfter('\t')] = it }
    }

    fun isSkipped(key: String): Boolean = (tries[key] ?: 0) >= TRIES

    /** Counts a try before it begins, so that the count outlives the process. Returns which it is. */
    fun begin(key: String): Int {
        open = key
        val number = (tries[key] ?: 0) + 1
        tries[key] = number
        store()
        return number
    }

    /** The last photo did no harm: its tries are not counted. */
    fun end() {
        tries.remove(open ?: return)
        open = null
        store()
    }

    /**
     * Throws [error], which came at the last photo, unless the photo is its cause: if [grey], the same with a small grey picture in
     * its place, fails too, the models do at every photo, and none may be left out for that.
     */
    fun blame(error: Throwable, grey: (Pixels) -> Unit) {
        try {
            grey(GREY)
        } catch (again: Throwable) {
            end()
            throw error
        }
    }

    private fun store() = KeptLines.write(file, tries.entries.map { "${it.value}\t${it.key}" }) // without it a run may repeat a photo

    companion object {
        const val TRIES = 2
        private val GREY = Pixels(32, 32, ByteArray(3 * 32 * 32) { 127 })
    }
}
