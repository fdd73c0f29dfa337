package gamer.models

import gamer.bundle.Artifact
import java.io.File

/** A loaded graph. Knows tensors; nothing of what they mean. */
interface Session : AutoCloseable {
    val artifact: Artifact

    /** Inputs by name → the artifact's outputs by name, float32. */
    fun run(inputs: Map<String, Tensor>): Map<String, Tensor>

    /** Ties names to memory once, so that a step copies nothing: an input and an output may be the same tensor. */
    fun bind(inputs: Map<String, Tensor>, outputs: Map<String, Tensor>): Binding

    override fun close()
}

/** Inputs and outputs that stay where they are: write the inputs, [run], read the outputs. */
interface Binding : AutoCloseable {
    fun run()

    override fun close()
}

/** How a backend runs a graph. [UNFUSED], slower and closer to the file's arithmetic, is for where the fast kernels are wrong. */
enum class Units(val said: String) { FUSED("fused"), UNFUSED("unfused") }

/** What runs a bundle's artifacts of one target. */
interface Backend {
    /** The target's name in the manifest. */
    val target: String

    /** The engine's version: figures of parity hold for it alone. */
    val version: String

    fun open(path: File, artifact: Artifact, threads: Int, units: Units = Units.FUSED): Session
}
