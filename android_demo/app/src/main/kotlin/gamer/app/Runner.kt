package gamer.app

import android.content.Context
import gamer.bench.Bench
import gamer.models.Backend
import gamer.models.ByUnits
import gamer.models.OrtBackend
import gamer.models.Units

/** What runs the encoders, of searches and of indexing, as the person chose it (BenchActivity). */
enum class Runner(val said: Int, val units: Units?) {
    PROCESSOR(R.string.units_processor, Units.FUSED),
    XNNPACK(R.string.units_xnnpack, Units.XNNPACK),
    NNAPI(R.string.units_nnapi, Units.NNAPI),
    EXECUTORCH(R.string.units_executorch, null);

    /** Null where ExecuTorch was not built in (app/build.gradle.kts). */
    val backend: Backend? get() = if (units != null) ByUnits(OrtBackend, units) else try {
        Class.forName("gamer.app.ExecuTorchBackend").getField("INSTANCE").get(null) as Backend
    } catch (error: ClassNotFoundException) {
        null
    }

    /** As measurements name what ran. */
    val named: String get() = units?.let { Bench.named("onnx", it) } ?: "executorch"

    companion object {
        private const val KEY = "runner"

        /** Those that were built in. */
        val here: List<Runner> get() = values().filter { it.backend != null }

        fun chosen(context: Context): Runner = choices(context).getString(KEY, null).let { name -> here.firstOrNull { it.name == name } ?: PROCESSOR }

        fun choose(context: Context, runner: Runner) = choices(context).edit().putString(KEY, runner.name).apply()
    }
}

/** What the person chose: runners, and whether searches are reworded. */
internal fun choices(context: Context) = context.getSharedPreferences("choices", Context.MODE_PRIVATE)
