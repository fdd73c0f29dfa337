package gamer.models

import java.io.File
import java.io.IOException

/**
 * The features of this processor that kernels depend on, and the arithmetic of a quantized graph on it. ONNX
 * Runtime chooses its kernels at run time, so that the same file gives different numbers on different
 * machines. A parity figure therefore names the engine, its version and these features. [architecture]:
 * "x86_64", "aarch64", or the system's name for another one. [features]: the instruction sets by which int8
 * and float kernels are chosen, weakest first.
 */
class Processor(val architecture: String, val features: List<String>) {
    /**
     * Architecture and features, such as "x86_64 sse4.2 avx2", by which parity figures are compared. The
     * model's name is not part of it: two models with equal features run equal kernels.
     */
    val described: String = (listOf(architecture) + features).joinToString(" ")

    /** Whether the fast product of unsigned and signed bytes may overflow its 16 bits here. */
    val saturates: Boolean = architecture == X86 && "vnni" !in features

    /**
     * Engine, version and processor: "onnxruntime 1.29.0, x86_64 sse4.2 avx2". A parity figure is valid for
     * this combination only.
     */
    fun kernels(engine: String): String = "$engine, $described"

    /**
     * The arithmetic that runs a component of this quantization, for display: "int8, VNNI", "int8, precise
     * AVX2", "int8, dot product of ARM".
     */
    fun arithmetic(quant: String, units: Units = Units.FUSED): String = when {
        units.isAccelerator -> "$quant, ${units.name}"
        quant == "fp32" || quant == "fp16" -> quant
        units == Units.UNFUSED -> "$quant, unfused"
        else -> "$quant, ${integerKernels()}"
    }

    private fun integerKernels(): String = when (architecture) {
        ARM -> if ("dotprod" in features) "dot product of ARM" else "NEON"
        X86 -> if ("vnni" in features) "VNNI" else "precise " + (WIDEST.firstOrNull { it.first in features }?.second ?: "SSE2")
        else -> architecture
    }

    companion object {
        private const val X86 = "x86_64"
        private const val ARM = "aarch64"
        private val WIDEST = listOf("avx512" to "AVX-512", "avx2" to "AVX2", "sse4.2" to "SSE4.2")

        // Name here → sets of Linux's names; one of the sets is enough. "avx512" means the parts of AVX-512
        // that kernels require.
        private val X86_FEATURES = listOf(
            "sse4.2" to listOf(setOf("sse4_2")),
            "avx2" to listOf(setOf("avx2")),
            "avx512" to listOf(setOf("avx512f", "avx512bw", "avx512dq", "avx512vl")),
            // The second set is VNNI for 256 bits, of processors without AVX-512.
            "vnni" to listOf(setOf("avx512_vnni"), setOf("avx2", "avx_vnni")),
        )
        private val ARM_FEATURES = listOf("neon" to listOf(setOf("asimd")), "dotprod" to listOf(setOf("asimddp")), "sve" to listOf(setOf("sve")))

        /** The processor of this process. */
        val here: Processor by lazy {
            val text = try {
                File("/proc/cpuinfo").readText()
            } catch (error: IOException) {
                "" // no features are known then, so the fixtures are run
            }
            of(System.getProperty("os.arch") ?: "", text)
        }

        /** The processor of a machine with the name [machine] ("amd64") and this text of /proc/cpuinfo. */
        fun of(machine: String, cpuinfo: String): Processor = when (val name = machine.lowercase()) {
            X86, "amd64" -> Processor(X86, found(X86_FEATURES, cpuinfo, "flags"))
            ARM, "arm64" -> Processor(ARM, found(ARM_FEATURES, cpuinfo, "Features"))
            else -> Processor(name.ifEmpty { "unknown" }, emptyList())
        }

        /** Linux lists the features that all cores share for each core: the first list is enough. */
        private fun found(names: List<Pair<String, List<Set<String>>>>, cpuinfo: String, field: String): List<String> {
            val line = cpuinfo.lineSequence().firstOrNull { it.substringBefore(':').trim() == field } ?: return emptyList()
            val have = line.substringAfter(':').trim().split(' ').toSet()
            return names.filter { (_, ways) -> ways.any { have.containsAll(it) } }.map { it.first }
        }
    }
}
