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

    /// Embeds [count, hidden] at positions `past`… → logits of the last token; `past` grows by `count`. Raises Failure.runtime when the cache has no room.
    func forward(_ embeds: [Float], count: Int) throws -> [Float]

    /// Takes over a kept cache in place of everything in its own.
    func restore(_ prefix: Prefix) throws
}

/// An engine that runs a bundle's artifacts: ONNX Runtime in PhotoORT, Core ML in the app.
public protocol ModelBackend: Sendable {
    /// The manifest's name of the target: "onnx", "coreml".
    var target: String { get }
    /// In the trace: threads or compute units.
    var described: String { get }

    func open(_ path: String, _ artifact: Artifact) throws -> ModelSession
    func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder
}
