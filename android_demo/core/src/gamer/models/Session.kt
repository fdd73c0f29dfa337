package gamer.models

import gamer.bundle.Artifact
import java.io.File

/** A loaded graph. */
interface Session : AutoCloseable {
    val artifact: Artifact

    /** Runs the graph. Inputs by name → outputs by name, float32. */
    fun run(inputs: Map<String, Tensor>): Map<String, Tensor>

    /**
     * Binds names to memory once, so that a step copies nothing. An input and an output may be the same
     * tensor.
     */
    fun bind(inputs: Map<String, Tensor>, outputs: Map<String, Tensor>): Binding

    override fun close()
}

/** Inputs and outputs bound to fixed memory: write the inputs, [run], read the outputs. */
interface Binding : AutoCloseable {
    fun run()

    override fun close()
}

/**
 * How a backend runs a graph. [UNFUSED] is slower and closer to the arithmetic that the file describes; it is
 * used where the fast kernels give wrong results. [XNNPACK] (kernels for ARM's processors) and [NNAPI] (the phone's
 * accelerators, through Android) are a person's choice for the encoders.
 */
enum class Units(val said: String) {
    FUSED("fused"), UNFUSED("unfused"), XNNPACK("xnnpack"), NNAPI("nnapi");

    val isAccelerator: Boolean get() = this == XNNPACK || this == NNAPI
}

/** An engine that runs a bundle's artifacts of one target. */
interface Backend {
    /** The target's name in the manifest. */
    val target: String

    /** The engine's version; parity figures are valid for this version only. */
    val version: String

    /** The engine with its version, as parity figures name it. */
    val engine: String get() = "onnxruntime $version"

    /** How it can run a graph on the processor, the fastest first. */
    val forms: List<Units> get() = listOf(Units.FUSED, Units.UNFUSED)

    /** The units that the person chose. */
    val units: Units get() = Units.FUSED

    /** The same, with threads that sleep while they wait: for work that takes long and that nobody waits for. */
    val resting: Backend get() = this

    fun open(path: File, artifact: Artifact, threads: Int, units: Units = Units.FUSED): Session
}

/** A backend by other units than its own. What they compute is checked before it is used ([SelfCheck]). */
class ByUnits(private val real: Backend, override val units: Units) : Backend by real {
    override val resting: Backend get() = ByUnits(real.resting, units)
}
