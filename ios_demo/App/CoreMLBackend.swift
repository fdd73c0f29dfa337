import CoreML
import Foundation
import PhotoCore

/// Core ML, behind the same protocol as the core's ONNX Runtime. It does not run the language model:
/// refinement by the model needs the ONNX bundle.
struct CoreMLBackend: ModelBackend {
    let target = "coreml"
    let units: String
    let described: String

    /// The version of Core ML is that of the system.
    var engine: String { "Core ML of \(ProcessInfo.processInfo.operatingSystemVersionString)" }

    /// The manifest's names of the compute units. `cpu_only` is the exact one: it computes in floats, the
    /// others may use half precision.
    private static let named: [String: MLComputeUnits] = [
        "all": .all, "cpu_only": .cpuOnly, "cpu_and_gpu": .cpuAndGPU, "cpu_and_ne": .cpuAndNeuralEngine,
    ]

    func open(_ path: String, _ artifact: Artifact, units: String) throws -> ModelSession {
        guard let chosen = CoreMLBackend.named[units] else { throw Failure.runtime("Core ML has no units \(units)") }
        do {
            let configuration = MLModelConfiguration()
            configuration.computeUnits = chosen
            return CoreMLSession(artifact, try MLModel(contentsOf: try compiled(path, artifact), configuration: configuration))
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure.runtime("\(path): Core ML refuses it (\(error.localizedDescription)): export the bundle again with --targets coreml")
        }
    }

    func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder {
        throw Failure.runtime("Core ML does not run the language model here: choose ONNX Runtime, or refine fast")
    }

    /// The package compiled for this device. Compiling takes seconds, so the result is cached under the
    /// package's hash.
    private func compiled(_ path: String, _ artifact: Artifact) throws -> URL {
        let kept = Places.caches.appendingPathComponent("\(artifact.role)-\(artifact.file.sha256).mlmodelc")
        if FileManager.default.fileExists(atPath: kept.path) { return kept }
        let fresh = try MLModel.compileModel(at: URL(fileURLWithPath: path))
        try FileManager.default.moveItem(at: fresh, to: kept)
        return kept
    }
}

/// One loaded package.
final class CoreMLSession: ModelSession {
    let artifact: Artifact
    private let model: MLModel

    init(_ artifact: Artifact, _ model: MLModel) { (self.artifact, self.model) = (artifact, model) }

    func run(_ inputs: [String: Tensor]) throws -> [String: Tensor] {
        do {
            let given = try MLDictionaryFeatureProvider(dictionary: inputs.mapValues { MLFeatureValue(multiArray: CoreMLSession.array($0)) })
            let found = try model.prediction(from: given)
            var out: [String: Tensor] = [:]
            for name in found.featureNames {
                guard let array = found.featureValue(for: name)?.multiArrayValue else { continue }
                out[name] = .float(CoreMLSession.floats(array), shape: array.shape.map(\.intValue))
            }
            return out
        } catch {
            throw Failure.runtime("\(artifact.role): Core ML failed (\(error.localizedDescription))")
        }
    }

    /// Core ML has no 64-bit integers, so ids become 32-bit, which is enough for every vocabulary.
    private static func array(_ tensor: Tensor) -> MLMultiArray {
        switch tensor {
        case .float(let values, let shape): return MLMultiArray(MLShapedArray<Float>(scalars: values, shape: shape))
        case .int64(let values, let shape):
            return MLMultiArray(MLShapedArray<Int32>(scalars: values.map { Int32(truncatingIfNeeded: $0) }, shape: shape))
        case .bytes(let values, let shape): return MLMultiArray(MLShapedArray<Float>(scalars: values.map(Float.init), shape: shape))
        }
    }

    /// The values in the order of their indices, for any strides and type: Core ML pads rows, and may return half precision.
    private static func floats(_ array: MLMultiArray) -> [Float] { MLShapedArray<Float>(converting: array).scalars }
}
