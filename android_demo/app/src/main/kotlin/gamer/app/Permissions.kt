package gamer.app

import android.Manifest
import android.app.Activity
import android.content.Context
import android.content.Intent
import android.content.pm.PackageManager.PERMISSION_GRANTED
import android.net.Uri
import android.os.Build
import android.provider.Settings
import gamer.screen.Access

/**
 * The photos and videos that the user lets the app see, by the permissions of each Android version. From Android 14 a user
 * may choose some; asking again lets the user choose others. Only `ask` requests a permission.
 */
object Permissions {
    // These names are newer than the platform that the app is compiled against.
    private const val IMAGES = "android.permission.READ_MEDIA_IMAGES"
    private const val VIDEOS = "android.permission.READ_MEDIA_VIDEO"
    private const val CHOSEN_IMAGES = "android.permission.READ_MEDIA_VISUAL_USER_SELECTED"
    private const val LOCATION = "android.permission.ACCESS_MEDIA_LOCATION"
    const val REQUEST = 1

    fun access(context: Context): Access = when {
        Build.VERSION.SDK_INT >= 33 && granted(context, IMAGES) -> Access.ALL
        Build.VERSION.SDK_INT >= 34 && granted(context, CHOSEN_IMAGES) -> Access.CHOSEN
        Build.VERSION.SDK_INT < 33 && granted(context, Manifest.permission.READ_EXTERNAL_STORAGE) -> Access.ALL
        else -> Access.NONE
    }

    /**
     * Whether positions may be read from the pictures; without this permission MediaStore removes them.
     */
    fun places(context: Context): Boolean = Build.VERSION.SDK_INT < 29 || granted(context, LOCATION)

    /** Whether the user refused so that the system does not ask any more; known after an answer only. */
    fun isRefused(activity: Activity): Boolean =
        access(activity) == Access.NONE && !activity.shouldShowRequestPermissionRationale(if (Build.VERSION.SDK_INT >= 33) IMAGES else Manifest.permission.READ_EXTERNAL_STORAGE)

    /** The system's page of the app, where photos can be allowed after a refusal. */
    fun settings(context: Context): Intent = Intent(Settings.ACTION_APPLICATION_DETAILS_SETTINGS, Uri.fromParts("package", context.packageName, null))

    /** Asks for the videos where only pictures were allowed: before the app indexed them, it did not ask. Once, while it runs. */
    fun askForVideos(activity: Activity) {
        if (wasAsked || Build.VERSION.SDK_INT < 33 || !granted(activity, IMAGES) || granted(activity, VIDEOS)) return
        wasAsked = true
        activity.requestPermissions(arrayOf(VIDEOS), REQUEST)
    }

    private var wasAsked = false

    fun ask(activity: Activity) {
        val wanted = when {
            Build.VERSION.SDK_INT >= 34 -> arrayOf(IMAGES, VIDEOS, CHOSEN_IMAGES, LOCATION)
            Build.VERSION.SDK_INT == 33 -> arrayOf(IMAGES, VIDEOS, LOCATION)
            Build.VERSION.SDK_INT >= 29 -> arrayOf(Manifest.permission.READ_EXTERNAL_STORAGE, LOCATION)
            else -> arrayOf(Manifest.permission.READ_EXTERNAL_STORAGE)
        }
        activity.requestPermissions(wanted, REQUEST)
    }

    private fun granted(context: Context, permission: String) = context.checkSelfPermission(permission) == PERMISSION_GRANTED
}
