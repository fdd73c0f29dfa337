import COnnxRuntime
import PhotoCore

/// One .onnx file in ONNX Runtime, on the CPU.
final class OrtSession: ModelSession {
    let artifact: Artifact
    private var session: OpaquePointer?

    init(_ path: String, _ artifact: Artifact, threads: Int, unfused: Bool, spins: Bool) throws {
        self.artifact = artifact
        let api = Runtime.api
        var options: OpaquePointer?
        try Runtime.check(api.CreateSessionOptions!(&options), path)
        defer { api.ReleaseSessionOptions!(options) }
        try Runtime.check(api.SetIntraOpNumThreads!(options, Int32(threads)), path)
        try Runtime.check(api.SetInterOpNumThreads!(options, 1), path)
        // A pattern is kept for each size of a picture.
        if artifact.inputs.contains(where: { $0.shape.contains(.named("width")) }) { try Runtime.check(api.DisableMemPattern!(options), path) }
        // Operators are short: waking a sleeping thread for each would cost more than the operator.
        try Runtime.check(api.AddSessionConfigEntry!(options, "session.intra_op.allow_spinning", spins && threads > 1 ? "1" : "0"), path)
        // Long enough to wait for the next operator; after a run the threads leave the cores to what comes next, as in Python.
        try Runtime.check(api.AddSessionConfigEntry!(options, "session.intra_op.spin_duration_us", "200"), path)
        try Runtime.check(api.AddSessionConfigEntry!(options, "session.force_spinning_stop", "1"), path)
        // Without VNNI, products of unsigned and signed bytes saturate in 16 bits. This option selects
        // kernels that do not saturate; with VNNI they would gain nothing and take up to twice the time.
        if Processor.here.saturates { try Runtime.check(api.AddSessionConfigEntry!(options, "session.x64quantprecision", "1"), path) }
        if unfused { try Runtime.check(api.SetSessionGraphOptimizationLevel!(options, ORT_DISABLE_ALL), path) }
        try Runtime.check(api.CreateSession!(Runtime.environment, path, options, &session), "\(path): ONNX Runtime refuses it")
    }

    deinit { if let session { Runtime.api.ReleaseSession!(session) } }

    func run(_ inputs: [String: Tensor]) throws -> [String: Tensor] {
        let given = try artifact.inputs.map { spec -> Value in
            guard let tensor = inputs[spec.name] else { throw Failure.runtime("\(artifact.role): no input \(spec.name)") }
            return try Value(tensor)
        }
        let names = artifact.outputs.map(\.name)
        var found = [OpaquePointer?](repeating: nil, count: names.count)
        defer { found.forEach { if let value = $0 { Runtime.api.ReleaseValue!(value) } } }
        // Swift may release a value after its last use, even if a pointer taken from it is still in use.
        try withExtendedLifetime(given) { try call(artifact.inputs.map(\.name), given.map { Optional($0.pointer) }, names, &found) }
        return Dictionary(uniqueKeysWithValues: try zip(names, found).map { ($0, try OrtSession.tensor($1!)) })
    }

    /// Runs the session with the caller's values; outputs in `found` that are not nil are written in place.
    func call(_ inputNames: [String], _ inputs: [OpaquePointer?], _ outputNames: [String], _ found: inout [OpaquePointer?]) throws {
        try withCStrings(inputNames) { inputNames in
            try withCStrings(outputNames) { outputNames in
                let status = Runtime.api.Run!(session, nil, inputNames, inputs, inputs.count, outputNames, found.count, &found)
                try Runtime.check(status, "\(artifact.role): ONNX Runtime cannot run it")
            }
        }
    }

    private static func tensor(_ value: OpaquePointer) throws -> Tensor {
        let api = Runtime.api
        var info: OpaquePointer?
        try Runtime.check(api.GetTensorTypeAndShape!(value, &info), "an output")
        defer { api.ReleaseTensorTypeAndShapeInfo!(info) }
        var rank = 0, type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
        try Runtime.check(api.GetDimensionsCount!(info, &rank), "an output")
        try Runtime.check(api.GetTensorElementType!(info, &type), "an output")
        var sizes = [Int64](repeating: 0, count: rank)
        try Runtime.check(api.GetDimensions!(info, &sizes, rank), "an output")
        let shape = sizes.map(Int.init), count = shape.reduce(1, *)
        var memory: UnsafeMutableRawPointer?
        try Runtime.check(api.GetTensorMutableData!(value, &memory), "an output")
        guard type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, let memory else { throw Failure.runtime("an output that is not float32") }
        return .float(Array(UnsafeBufferPointer(start: memory.assumingMemoryBound(to: Float.self), count: count)), shape: shape)
    }
}

/// Passes the texts as C strings to `body`; they are valid until it returns.
private func withCStrings<T>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) throws -> T) rethrows -> T {
    let copies = texts.map { text -> UnsafeMutablePointer<CChar> in
        let bytes = Array(text.utf8CString), copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        copy.initialize(from: bytes, count: bytes.count)
        return copy
    }
    defer { copies.forEach { $0.deallocate() } }
    return try body(copies.map { UnsafePointer($0) })
}
