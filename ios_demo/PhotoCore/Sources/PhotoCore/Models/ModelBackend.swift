/// A loaded artifact. Tensors have the names and shapes of the artifact's specs.
public protocol ModelSession: AnyObject {
    var artifact: Artifact { get }

    /// Raises Failure.runtime.
    func run(_ inputs: [String: Tensor]) throws -> [String: Tensor]
}

/// A language model's decoder with a cache.
public protocol Decoder: AnyObject {
    /// The token of each used slot of the cache, or `noToken`.
    var held: [Int] { get }
    /// The slots before this one hold the very numbers that a prompt of the same tokens would get, computed at
    /// once.
    var sure: Int { get }

    /// Forgets the slots from `tokens` on.
    func cut(_ tokens: Int)

    /// Embeddings [S, hidden] for the positions from `past` on → logits of the `last` last tokens, and the hidden
    /// states [S, hidden]; `past` grows by S. `ids`: the tokens, where they are tokens. Raises Failure.runtime if
    /// the cache has no room for them.
    func forward(_ embeds: [Float], ids: [Int], last: Int) throws -> (logits: [[Float]], hidden: [Float])

    /// Whether a token gets the very same numbers alone and in one call with others.
    func isAlike() throws -> Bool

    /// Replaces the cache by the first `tokens` of a stored one. Raises Failure.runtime if its shape does not fit.
    func restore(_ prefix: Prefix, tokens: Int) throws
}

/// A place of a cache whose token is not known.
public let noToken = -1

extension Decoder {
    /// The number of tokens in the cache.
    public var past: Int { held.count }

    public func forward(_ embeds: [Float], count: Int) throws -> (logits: [[Float]], hidden: [Float]) {
        try forward(embeds, ids: [Int](repeating: noToken, count: count), last: 1)
    }
}

/// The processors or kernels that a backend can be told to use, by target (runtime/backends).
public enum Units {
    /// The first of a target's units is its default.
    public static let all = ["onnx": ["fused", "unfused"], "coreml": ["all", "cpu_only", "cpu_and_gpu", "cpu_and_ne"]]
    /// Slower and closer to the arithmetic that the file describes; used where the default gives wrong
    /// results.
    public static let fallback = ["onnx": "unfused", "coreml": "cpu_only"]
}

/// An engine that runs a bundle's artifacts: ONNX Runtime in PhotoORT, Core ML in the app.
public protocol ModelBackend: Sendable {
    /// The target's name in the manifest: "onnx", "coreml".
    var target: String { get }
    /// The units that the user chose from Units.all; the first by default.
    var units: String { get }
    /// Engine and version, as parity figures name them: "onnxruntime 1.29.0".
    var engine: String { get }
    /// For the trace: threads or compute units.
    var described: String { get }

    /// Loads an artifact to run with `units`, which may differ from those that the user chose.
    func open(_ path: String, _ artifact: Artifact, units: String) throws -> ModelSession
    func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder
}
