package gamer.replay

import gamer.bundle.Bundle
import gamer.image.LineBox
import gamer.image.LineBoxes
import gamer.image.Pixels
import gamer.indexing.Written
import gamer.models.FaceReader
import gamer.models.Landmarks
import gamer.models.LineReader
import gamer.models.OrtBackend
import gamer.people.Grouping
import java.io.File
import org.json.JSONObject

/** Lines in a map of probabilities, what is cut from a picture, codes, and what looks like print. */
class PrintedPlayer(private val pictures: JSONObject) : Player {
    override fun play(case: Case): Any {
        val g = case.given
        return when (g.getString("op")) {
            "boxes" -> {
                val bytes = g.bytes("map")
                val likely = FloatArray(bytes.size) { (bytes[it].toInt() and 0xFF) / 255f }
                val (across, down) = g.reals("scale")
                val found = LineBoxes.find(likely, g.getInt("width"), g.getInt("height"), g.getInt("stride"))
                json("boxes" to list(found.map { list(values(it.scaled(across, down))) }))
            }
            "order" -> {
                val boxes = g.getJSONArray("boxes").arrays().map { a -> box((0 until 6).map { a.getDouble(it) }) }
                json("order" to list(LineBoxes.inReadingOrder(boxes).map(boxes::indexOf)))
            }
            "cut" -> {
                val line = LineBoxes.cut(pixels(pictures.getJSONObject(g.getString("picture"))), box(g.reals("box")), g.getInt("cut"))
                json("values" to list((line.indices step EVERY).map { real(line[it]) }))
            }
            "decode" -> {
                val (text, confidence) = LineReader.decoded(g.floats("codes"), g.floats("scores"), g.texts("characters"))
                json("text" to text, "confidence" to confidence)
            }
            "size" -> json("size" to list(LineReader.detectedSize(g.getInt("width"), g.getInt("height"), g.getInt("fixed")).toList()))
            "written" -> Written.Grey.of(pixels(g)).let { json("flat" to Written.flat(it), "print" to Written.print(it)) }
            else -> throw IllegalArgumentException("op ${g.getString("op")}")
        }
    }

    private companion object {
        const val EVERY = 97 // values of a cut of which one is compared
    }
}

/** What the networks of a bundle read in a picture. */
class LinesPlayer(folder: File) : Player {
    private val reader = Bundle.open(folder).run {
        LineReader(session(LineReader.DETECTOR), session(LineReader.RECOGNISER), LineReader.characters(data(LineReader.CHARACTERS)))
    }

    override fun play(case: Case): Any {
        val lines = reader.read(pixels(case.given))
        return json("texts" to list(lines.map { it.text }), "boxes" to list(lines.map { list(values(it.box)) }))
    }
}

/** The faces that the networks of a bundle find in a picture, and the people that faces become. */
class FacesPlayer(folder: File) : Player {
    private val reader = Bundle.open(folder).run {
        FaceReader(session(FaceReader.DETECTOR), session(FaceReader.ENCODER), Landmarks.of(this), "")
    }

    override fun play(case: Case): Any {
        val g = case.given
        if (g.getString("op") == "group") {
            val persons = g.ints("persons").map { it.toLong() }
            val values = g.floats("vectors")
            val dim = values.size / persons.size
            val vectors = persons.indices.map { values.copyOfRange(it * dim, (it + 1) * dim) }
            val held = g.ints("held").map { it.toLong() }.toSet()
            return json("persons" to list(Grouping.group(vectors, persons, g.ints("fresh").toList(), held, g.getDouble("threshold"))))
        }
        val found = reader.read(pixels(g))
        return json(
            "boxes" to list(found.map { it.box.run { list(listOf(left, top, width, height)) } }), "qualities" to list(found.map { it.quality }),
            "vectors" to list(found.map { face -> list(face.vector.map { real(it) }) }),
        )
    }
}

/** A component of a bundle that has no more than a part. */
private fun Bundle.session(role: String) = manifest.artifact(role, OrtBackend.target).let { OrtBackend.open(checked(it), it, 2) }

private fun pixels(given: JSONObject): Pixels {
    val bytes = if (given.has("rgb")) given.bytes("rgb") else given.bytes("grey").let { grey -> ByteArray(3 * grey.size) { grey[it / 3] } }
    return Pixels(given.getInt("width"), given.getInt("height"), bytes)
}

private fun box(v: List<Double>) = LineBox(v[0], v[1], v[2], v[3], v[4], v[5])

private fun values(box: LineBox) = box.run { listOf(x, y, alongX, alongY, downX, downY) }
