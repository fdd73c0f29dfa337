package gamer.app

import android.app.Activity
import android.app.PendingIntent
import android.content.ContentResolver
import android.content.Intent
import android.net.Uri
import android.os.Build
import android.provider.MediaStore
import android.widget.Toast

/**
 * What the phone's gallery does with photos: it deletes and marks them after asking the person itself, from Android 11 on. Before,
 * an app could change the photos of others only with a permission that this one does not have.
 */
object Gallery {
    /** The codes of the questions, as `onActivityResult` gets them. */
    const val DELETE = 11
    private const val MARK = 12
    private val GONE = HashSet<String>() // addresses; used on the main thread only

    val canAsk: Boolean get() = Build.VERSION.SDK_INT >= 30

    /** What a screen's menu offers for photos. */
    enum class Deed(val title: Int) {
        SHARE(R.string.share), FAVOURITE(R.string.favourite), NO_FAVOURITE(R.string.no_favourite), DELETE(R.string.delete);

        val isOffered: Boolean get() = this == SHARE || canAsk
    }

    /** Does it, or asks; photos that are not on this phone are left out. */
    fun begin(of: Activity, deed: Deed, photos: List<FoundPhoto>) {
        val uris = photos.mapNotNull(::address).map(Uri::parse)
        when {
            uris.isEmpty() -> Toast.makeText(of, R.string.not_here, Toast.LENGTH_SHORT).show()
            deed == Deed.SHARE -> share(of, uris)
            deed == Deed.DELETE -> ask(of, DELETE, "createDeleteRequest", uris)
            else -> ask(of, MARK, "createFavoriteRequest", uris, deed == Deed.FAVOURITE)
        }
    }

    /** To be told once the person has let the gallery delete them; the album follows with its next indexing. */
    fun deleted(photos: List<FoundPhoto>) {
        GONE += photos.mapNotNull(::address)
    }

    /** By then the album has followed. */
    fun forget() = GONE.clear()

    fun isGone(photo: FoundPhoto): Boolean = photo.path in GONE

    fun address(photo: FoundPhoto): String? = photo.path?.takeIf { it.startsWith("content:") }

    /** The receiver may read these originals, and only until it has ended. */
    private fun share(of: Activity, photos: List<Uri>) {
        val to = if (photos.size == 1) Intent(Intent.ACTION_SEND).putExtra(Intent.EXTRA_STREAM, photos[0])
        else Intent(Intent.ACTION_SEND_MULTIPLE).putParcelableArrayListExtra(Intent.EXTRA_STREAM, ArrayList(photos))
        hand(of, to.setType("image/*"))
    }

    fun hand(of: Activity, to: Intent) = of.startActivity(Intent.createChooser(to.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION), null))

    private fun ask(of: Activity, code: Int, question: String, photos: List<Uri>, vararg more: Boolean) {
        // MediaStore's questions are newer than the platform that the app is compiled against.
        val types = listOf(ContentResolver::class.java, Collection::class.java) + more.map { Boolean::class.javaPrimitiveType!! }
        val ask = MediaStore::class.java.getMethod(question, *types.toTypedArray())
        val asked = ask.invoke(null, of.contentResolver, photos, *more.toTypedArray()) as PendingIntent
        of.startIntentSenderForResult(asked.intentSender, code, null, 0, 0, 0)
    }
}
