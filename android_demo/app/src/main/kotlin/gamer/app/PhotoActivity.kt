package gamer.app

import android.app.Activity
import android.content.Context
import android.content.Intent
import android.graphics.Bitmap
import android.graphics.Matrix
import android.net.Uri
import android.os.Bundle
import android.view.Menu
import android.view.MenuItem
import android.view.MotionEvent
import android.widget.ImageView
import gamer.screen.Zoom
import java.util.concurrent.Executors

/** One of the photos found, on the whole screen: zoomed, shared, opened in the gallery, with the reasons why it was found. */
class PhotoActivity : Activity() {
    private val reader = Executors.newSingleThreadExecutor()
    private lateinit var photos: Array<String> // of each photo its id, path, memory and reasons
    private lateinit var view: Zoomed
    @Volatile private var at = 0

    override fun onCreate(saved: Bundle?) {
        super.onCreate(saved)
        photos = intent.getStringArrayExtra(PHOTOS) ?: emptyArray()
        at = (saved ?: intent.extras)?.getInt(AT) ?: 0
        view = Zoomed(this, ::turn)
        content(view)
        turn(0)
    }

    override fun onSaveInstanceState(kept: Bundle) {
        kept.putInt(AT, at)
        super.onSaveInstanceState(kept)
    }

    override fun onDestroy() {
        reader.shutdownNow()
        super.onDestroy()
    }

    override fun onCreateOptionsMenu(menu: Menu): Boolean {
        for ((number, name) in listOf(R.string.why, R.string.share, R.string.open, R.string.similar).withIndex()) menu.add(0, number, number, name)
        return true
    }

    override fun onOptionsItemSelected(item: MenuItem): Boolean {
        val uri = uri()
        when {
            item.itemId == 0 -> startActivity(TraceActivity.intent(this, listOf(known(0), known(2), known(3))))
            item.itemId == 3 -> startActivity(ShelfActivity.like(this, known(0)))
            uri == null -> return false
            item.itemId == 1 -> hand(Intent(Intent.ACTION_SEND).setType("image/*").putExtra(Intent.EXTRA_STREAM, uri))
            else -> hand(Intent(Intent.ACTION_VIEW).setDataAndType(uri, "image/*"))
        }
        return true
    }

    /** The receiver may read this one photo, and only until it has ended. */
    private fun hand(to: Intent) = startActivity(Intent.createChooser(to.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION), null))

    private fun known(part: Int): String = photos[at * PARTS + part]

    private fun uri(): Uri? = known(1).takeIf { it.startsWith("content:") }?.let(Uri::parse)

    /** Shows the photo that is [steps] further in the list, if there is one. */
    private fun turn(steps: Int) {
        val next = at + steps
        if (next < 0 || (next + 1) * PARTS > photos.size) return
        at = next
        title = getString(R.string.photo_of, at + 1, photos.size / PARTS)
        view.contentDescription = known(2).ifEmpty { title }
        view.show(null)
        val shown = uri() ?: return
        reader.execute {
            if (uri() != shown) return@execute // swiped away meanwhile
            val bitmap = Pictures(PhotoStore(this)).shown(shown, LEAST)
            runOnUiThread { if (uri() == shown) view.show(bitmap) }
        }
    }

    companion object {
        const val PHOTOS = "photos"
        const val AT = "at"
        private const val PARTS = 4
        private const val LEAST = 1_600 // pixels of the shorter side, so that zooming shows more

        fun intent(context: Context, found: List<FoundPhoto>, at: Int): Intent = Intent(context, PhotoActivity::class.java)
            .putExtra(PHOTOS, found.flatMap { listOf(it.id, it.path ?: "", it.memory ?: "", it.said) }.toTypedArray()).putExtra(AT, at)
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
