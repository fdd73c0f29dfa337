package gamer.people

/** Left, top, width and height, in pixels of a picture if nothing else is said. */
data class FaceBox(val left: Double, val top: Double, val width: Double, val height: Double)

/**
 * A face in a photo. [box]: in shares of its sides, cut at its edges. [quality]: the detector's score, above 0; a clear face has 1.
 * [vector]: 128 numbers, compared by Euclidean distance.
 */
class Face(val box: FaceBox, val quality: Double, val vector: FloatArray)

/** A photo that was searched for faces, with the hash of the content that was searched. */
class LookedAt(val photo: String, val sha256: String?, val faces: List<Face>)
