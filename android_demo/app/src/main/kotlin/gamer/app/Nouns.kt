package gamer.app

import java.util.Locale

class FoundPhoto(val id: String, val path: String?, val probability: Double, val memory: String?, private val why: String) {
    /** Why it was found. */
    fun said(): String = "likely %.0f %%\n%s".format(Locale.ROOT, probability * 100, why)
}

/**
 * [here]: the probability that the album holds what is meant at all. [trace]: one paragraph for each layer.
 */
class Found(val photos: List<FoundPhoto>, val here: Double, val trace: List<String>)

/** [models]: SHA-256 by role. [samples]: nanoseconds by layer. */
class Measured(val backend: String, val bundleSha256: String, val recipe: String, val models: Map<String, String>, val samples: Map<String, LongArray>)
