package gamer.app

/** [said]: why it was found, or when it was taken. */
class FoundPhoto(val id: String, val path: String?, val memory: String?, val said: String)

/**
 * [here]: the probability that the album holds what is meant at all. [trace]: one paragraph for each layer.
 */
class Found(val photos: List<FoundPhoto>, val here: Double, val trace: List<String>)

/** [models]: SHA-256 by role. [samples]: nanoseconds by layer. */
class Measured(val backend: String, val bundleSha256: String, val recipe: String, val models: Map<String, String>, val samples: Map<String, LongArray>)
