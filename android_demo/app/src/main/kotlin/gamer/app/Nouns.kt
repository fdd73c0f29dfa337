package gamer.app

/** [said]: why it was found, or when it was taken. */
class FoundPhoto(val id: String, val path: String?, val memory: String?, val said: String)

/**
 * [here]: the probability that the album holds what is meant at all. [trace]: one paragraph for each layer.
 */
class Found(val photos: List<FoundPhoto>, val here: Double, val trace: List<String>)
