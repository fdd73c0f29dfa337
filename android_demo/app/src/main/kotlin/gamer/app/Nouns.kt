package gamer.app

import gamer.image.Pixels

/** A photo of the phone on its way into the album. [pixels] are read when it is its turn; null when they cannot be. */
class NewPhoto(
    val id: String,
    val path: String?,
    val takenAt: Long?,
    val offsetMinutes: Int?,
    val lat: Double?,
    val lon: Double?,
    val pixels: () -> Pixels?,
)

class FoundPhoto(val id: String, val path: String?, val probability: Double, val memory: String?, val why: String)

/** [here]: the probability that the album holds what is meant at all. [trace]: one paragraph a layer. */
class Found(val photos: List<FoundPhoto>, val here: Double, val trace: List<String>)

/** [models]: SHA-256 by role. [samples]: nanoseconds by layer. */
class Measured(val backend: String, val bundleSha256: String, val recipe: String, val models: Map<String, String>, val samples: Map<String, LongArray>)
