package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.Matrix
import android.net.Uri
import android.os.Bundle
import android.view.Menu
import android.view.Gravity
import android.view.MenuItem
import android.view.MotionEvent
import android.view.View
import android.widget.FrameLayout
import android.widget.ImageView
import android.widget.MediaController
import android.widget.VideoView
import gamer.screen.Zoom
import java.util.concurrent.Executors

/**
 * One of the photos found, on the whole screen: zoomed, shared, opened in the gallery, with the reasons why it was found. A video is
 * played from where the search found what is meant.
 */
class PhotoActivity : Activity() {
    private val reader = Executors.newSingleThreadExecutor()
    private lateinit var photos: List<FoundPhoto>
    private lateinit var view: Zoomed
    private lateinit var video: VideoView
    @Volatile private var at = 0
    private var position = UNKNOWN // of the video that is shown, in ms

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        photos = intent.getStringArrayExtra(PHOTOS).orEmpty().toList().chunked(PARTS) { (id, path, memory, why, begins) -> FoundPhoto(id, path, memory, why, begins.toLongOrNull()) }
        val id = saved?.getString(ID) ?: photos.getOrNull(intent.getIntExtra(AT, 0))?.id
        at = maxOf(0, photos.indexOfFirst { it.id == id })
        position = saved?.getInt(POSITION, UNKNOWN) ?: UNKNOWN
        view = Zoomed(this, ::turn)
        val swipes = ZoomTouch(this, { null }, {}, { 1f }, ::turn)
        video = VideoView(this).apply {
            setMediaController(MediaController(context))
            isClickable = true // else it would be told of no more than a finger's first touch
            setOnTouchListener { _, event -> swipes.take(event); false }
        }
        content(FrameLayout(this).apply {
            addView(view)
            addView(video, FrameLayout.LayoutParams(FrameLayout.LayoutParams.MATCH_PARENT, FrameLayout.LayoutParams.WRAP_CONTENT, Gravity.CENTER))
        })
        turn(0)
    }

    override fun onSaveInstanceState(kept: Bundle) {
        photos.getOrNull(at)?.let { kept.putString(ID, it.id) }
        kept.putInt(POSITION, position)
        super.onSaveInstanceState(kept)
    }

    /** The player is gone while another screen covers it. */
    override fun onPause() {
        if (video.visibility == View.VISIBLE) position = video.currentPosition
        video.pause()
        super.onPause()
    }

    override fun onDestroy() {
        reader.shutdownNow()
        super.onDestroy()
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        for ((number, name) in OWN.withIndex()) menu.add(0, number, number, name)
        Gallery.offer(menu, OWN.size)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        val photo = photos.getOrNull(at) ?: return false
        when (OWN.getOrNull(item.itemId)) {
            R.string.why -> startActivity(TraceActivity.intent(this, listOf(photo.id, photo.memory.orEmpty(), photo.said)))
            R.string.similar -> startActivity(ShelfActivity.like(this, photo.id))
            R.string.open -> uri()?.let { Gallery.hand(this, Intent(Intent.ACTION_VIEW).setDataAndType(it, Gallery.kind(listOf(it)))) } ?: return false
            else -> Gallery.begin(this, Gallery.deed(item, OWN.size) ?: return super.onOptionsItemSelected(item), listOf(photo))
        }
        return true
    }

    override fun onActivityResult(code: Int, result: Int, data: Intent?) {
        if (Gallery.took(code, result)) leaveOut()
    }

    override fun onResume() {
        super.onResume()
        leaveOut()
        if (video.visibility == View.VISIBLE) video.seekTo(position)
    }

    /** Shows the photo behind those that were deleted meanwhile, or the last; ends without any. */
    private fun leaveOut() {
        val left = photos.filterNot(Gallery::isGone)
        if (left.size == photos.size) return
        val next = photos.drop(at).firstOrNull { !Gallery.isGone(it) } ?: left.lastOrNull() ?: return finish()
        photos = left
        at = left.indexOf(next)
        position = UNKNOWN
        turn(0)
    }

    private fun uri(): Uri? = photos.getOrNull(at)?.let(Gallery::address)?.let(Uri::parse)

    /** Shows the photo that is [steps] further in the list, if there is one. */
    private fun turn(steps: Int) {
        val next = at + steps
        if (next !in photos.indices) return
        if (steps != 0) position = UNKNOWN
        at = next
        title = getString(R.string.photo_of, at + 1, photos.size)
        view.contentDescription = photos[at].memory.orEmpty().ifEmpty { title }
        view.show(null)
        video.stopPlayback()
        video.visibility = View.GONE
        val shown = uri() ?: return
        photos[at].begins?.let { return play(shown, it) }
        val id = photos[at].id
        reader.execute {
            if (uri() != shown) return@execute // swiped away meanwhile
            val bitmap = Pictures(PhotoStore(this)).shown(shown, id, LEAST)
            runOnUiThread { if (uri() == shown) view.show(bitmap) }
        }
    }

    private fun play(uri: Uri, from: Long) {
        if (position == UNKNOWN) position = from.toInt()
        video.visibility = View.VISIBLE
        video.setVideoURI(uri)
        video.seekTo(position)
        video.start()
    }

    companion object {
        const val PHOTOS = "photos"
        const val AT = "at"
        private const val ID = "id"
        private const val POSITION = "position"
        private const val UNKNOWN = -1
        private const val PARTS = 5
        private val OWN = listOf(R.string.why, R.string.open, R.string.similar)
        private const val LEAST = 1_600 // pixels of the shorter side, so that zooming shows more

        fun intent(context: Context, found: List<FoundPhoto>, at: Int): Intent = Intent(context, PhotoActivity::class.java)
            .putExtra(PHOTOS, found.flatMap { listOf(it.id, it.path ?: "", it.memory ?: "", it.said, it.begins?.toString() ?: "") }.toTypedArray()).putExtra(AT, at)
    }
}

/** A picture that two fingers, a double tap and a drag zoom and move, and a swipe changes: [turn] is told by how many. */
private class Zoomed(context: Context, turn: (Int) -> Unit) : ImageView(context) {
    private var zoom: Zoom? = null
    private val touch = ZoomTouch(context, { zoom }, { set(it) }, { if (it.isWhole) 3f else 1 / Zoom.MOST }, turn)

    init {
        scaleType = ScaleType.MATRIX
        setBackgroundColor(0xFF000000.toInt())
    }

    fun show(bitmap: Bitmap?) {
        if (bitmap == null) setImageDrawable(null) else setImageBitmap(bitmap)
        zoom = null
        fit()
    }

    override fun onSizeChanged(width: Int, height: Int, oldWidth: Int, oldHeight: Int) {
        super.onSizeChanged(width, height, oldWidth, oldHeight)
        fit()
    }

    override fun onTouchEvent(event: MotionEvent): Boolean = touch.take(event)

    private fun fit() {
        val drawn = drawable ?: return
        if (width == 0 || height == 0 || drawn.intrinsicWidth < 1 || drawn.intrinsicHeight < 1) return
        set(Zoom.whole(Zoom.Size(width.toFloat(), height.toFloat()), Zoom.Size(drawn.intrinsicWidth.toFloat(), drawn.intrinsicHeight.toFloat())))
    }

    private fun set(next: Zoom) {
        zoom = next
        imageMatrix = Matrix().apply { setScale(next.scale, next.scale); postTranslate(next.x, next.y) }
    }
}
