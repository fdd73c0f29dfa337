import Foundation
import PhotoCore
import PhotoORT

/// The backend that runs the models; the user's choice is stored in the settings. The bundle must have been
/// exported for it (`--targets onnx,coreml`).
enum Backend: String, CaseIterable, Identifiable {
    case onnx = "ONNX Runtime, CPU"
    case all = "Core ML, all units"
    case cpuAndGPU = "Core ML, CPU and GPU"
    case cpuAndNeuralEngine = "Core ML, CPU and Neural Engine"
    case cpuOnly = "Core ML, CPU"

    static let key = "backend"
    /// What searches and indexing run with.
    static var chosen: Backend { UserDefaults.standard.string(forKey: key).flatMap(Backend.init) ?? .onnx }
    var id: String { rawValue }

    /// For indexing, which takes long and for which nobody waits: its threads sleep while they wait, and it leaves the GPU alone, which
    /// the system takes from an app in the background.
    var resting: ModelBackend {
        switch self {
        case .onnx: return OrtBackend(threads: 2, spins: false)
        case .all, .cpuAndGPU: return Backend.cpuAndNeuralEngine.engine
        case .cpuAndNeuralEngine, .cpuOnly: return engine
        }
    }

    /// As measurements name what ran.
    var measured: String {
        switch self {
        case .onnx: return "onnx"
        case .all: return "coreml:all"
        case .cpuAndGPU: return "coreml:cpu_and_gpu"
        case .cpuAndNeuralEngine: return "coreml:cpu_and_ne"
        case .cpuOnly: return "coreml:cpu_only"
        }
    }

    var engine: ModelBackend {
        switch self {
        case .onnx: return OrtBackend(threads: 2)
        case .all: return CoreMLBackend(units: "all", described: "coreml, all units")
        case .cpuAndGPU: return CoreMLBackend(units: "cpu_and_gpu", described: "coreml, CPU and GPU")
        case .cpuAndNeuralEngine: return CoreMLBackend(units: "cpu_and_ne", described: "coreml, CPU and Neural Engine")
        case .cpuOnly: return CoreMLBackend(units: "cpu_only", described: "coreml, CPU")
        }
    }
}
