package gamer.indexing

import java.io.File
import java.io.IOException

/**
 * The photos that ended the process while they were encoded (a decoder that crashes), or that failed (memory that ran
 * out). After [TRIES] of these a photo is skipped, so that the others are reached. [file]: a line for each, its count and
 * its key.
 */
class SkipList(private val file: File) {
    private val tries = LinkedHashMap<String, Int>()
    private var open: String? = null

    init {
        val lines = try {
            if (file.isFile) file.readLines() else emptyList()
        } catch (error: IOException) {
            emptyList()
        }
        for (line in lines) line.substringBefore('\t').toIntOrNull()?.let { tries[line.substringAfter('\t')] = it }
    }

    fun isSkipped(key: String): Boolean = (tries[key] ?: 0) >= TRIES

    /** Counts a try before it begins, so that the count outlives the process. */
    fun begin(key: String) {
        open = key
        tries[key] = (tries[key] ?: 0) + 1
        store()
    }

    /** The last photo did no harm: its tries are not counted. */
    fun end() {
        tries.remove(open ?: return)
        open = null
        store()
    }

    private fun store() {
        val aside = File(file.path + ".partial")
        try {
            aside.writeText(tries.entries.joinToString("") { "${it.value}\t${it.key}\n" })
            aside.renameTo(file)
        } catch (error: IOException) {
            aside.delete() // without the list a run may repeat a photo; indexing itself goes on
        }
    }

    companion object {
        const val TRIES = 2
    }
}
