package gamer.indexing

import gamer.album.Clip
import gamer.album.ClipPart
import gamer.image.Pixels

/** A frame of a video: upright, [at] so many ms from the video's begin. */
class Frame(val at: Long, val pixels: Pixels)

/** A video as the platform decodes it. Times are ms from its begin. */
interface Footage : AutoCloseable {
    val length: Long

    /**
     * The frame nearest to a time; null for one that cannot be decoded. [side]: pixels that its shorter side keeps, if it has them.
     * [isRough]: another frame near it will do, which costs less to decode.
     */
    fun frame(at: Long, side: Int, isRough: Boolean = false): Frame?
}

/** What the image encoder is shown of an item of the album: a photo's picture, or a video's frames at the times of [clip]. */
class Look(val frames: List<Pixels>, val clip: Clip? = null) {
    constructor(picture: Pixels) : this(listOf(picture))

    /** The frame that stands for the others. */
    val middle: Int get() = frames.size / 2
}

/**
 * Which frames of a video are looked at, and where a long one is cut (index/ingest/clips/clip_frames.py). Each call takes some two
 * minutes at most, and decodes no more than it must after twenty seconds.
 */
object ClipFrames {
    private const val HURRY_MS = 20_000L
    private const val LIMIT_MS = 120_000L
    private const val MOST = 15 // frames of an item
    private const val SIDE = 320
    private const val LONG = 30_000L // ms; a longer video is cut, into parts of at least SHORTEST
    private const val SHORTEST = 5_000L
    private const val MOST_PARTS = 12
    private const val STEPS = 240 // frames that are compared to cut a video
    private const val LEAST_STEP = 1_000L
    private const val ROUGH_SIDE = 64
    private const val CHANGED = 0.5 // half the pixels have other colours: a cut
    private const val BINS = 8 // of each colour, in a histogram

    /** The frames of a part of a video, or of the whole; null where none can be decoded, or [isStopped] ended it. */
    fun look(footage: Footage, part: ClipPart?, isStopped: () -> Boolean): Look? {
        val length = minOf(footage.length, Clip.LONGEST)
        val (start, end) = part ?: ClipPart(0, length)
        if (start >= length) return null // the video is another one by now
        val found = frames(footage, spread(start, minOf(end, length), MOST), SIDE, false, isStopped) ?: return null
        val frames = found.filter { it.at <= length }.ifEmpty { return null }
        return Look(frames.map { it.pixels }, Clip(start, minOf(end, length), length, frames.map { it.at }))
    }

    /** When the frame is that stands for a part of a video, or for the whole. */
    fun middle(footage: Footage, part: ClipPart?): Long = (part ?: ClipPart(0, minOf(footage.length, Clip.LONGEST))).run { spread(start, end, 1)[0] }

    /**
     * The parts into which a long video is cut where its picture changes; none for one that is not cut. Null where most frames cannot be
     * decoded, or [isStopped] ended it.
     */
    fun parts(footage: Footage, isStopped: () -> Boolean): List<ClipPart>? {
        val length = minOf(footage.length, Clip.LONGEST)
        if (length <= LONG) return emptyList()
        val times = (0 until length step maxOf(LEAST_STEP, length / STEPS)).toList()
        val frames = frames(footage, times, ROUGH_SIDE, true, isStopped)?.map { it.at to shares(it.pixels) } ?: return null
        val changes = frames.zipWithNext { (_, before), (at, after) -> at to change(before, after) }
        val bounds = listOf(0L) + cuts(changes, length) + length
        return if (bounds.size == 2) emptyList() else bounds.zipWithNext(::ClipPart)
    }

    /** Frames at or near [times], each later than the one before; null where most of them cannot be decoded. */
    private fun frames(footage: Footage, times: List<Long>, side: Int, isRough: Boolean, isStopped: () -> Boolean): List<Frame>? {
        val begun = System.nanoTime()
        val frames = ArrayList<Frame>()
        var unread = 0
        for (at in times) {
            val ms = (System.nanoTime() - begun) / 1_000_000
            if (isStopped() || ms > LIMIT_MS) return null
            val frame = footage.frame(at, side, isRough || ms > HURRY_MS)
            if (frame == null) unread++ else if (frame.at > (frames.lastOrNull()?.at ?: -1)) frames.add(frame)
        }
        return frames.takeIf { 2 * unread <= times.size }
    }

    /** Where to cut, ascending: at the greatest of the [changes] (time, how much), with at least SHORTEST ms between all. */
    fun cuts(changes: List<Pair<Long, Double>>, whole: Long): List<Long> {
        val chosen = ArrayList<Long>()
        for ((at, change) in changes.sortedWith(compareBy({ -it.second }, { it.first }))) {
            if (change < CHANGED || chosen.size == MOST_PARTS - 1) break
            if ((chosen + 0L + whole).all { Math.abs(at - it) >= SHORTEST }) chosen.add(at)
        }
        return chosen.sorted()
    }

    /** Times evenly within a span, in ms: one a second, at least three, at most [most]; one is the middle. */
    fun spread(start: Long, end: Long, most: Int): List<Long> {
        val count = minOf(most.toLong(), maxOf(3L, (end - start + 999) / 1_000))
        return (0 until count).map { start + (2 * it + 1) * (end - start) / (2 * count) }
    }

    /** The share of a picture's pixels that are of each colour. */
    fun shares(pixels: Pixels): DoubleArray {
        val out = DoubleArray(BINS * BINS * BINS)
        val count = pixels.width * pixels.height
        for (pixel in 0 until count) {
            var bin = 0
            for (colour in 0 until 3) bin = bin * BINS + (pixels.bytes[3 * pixel + colour].toInt() and 0xFF) / (256 / BINS)
            out[bin] += 1.0
        }
        for (at in out.indices) out[at] /= count.toDouble()
        return out
    }

    /** How many of a picture's pixels have another colour than the one's before, 0..1. */
    fun change(before: DoubleArray, after: DoubleArray): Double = before.indices.sumOf { Math.abs(after[it] - before[it]) } / 2
}
