package gamer.people

import gamer.common.AlbumError
import gamer.common.PyText

/** A face of an album. [face]: its box in shares of the photo's sides. [isFixed]: the album's owner put it to this person. */
class StoredFace(val row: Long, val photo: String, val face: Face, val person: Long, val isFixed: Boolean)

/** Faces of one person. [name]: null until the owner gives one. */
class Person(val row: Long, val name: String?, val faces: List<StoredFace>) {
    /** Their photos' ids, each once, in the order of the faces. */
    val photos: List<String> get() = faces.map { it.photo }.distinct()
}

/**
 * The faces of an album by row (index/people/records.py). [names]: of the people that have one. [lookedAt]: the photos that were
 * searched → the hash of what was searched. [closed]: those in which nobody is searched any more, because someone in them was
 * forgotten. [written]: photo → the names that are memories of it because they were given. [encoder]: what made the vectors.
 */
class People(
    val faces: List<StoredFace> = emptyList(), val names: Map<Long, String> = emptyMap(), val lookedAt: Map<String, String?> = emptyMap(),
    val closed: Set<String> = emptySet(), val written: Map<String, Set<String>> = emptyMap(), val encoder: String = "",
) {
    /** Those with a face: the named first, then those with the most faces. */
    val people: List<Person> by lazy {
        faces.groupBy { it.person }.map { (row, faces) -> Person(row, names[row], faces) }
            .sortedWith(compareBy({ it.name == null }, { -it.faces.size }, { it.row }))
    }

    /** The people whom the owner named, or to whom the owner put a face: never merged unasked. */
    val held: Set<Long> get() = names.keys + faces.filter { it.isFixed }.map { it.person }

    /** The person with this number. Raises [AlbumError] where there is none any more. */
    fun person(row: Long): Person = people.firstOrNull { it.row == row } ?: throw AlbumError("there is nobody called 'p$row': look again who is there")

    /** As if a person had never been found. */
    fun without(person: Person) = People(faces.filter { it.person != person.row }, names - person.row, lookedAt, closed, written, encoder)

    /** Photo → the names of the people whose faces it shows, in alphabetical order. */
    val namedIn: Map<String, List<String>> by lazy {
        faces.groupBy({ it.photo }, { names[it.person] }).mapValues { it.value.filterNotNull().distinct().sorted() }.filterValues { it.isNotEmpty() }
    }

    companion object {
        private const val MAX_NAME = 80 // characters

        /** A name in one line. Raises [AlbumError] for one that is empty, too long, or would be read as several. */
        fun checkedName(name: String): String {
            val plain = StringBuilder().apply { for (cp in PyText.codePoints(name)) appendCodePoint(if (PyText.isPrintable(cp)) cp else ' '.code) }
            val line = PyText.split(plain.toString()).joinToString(" ")
            val length = line.codePointCount(0, line.length)
            if (length !in 1..MAX_NAME) throw AlbumError("a name has 1 to $MAX_NAME characters, this one has $length: give another")
            if ("," in line) throw AlbumError("${PyText.repr(line)}: a name has no comma, which stands between the names of several people")
            if (line[0] in "pP" && line.length > 1 && line.drop(1).all { it in '0'..'9' }) {
                throw AlbumError("${PyText.repr(line)}: is how people without a name are called: give another")
            }
            return line
        }
    }
}
