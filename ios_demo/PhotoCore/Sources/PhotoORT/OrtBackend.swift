import PhotoCore

/// ONNX Runtime on the CPU, as a backend of the core.
public struct OrtBackend: ModelBackend {
    public let target = "onnx"
    public let threads: Int

    public init(threads: Int = 2) { self.threads = threads }

    public var described: String { "onnx, \(threads) threads, no affinity, CPU arena" }

    public func open(_ path: String, _ artifact: Artifact) throws -> ModelSession { try OrtSession(path, artifact, threads: threads) }

    public func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder {
        guard let session = session as? OrtSession else { throw Failure.runtime("a decoder of another backend") }
        return try OrtDecoder(session, language)
    }
}
