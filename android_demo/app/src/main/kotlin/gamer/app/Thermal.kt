package gamer.app

import android.content.Context
import android.os.Build
import android.os.PowerManager

/** How hot the phone was before and after a measurement, in PowerManager's words: a throttled phone measures its fan, not its chip. */
class Thermal(val before: String, val after: String) {
    override fun toString(): String = if (before == after) before else "$before, then $after"

    companion object {
        private val NAMES = listOf("none", "light", "moderate", "severe", "critical", "emergency", "shutdown")

        /** "unknown" below Android 10. */
        fun now(context: Context): String {
            if (Build.VERSION.SDK_INT < 29) return "unknown"
            val power = context.getSystemService(Context.POWER_SERVICE) as PowerManager
            // PowerManager.getCurrentThermalStatus, newer than the platform that this is compiled against.
            val status = PowerManager::class.java.getMethod("getCurrentThermalStatus").invoke(power) as Int
            return NAMES.getOrElse(status) { "unknown" }
        }
    }
}
