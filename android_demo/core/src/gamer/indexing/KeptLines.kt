package gamer.indexing

import java.io.File
import java.io.IOException

/** A small file of lines beside the album. Without it, or where it cannot be written, indexing itself goes on. */
internal object KeptLines {
    fun read(file: File): List<String> = try {
        if (file.isFile) file.readLines() else emptyList()
    } catch (error: IOException) {
        emptyList()
    }

    fun write(file: File, lines: Iterable<String>) {
        val aside = File(file.path + ".partial")
        try {
            aside.writeText(lines.joinToString("") { "$it\n" })
            aside.renameTo(file)
        } catch (error: IOException) {
            aside.delete()
        }
    }
}
