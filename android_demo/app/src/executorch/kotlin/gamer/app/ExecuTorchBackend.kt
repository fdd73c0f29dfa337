package gamer.app

import gamer.bundle.Artifact
import gamer.common.RuntimeFailure
import gamer.common.oneLine
import gamer.models.Backend
import gamer.models.Binding
import gamer.models.Session
import gamer.models.Tensor
import gamer.models.Units
import java.io.File
import org.pytorch.executorch.EValue
import org.pytorch.executorch.Module

/**
 * ExecuTorch with XNNPACK, through its Android package: the encoders and the experts of a bundle that was exported with
 * `--targets executorch`. It does not run the language model. Built in with `gradle -Pexecutorch=VERSION`, and found by its name
 * ([Runner.EXECUTORCH]).
 */
object ExecuTorchBackend : Backend {
    override val target = "executorch"

    /** The package does not tell its version; on a phone the fixtures are run in any case, as no export measured its kernels. */
    override val version = "of the app"
    override val engine: String get() = "executorch $version"
    override val forms = listOf(Units.FUSED)

    override fun open(path: File, artifact: Artifact, threads: Int, units: Units): Session = try {
        Opened(Module.load(path.path, Module.LOAD_MODE_MMAP, threads), artifact)
    } catch (error: RuntimeException) {
        throw RuntimeFailure("$path: ExecuTorch refuses it (${oneLine(error).take(200)}): export again")
    }

    private fun value(tensor: Tensor): EValue = EValue.from(
        when (tensor.type) {
            Tensor.Type.FLOAT32 -> org.pytorch.executorch.Tensor.fromBlob(tensor.floats, tensor.shape)
            Tensor.Type.INT64 -> org.pytorch.executorch.Tensor.fromBlob(tensor.longs, tensor.shape)
            Tensor.Type.INT32 -> org.pytorch.executorch.Tensor.fromBlob(tensor.ints, tensor.shape)
            Tensor.Type.UINT8 -> org.pytorch.executorch.Tensor.fromBlobUnsigned(tensor.bytes, tensor.shape)
        },
    )

    private class Opened(private val module: Module, override val artifact: Artifact) : Session {
        override fun run(inputs: Map<String, Tensor>): Map<String, Tensor> = try {
            val found = module.forward(*artifact.inputs.map { value(inputs.getValue(it.name)) }.toTypedArray())
            if (found.size != artifact.outputs.size) throw RuntimeFailure("${artifact.role}: ExecuTorch gave ${found.size} of ${artifact.outputs.size} outputs")
            artifact.outputs.zip(found.toList()).associate { (spec, out) ->
                out.toTensor().let { spec.name to Tensor.floats(it.getDataAsFloatArray(), *it.shape()) }
            }
        } catch (error: RuntimeFailure) {
            throw error
        } catch (error: RuntimeException) {
            throw RuntimeFailure("${artifact.role}: ExecuTorch failed (${oneLine(error).take(200)})")
        }

        override fun bind(inputs: Map<String, Tensor>, outputs: Map<String, Tensor>): Binding =
            throw RuntimeFailure("ExecuTorch does not run the language model here: choose ONNX Runtime, or refine fast")

        override fun close() = module.destroy()
    }
}
