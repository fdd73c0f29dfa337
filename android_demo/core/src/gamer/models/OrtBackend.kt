package gamer.models

import ai.onnxruntime.OnnxJavaType
import ai.onnxruntime.OnnxTensor
import ai.onnxruntime.OrtEnvironment
import ai.onnxruntime.OrtException
import ai.onnxruntime.OrtLoggingLevel
import ai.onnxruntime.OrtSession
import gamer.bundle.Artifact
import gamer.common.RuntimeFailure
import java.io.File

/** ONNX Runtime on the CPU, through its Java API: the same classes on Android and on the JVM. */
object OrtBackend : Ort(spins = true)

/**
 * [spins]: whether threads spin while they wait, which is faster and takes more of the battery. [profiles]: a folder where the
 * profiler writes what each session's operators took, when it is closed; null for no profiler.
 */
open class Ort internal constructor(private val spins: Boolean, private val profiles: File? = null) : Backend {
    override val target = "onnx"

    override val resting: Backend get() = Ort(spins = false)

    /**
     * The version that the Java binding reports, which is that of the library it comes with. If another
     * library replaces that one, the property `gamer.ort` holds its version (`java.sh`).
     */
    override val version: String get() = System.getProperty("gamer.ort") ?: environment.version

    // Usage events are switched off before any other call. Those sent when the library is loaded are switched
    // off by the environment variable ORT_DISABLE_TELEMETRY.
    private val environment: OrtEnvironment by lazy { OrtEnvironment.getEnvironment().also { it.setTelemetry(false) } }

    /**
     * [Units.UNFUSED]: operators are not fused and convolutions run in float, two to six times slower. For
     * processors on which the fast kernels are wrong. An accelerator takes the operators that it knows.
     */
    override fun open(path: File, artifact: Artifact, threads: Int, units: Units): Session = try {
        // Needed before the options are created: creating those would load the library with its events on.
        val runtime = environment
        OrtSession.SessionOptions().use { options ->
            options.setIntraOpNumThreads(threads)
            options.setInterOpNumThreads(1)
            options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR)
            options.setCPUArenaAllocator(true)
            // A pattern is kept for each size of a picture.
            options.setMemoryPatternOptimization(artifact.inputs.none { "width" in it.shape })
            profiles?.let { options.enableProfiling(File(it, artifact.role + PROFILE).path) }
            // Operators are short: waking a sleeping thread for each would cost more than the operator.
            options.addConfigEntry("session.intra_op.allow_spinning", if (spins && threads > 1) "1" else "0")
            // Long enough to wait for the next operator; after a run the threads leave the cores to what comes next, as in Python.
            options.addConfigEntry("session.intra_op.spin_duration_us", "200")
            options.addConfigEntry("session.force_spinning_stop", "1")
            // Without VNNI, products of unsigned and signed bytes saturate in 16 bits. This option selects
            // kernels that do not saturate; with VNNI they would gain nothing and take up to twice the time.
            if (Processor.here.saturates) options.addConfigEntry("session.x64quantprecision", "1")
            when (units) {
                Units.FUSED -> Unit
                Units.UNFUSED -> options.setOptimizationLevel(OrtSession.SessionOptions.OptLevel.NO_OPT)
                // XNNPACK has threads of its own, for which those of ONNX Runtime would be in the way.
                Units.XNNPACK -> {
                    options.addXnnpack(mapOf("intra_op_num_threads" to threads.toString()))
                    options.setIntraOpNumThreads(1)
                    options.addConfigEntry("session.intra_op.allow_spinning", "0")
                }
                Units.NNAPI -> options.addNnapi()
            }
            Opened(runtime.createSession(path.path, options), artifact)
        }
    } catch (error: OrtException) {
        throw RuntimeFailure("$path: ONNX Runtime refuses it (${error.message?.lines()?.first()?.take(200)}): export again")
    }

    private fun tensor(value: Tensor): OnnxTensor = when (value.type) {
        Tensor.Type.FLOAT32 -> OnnxTensor.createTensor(environment, value.floats, value.shape)
        Tensor.Type.INT64 -> OnnxTensor.createTensor(environment, value.longs, value.shape)
        Tensor.Type.INT32 -> OnnxTensor.createTensor(environment, value.ints, value.shape)
        Tensor.Type.UINT8 -> OnnxTensor.createTensor(environment, value.bytes.duplicate(), value.shape, OnnxJavaType.UINT8)
    }

    companion object {
        /** What the names of profiles have after the component's. */
        const val PROFILE = ".profile"
    }

    private inner class Opened(private val native: OrtSession, override val artifact: Artifact) : Session {
        override fun run(inputs: Map<String, Tensor>): Map<String, Tensor> {
            val given = inputs.mapValues { tensor(it.value) }
            try {
                native.run(given, artifact.outputs.map { it.name }.toSet()).use { found ->
                    return artifact.outputs.associate { spec ->
                        val out = found.get(spec.name).get() as OnnxTensor
                        spec.name to Tensor.floats(FloatArray(out.floatBuffer.remaining()).also { out.floatBuffer.get(it) }, *out.info.shape)
                    }
                }
            } catch (error: OrtException) {
                throw RuntimeFailure("${artifact.role}: ONNX Runtime failed (${error.message?.lines()?.first()?.take(200)})")
            } finally {
                given.values.forEach { it.close() }
            }
        }

        override fun bind(inputs: Map<String, Tensor>, outputs: Map<String, Tensor>): Binding {
            val shared = java.util.IdentityHashMap<Tensor, OnnxTensor>()
            fun native(of: Map<String, Tensor>) = of.mapValues { shared.getOrPut(it.value) { tensor(it.value) } }
            return Bound(native, native(inputs), native(outputs), shared.values.toList())
        }

        override fun close() {
            if (profiles != null) native.endProfiling()
            native.close()
        }
    }

    private class Bound(
        private val session: OrtSession,
        private val inputs: Map<String, OnnxTensor>,
        private val outputs: Map<String, OnnxTensor>,
        private val all: List<OnnxTensor>,
    ) : Binding {
        override fun run() {
            try {
                session.run(inputs, outputs) // closing the result is not needed: it only refers to `outputs`
            } catch (error: OrtException) {
                throw RuntimeFailure("ONNX Runtime failed (${error.message?.lines()?.first()?.take(200)})")
            }
        }

        override fun close() = all.forEach { it.close() }
    }
}
