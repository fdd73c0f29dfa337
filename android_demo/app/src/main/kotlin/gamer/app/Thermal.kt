package gamer.app

import android.content.Context
import android.os.Build
import android.os.PowerManager

/** The phone's thermal status, by PowerManager's names. */
object Thermal {
    private val NAMES = listOf("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")

    /** The present status; "unknown" below Android 10. */
    fun now(context: Context): String = status(context)?.let { NAMES.getOrNull(it) } ?: "unknown"

    /** The present status as PowerManager numbers it; null below Android 10. */
    fun status(context: Context): Int? {
        if (Build.VERSION.SDK_INT < 29) return null
        val power = context.getSystemService(Context.POWER_SERVICE) as PowerManager
        // PowerManager.getCurrentThermalStatus is newer than the platform that the app is compiled against.
        return PowerManager::class.java.getMethod("getCurrentThermalStatus").invoke(power) as Int
    }
}
