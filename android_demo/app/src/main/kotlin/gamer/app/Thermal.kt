package gamer.app

import android.content.Context
import android.os.Build
import android.os.PowerManager

/**
 * The phone's thermal status before and after a measurement, by PowerManager's names: times measured on a
 * throttled phone are not comparable with others.
 */
class Thermal(val before: String, val after: String) {
    override fun toString(): String = if (before == after) before else "$before, then $after"

    companion object {
        private val NAMES = listOf("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")

        /** The present status; "unknown" below Android 10. */
        fun now(context: Context): String {
            if (Build.VERSION.SDK_INT < 29) return "unknown"
            val power = context.getSystemService(Context.POWER_SERVICE) as PowerManager
            // PowerManager.getCurrentThermalStatus is newer than the platform that the app is compiled
            // against.
            val status = PowerManager::class.java.getMethod("getCurrentThermalStatus").invoke(power) as Int
            return NAMES.getOrElse(status) { "unknown" }
        }
    }
}
