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
 * used where the fast kernels give wrong results.
 */
enum class Units(val said: String) { FUSED("fused"), UNFUSED("unfused") }

/** An engine that runs a bundle's artifacts of one target. */
interface Backend {
    /** The target's name in the manifest. */
    val target: String

    /** The engine's version; parity figures are valid for this version only. */
    val version: String

    fun open(path: File, artifact: Artifact, threads: Int, units: Units = Units.FUSED): Session
}
