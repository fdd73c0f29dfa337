package gamer.app

import android.content.Context
import android.os.Build
import java.io.File

/**
 * The paths of the bundle and the album: in the app's own folder. From Android 11 on it is the one into which `adb push` can write;
 * before, other apps can read that one, and an album has places and memories.
 */
class Files(context: Context) {
    private val home: File = (if (Build.VERSION.SDK_INT < 30) null else context.getExternalFilesDir(null)) ?: context.filesDir
    val bundle = File(home, "bundle")

    /** The bundle before the present one, until the album that it is for is encoded again. */
    val before = File(home, "bundle.before")
    val album = File(home, "album.gamer")
    val skips = File(context.filesDir, "skipped.txt")
    val marks = File(context.filesDir, "favourites.txt")
    val measurements = File(context.cacheDir, "measurements")

    fun hasBundle(): Boolean = File(bundle, "manifest.json").isFile

    fun hasAlbum(): Boolean = album.isFile

    override fun toString(): String = home.path
}
