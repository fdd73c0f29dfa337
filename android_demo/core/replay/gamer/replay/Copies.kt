package gamer.replay

import java.io.File
import java.nio.file.Files
import org.json.JSONObject

/** Copies of a fixture's files, damaged if a case asks for it, and deleted when the program ends. */
object Copies {
    fun of(folder: File, given: JSONObject): File {
        val copy = File(stage(), "album.gamer")
        copy.writeBytes(edited(File(folder, given.getString("file")).readBytes(), given))
        return copy
    }

    /** A new, empty folder. */
    fun stage(): File {
        val made = Files.createTempDirectory("replay").toFile()
        Runtime.getRuntime().addShutdownHook(Thread { made.deleteRecursively() })
        return made
    }
}
