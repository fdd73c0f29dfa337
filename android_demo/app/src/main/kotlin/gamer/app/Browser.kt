package gamer.app

import android.content.Context
import gamer.album.Album
import gamer.album.AlbumWriter
import gamer.album.Check
import gamer.browse.Cell
import gamer.browse.Month
import gamer.browse.Shelf
import gamer.browse.Square
import gamer.people.People
import gamer.people.Person
import java.io.File
import java.text.DateFormat
import java.util.Date
import java.util.TimeZone

/** The album without a query. */
class Browser(private val path: File) : AutoCloseable {
    private val album = Album.open(path, AndroidDatabase)

    fun months(): List<Month> = Shelf.months(album)

    fun months(within: Set<Square>): List<Month> = Shelf.months(album, Shelf.within(album, within))

    fun cells(): List<Cell> = Shelf.cells(album)

    /** Who was found in the photos: the named first, then those with the most faces. */
    fun people(): List<Person> = album.people()?.people.orEmpty()

    fun photos(person: Long): IntArray = (album.people() ?: People()).person(person).photos.map(album::rowOf).toIntArray()

    /** Their clearest face. */
    fun face(person: Person): Addressed = person.faces.maxByOrNull { it.face.quality }!!.let { Addressed(it.photo, album.path(album.rowOf(it.photo)).second, it.face.box) }

    /** Rows, the most like it first. */
    fun similar(id: String): IntArray = Shelf.similar(album, album.rowOf(id), MOST_SIMILAR).rows

    /** What a square of the timeline shows of a row; null if the row is damaged. */
    fun addressed(row: Int): Addressed? = try {
        album.path(row).let { (id, path) -> Addressed(id, path) }
    } catch (error: RuntimeException) { // also of a screen that was closed meanwhile
        null
    }

    fun photo(row: Int): FoundPhoto = album.photo(row).let { photo ->
        val time = photo.wall?.let { DateFormat.getDateTimeInstance().apply { timeZone = TimeZone.getTimeZone("UTC") }.format(Date(it)) }
        FoundPhoto(photo.id, photo.path, photo.memories.firstOrNull()?.text, time.orEmpty(), album.clip(photo.id)?.start)
    }

    override fun close() = album.close()

    companion object {
        private const val MOST_SIMILAR = 60

        fun open(context: Context) = Browser(Files(context).album)

        /** Checks the album, and repairs what can be. Returns what was found, done, and is left, one line each. */
        fun check(context: Context): List<String> {
            val path = Files(context).album
            val found = Check.problems(path, AndroidDatabase)
            if (found.isEmpty()) return listOf(context.getString(R.string.no_damage))
            val done = AlbumWriter.extend(path, AndroidDatabase).use { it.repair() }
            return found + done + Check.problems(path, AndroidDatabase).ifEmpty { listOf(context.getString(R.string.repaired)) }
        }
    }
}
