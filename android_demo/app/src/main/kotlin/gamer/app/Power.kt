package gamer.app

import android.content.Context
import android.content.Intent
import android.content.IntentFilter
import android.os.BatteryManager
import gamer.screen.Pause

/** The phone's battery and heat, as far as indexing minds them. */
object Power {
    fun pause(context: Context): Pause? {
        val battery = context.registerReceiver(null, IntentFilter(Intent.ACTION_BATTERY_CHANGED))
        val level = battery?.getIntExtra(BatteryManager.EXTRA_LEVEL, -1) ?: -1
        val full = battery?.getIntExtra(BatteryManager.EXTRA_SCALE, -1) ?: -1
        val isCharging = (battery?.getIntExtra(BatteryManager.EXTRA_PLUGGED, 0) ?: 0) != 0
        return Pause.of(if (level >= 0 && full > 0) 100 * level / full else null, isCharging, Thermal.status(context))
    }
}
