import COnnxRuntime
import Foundation
import PhotoCore

/// ONNX Runtime's C API, opened once, with its telemetry off. Its errors are converted to Failure.runtime.
///
/// ONNX Runtime 1.29 and later queue usage events unless an environment variable forbids it. That variable
/// may be read when the library is loaded, so the scripts set it for the programs they start. For a process
/// started otherwise, it is set here, and the library's function to disable events is called.
enum Runtime {
    static let api: OrtApi = {
        setenv("ORT_DISABLE_TELEMETRY", "1", 1)
        return OrtGetApiBase()!.pointee.GetApi!(UInt32(ORT_API_VERSION))!.pointee
    }()
    /// The version of the loaded library, which may differ from that of the headers: "1.29.0".
    static let version: String = {
        _ = api  // no call to the library before its telemetry is off
        return String(cString: OrtGetApiBase()!.pointee.GetVersionString!()!)
    }()
    nonisolated(unsafe) static let environment: OpaquePointer? = {
        var environment: OpaquePointer?
        _ = api.CreateEnv!(ORT_LOGGING_LEVEL_ERROR, "photo", &environment)
        if let environment, let refused = api.DisableTelemetryEvents!(environment) { api.ReleaseStatus!(refused) }
        return environment
    }()
    nonisolated(unsafe) static let memory: OpaquePointer? = {
        var memory: OpaquePointer?
        _ = api.CreateCpuMemoryInfo!(OrtArenaAllocator, OrtMemTypeDefault, &memory)
        return memory
    }()

    /// Raises Failure.runtime with the first line of ONNX Runtime's message, if there is an error.
    static func check(_ status: OpaquePointer?, _ what: @autoclosure () -> String) throws {
        guard let status else { return }
        let said = String(cString: api.GetErrorMessage!(status)!).split(whereSeparator: \.isNewline).first.map { String($0.prefix(200)) } ?? ""
        api.ReleaseStatus!(status)
        throw Failure.runtime("\(what()) (\(said)): export again")
    }
}

/// A tensor with its own memory, whose address does not change.
final class Value {
    let pointer: OpaquePointer
    private let memory: UnsafeMutableRawPointer

    /// Allocates memory for the elements of `shape`, zeroed unless values are to be written to all of it.
    init(_ type: ONNXTensorElementDataType, _ stride: Int, _ shape: [Int], isZeroed: Bool = true) throws {
        let count = max(1, shape.reduce(1, *) * stride)
        memory = .allocate(byteCount: count, alignment: 64)
        if isZeroed { memory.initializeMemory(as: UInt8.self, repeating: 0, count: count) }
        var value: OpaquePointer?
        let sizes = shape.map(Int64.init)
        let status = Runtime.api.CreateTensorWithDataAsOrtValue!(
            Runtime.memory, memory, shape.reduce(1, *) * stride, sizes, sizes.count, type, &value)
        do { try Runtime.check(status, "a tensor of \(shape)") } catch {
            memory.deallocate()
            throw error
        }
        pointer = value!
    }

    convenience init(_ tensor: Tensor) throws {
        switch tensor {
        case .float(let values, let shape): try self.init(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 4, shape, values)
        case .int64(let values, let shape): try self.init(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 8, shape, values)
        case .bytes(let values, let shape): try self.init(ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 1, shape, values)
        }
    }

    private convenience init<T>(_ type: ONNXTensorElementDataType, _ stride: Int, _ shape: [Int], _ values: [T]) throws {
        guard values.count == shape.reduce(1, *) else { throw Failure.runtime("\(values.count) values for a tensor of \(shape)") }
        try self.init(type, stride, shape, isZeroed: false)
        set(values)
    }

    deinit {
        Runtime.api.ReleaseValue!(pointer)
        memory.deallocate()
    }

    /// Writes values at the beginning of the memory.
    func set<T>(_ values: [T]) { values.withUnsafeBytes { if let base = $0.baseAddress { memory.copyMemory(from: base, byteCount: $0.count) } } }

    func floats(_ count: Int) -> [Float] { Array(UnsafeBufferPointer(start: memory.assumingMemoryBound(to: Float.self), count: count)) }

    var storage: UnsafeMutablePointer<Float> { memory.assumingMemoryBound(to: Float.self) }
}
