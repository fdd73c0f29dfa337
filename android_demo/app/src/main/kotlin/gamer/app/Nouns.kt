package gamer.app

import gamer.search.Remark

/** [said]: why it was found, or when it was taken. [begins]: of a video, from where it is played, in ms; null for a photo. */
class FoundPhoto(val id: String, val path: String?, val memory: String?, val said: String, val begins: Long? = null)

/**
 * [here]: the probability that the album holds what is meant at all. [remarks]: what else the query asked for, and what to tell of it. [count]: of the
 * photos shown, or the number that was asked for. [trace]: one paragraph for each layer.
 */
class Found(val photos: List<FoundPhoto>, val here: Double, val remarks: List<Remark>, val count: Int, val trace: List<String>)
