package gamer.app

import android.content.Context
import android.content.Intent
import android.content.IntentFilter
import android.os.BatteryManager
import android.os.Build
import android.os.PowerManager
import gamer.bench.Device
import gamer.bench.State
import java.io.File

/** What a measurement says of the phone, and of its state: times of a phone that is hot or saves its battery are not comparable. */
object Condition {
    fun device(context: Context): Device = Device(
        "${Build.MANUFACTURER} ${Build.MODEL}", "Android ${Build.VERSION.RELEASE}", Build.MODEL, Build.DEVICE, soc(), Build.VERSION.SECURITY_PATCH,
        context.packageManager.getPackageInfo(context.packageName, 0).run { "$packageName $versionName" },
    )

    fun now(context: Context): State {
        val battery = context.registerReceiver(null, IntentFilter(Intent.ACTION_BATTERY_CHANGED))
        fun of(name: String): Int? = battery?.getIntExtra(name, -1)?.takeIf { it >= 0 }
        val full = of(BatteryManager.EXTRA_SCALE)?.takeIf { it > 0 }
        return State(
            Thermal.now(context), of(BatteryManager.EXTRA_TEMPERATURE)?.let { it / 10.0 }, frequencies(),
            of(BatteryManager.EXTRA_LEVEL)?.let { level -> full?.let { 100 * level / it } },
            (context.getSystemService(Context.POWER_SERVICE) as PowerManager).isPowerSaveMode,
        )
    }

    /** In MHz, of each core; none where the phone does not let apps read them. */
    private fun frequencies(): List<Double> = (0 until Runtime.getRuntime().availableProcessors()).mapNotNull { core ->
        try {
            File("/sys/devices/system/cpu/cpu$core/cpufreq/scaling_cur_freq").readText().trim().toDouble() / 1_000
        } catch (error: java.io.IOException) {
            null
        } catch (error: NumberFormatException) {
            null
        }
    }

    /** Build.SOC_MODEL is newer than the platform that the app is compiled against. */
    private fun soc(): String = if (Build.VERSION.SDK_INT < 31) "" else Build::class.java.getField("SOC_MODEL").get(null) as String
}
