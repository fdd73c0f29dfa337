import PhotoCore

/// ONNX Runtime on the CPU, as a backend of the core.
public struct OrtBackend: ModelBackend {
    public let target = "onnx"
    public let threads: Int
    public let units: String
    private let spins: Bool

    /// `spins`: whether threads spin while they wait, which is faster and takes more of the battery.
    public init(threads: Int = 2, units: String = "fused", spins: Bool = true) { (self.threads, self.units, self.spins) = (threads, units, spins) }

    public var described: String { "onnx\(units == "fused" ? "" : ":\(units)"), \(threads) threads, no affinity, CPU arena" }
    public var engine: String { "onnxruntime \(Runtime.version)" }

    /// `units` "unfused": operators are not fused and convolutions run in float, two to six times slower. For
    /// processors on which the fast kernels are wrong.
    public func open(_ path: String, _ artifact: Artifact, units: String) throws -> ModelSession {
        try OrtSession(path, artifact, threads: threads, unfused: units == "unfused", spins: spins)
    }

    public func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder {
        guard let session = session as? OrtSession else { throw Failure.runtime("a decoder of another backend") }
        return try OrtDecoder(session, language)
    }
}
