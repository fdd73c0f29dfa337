package gamer.screen

/**
 * Where a picture lies on a screen: [scale] pixels of the screen for one of the picture, its left upper corner at [x], [y].
 * A picture never leaves the screen to one side: where it is smaller than the screen it is in the middle.
 */
data class Zoom(val screen: Size, val picture: Size, val scale: Float, val x: Float, val y: Float, val most: Float = MOST) {
    data class Size(val width: Float, val height: Float)

    private val whole: Float get() = minOf(screen.width / picture.width, screen.height / picture.height)

    /** Whether the whole picture is seen. */
    val isWhole: Boolean get() = scale <= whole * 1.001f

    /** Larger by [factor], between the whole picture and [most] times that; the point [atX], [atY] of the screen stays where it is. */
    fun by(factor: Float, atX: Float, atY: Float): Zoom {
        val next = (scale * factor).coerceIn(whole, whole * most)
        return copy(scale = next, x = atX - (atX - x) * next / scale, y = atY - (atY - y) * next / scale).held()
    }

    fun moved(right: Float, down: Float): Zoom = copy(x = x + right, y = y + down).held()

    private fun held(): Zoom = copy(x = held(x, screen.width, picture.width * scale), y = held(y, screen.height, picture.height * scale))

    private fun held(at: Float, room: Float, length: Float): Float = if (length <= room) (room - length) / 2 else at.coerceIn(room - length, 0f)

    companion object {
        const val MOST = 8f

        /** The whole picture, in the middle. */
        fun whole(screen: Size, picture: Size, most: Float = MOST): Zoom = Zoom(screen, picture, 1f, 0f, 0f, most).let { it.copy(scale = it.whole).held() }
    }
}
