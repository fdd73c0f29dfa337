package gamer.app

import android.app.Activity
import android.app.PendingIntent
import android.content.ContentResolver
import android.content.Intent
import android.content.IntentSender
import android.net.Uri
import android.os.Build
import android.provider.MediaStore
import android.view.Menu
import android.view.MenuItem
import android.widget.Toast
import gamer.common.oneLine

/**
 * What the phone's gallery does with photos: it puts them into its trash and marks them after asking the person itself, from
 * Android 11 on. Before, an app could change the photos of others only with a permission that this one does not have.
 */
object Gallery {
    private const val TRASH = 11
    private const val MARK = 12
    private val GONE = HashSet<String>() // addresses; all is used on the main thread only
    private var asked = emptyList<String>()

    /** Whether it asks the person for others, and knows favourites. */
    val canAsk: Boolean get() = Build.VERSION.SDK_INT >= 30

    enum class Deed(val title: Int) {
        SHARE(R.string.share), FAVOURITE(R.string.favourite), NO_FAVOURITE(R.string.no_favourite), DELETE(R.string.delete)
    }

    /** Adds what can be done with photos to a menu that has [own] entries, by [deed] of theirs. */
    fun offer(menu: Menu, own: Int = 0) {
        for (deed in Deed.values()) if (deed == Deed.SHARE || canAsk) (own + deed.ordinal).let { menu.add(0, it, it, deed.title) }
    }

    fun deed(item: MenuItem, own: Int = 0): Deed? = Deed.values().getOrNull(item.itemId - own)

    /** Does it, or asks, and then tells the screen by `onActivityResult`; photos that are not on this phone are left out. */
    fun begin(of: Activity, deed: Deed, photos: List<FoundPhoto>) {
        val addresses = photos.mapNotNull(::address).distinct() // parts of a video have one
        val uris = addresses.map(Uri::parse)
        when {
            uris.isEmpty() -> say(of, of.getString(R.string.not_here))
            deed == Deed.SHARE -> share(of, uris)
            deed == Deed.DELETE -> {
                asked = addresses
                ask(of, TRASH, "createTrashRequest", uris, true)
            }
            else -> ask(of, MARK, "createFavoriteRequest", uris, deed == Deed.FAVOURITE)
        }
    }

    /** What `onActivityResult` was told: whether photos are gone now, as [isGone] says; the album follows with its next indexing. */
    fun took(code: Int, result: Int): Boolean {
        if (code != TRASH || result != Activity.RESULT_OK) return false
        GONE += asked
        return true
    }

    /** A photo may come back from the trash. To be called once no screen shows those that are gone. */
    fun forget() = GONE.clear()

    fun isGone(photo: FoundPhoto): Boolean = photo.path in GONE

    fun address(photo: FoundPhoto): String? = photo.path?.takeIf { it.startsWith("content:") }

    /** The receiver may read these originals, and only until it has ended. */
    private fun share(of: Activity, photos: List<Uri>) {
        val to = if (photos.size == 1) Intent(Intent.ACTION_SEND).putExtra(Intent.EXTRA_STREAM, photos[0])
        else Intent(Intent.ACTION_SEND_MULTIPLE).putParcelableArrayListExtra(Intent.EXTRA_STREAM, ArrayList(photos))
        hand(of, to.setType(kind(photos)))
    }

    /** The kind of media of photos, of videos, or of both. */
    fun kind(of: List<Uri>): String = of.map { if (Shot.isVideo("$it")) "video/*" else "image/*" }.distinct().singleOrNull() ?: "*/*"

    fun hand(of: Activity, to: Intent) = of.startActivity(Intent.createChooser(to.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION), null))

    private fun ask(of: Activity, code: Int, question: String, photos: List<Uri>, value: Boolean) = try {
        // MediaStore's questions are newer than the platform that the app is compiled against.
        val ask = MediaStore::class.java.getMethod(question, ContentResolver::class.java, Collection::class.java, Boolean::class.javaPrimitiveType)
        val asked = ask.invoke(null, of.contentResolver, photos, value) as PendingIntent
        of.startIntentSenderForResult(asked.intentSender, code, null, 0, 0, 0)
    } catch (error: ReflectiveOperationException) { // the provider refused
        say(of, oneLine(error.cause ?: error))
    } catch (error: IntentSender.SendIntentException) {
        say(of, oneLine(error))
    }

    private fun say(of: Activity, words: String) = Toast.makeText(of, words, Toast.LENGTH_SHORT).show()
}
