/// One loaded artifact: named tensors in, named tensors out, as its specs have them.
public protocol ModelSession: AnyObject {
    var artifact: Artifact { get }

    /// Raises Failure.runtime.
    func run(_ inputs: [String: Tensor]) throws -> [String: Tensor]
}

/// A language model's decoder with `past` tokens in its cache.
public protocol Decoder: AnyObject {
    var past: Int { get }

    func reset()

    /// Embeds [count, hidden] at positions `past`… → logits of the last token, and the hidden states [count, hidden]; `past` grows by `count`.
    /// Raises Failure.runtime when the cache has no room.
    func forward(_ embeds: [Float], count: Int) throws -> (logits: [Float], hidden: [Float])

    /// Takes over a kept cache in place of everything in its own.
    func restore(_ prefix: Prefix) throws
}

/// The processors or kernels that a backend may be told to use, by target (runtime/backends).
public enum Units {
    /// The first is what a backend takes unless told.
    public static let all = ["onnx": ["fused", "unfused"], "coreml": ["all", "cpu_only", "cpu_and_gpu", "cpu_and_ne"]]
    /// Slower and closer to the file's arithmetic: for where the first is wrong.
    public static let fallback = ["onnx": "unfused", "coreml": "cpu_only"]
}

/// An engine that runs a bundle's artifacts: ONNX Runtime in PhotoORT, Core ML in the app.
public protocol ModelBackend: Sendable {
    /// The manifest's name of the target: "onnx", "coreml".
    var target: String { get }
    /// Which of Units.all the person chose; the first unless told.
    var units: String { get }
    /// Engine and version, as parity names them: "onnxruntime 1.29.0".
    var engine: String { get }
    /// In the trace: threads or compute units.
    var described: String { get }

    /// Loads an artifact to be run with `units`, which may be others than the person's.
    func open(_ path: String, _ artifact: Artifact, units: String) throws -> ModelSession
    func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder
}
