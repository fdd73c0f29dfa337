@_exported import Foundation

public enum MLComputeUnits: Int, Sendable { case cpuOnly, cpuAndGPU, all, cpuAndNeuralEngine }
public enum MLMultiArrayDataType: Int, Sendable { case float32, int32 }

public final class MLModelConfiguration {
    public init() {}
    public var computeUnits = MLComputeUnits.all
}

public final class MLMultiArray {
    public init(shape: [NSNumber], dataType: MLMultiArrayDataType) throws {}
    public var shape: [NSNumber] { [] }
    public var count: Int { 0 }
    public subscript(_ index: Int) -> NSNumber { 0 }
    public func withUnsafeMutableBufferPointer<S, R>(ofType type: S.Type, _ body: (UnsafeMutableBufferPointer<S>, [Int]) throws -> R) rethrows -> R {
        try body(UnsafeMutableBufferPointer(start: nil, count: 0), [])
    }
}

public final class MLFeatureValue {
    public init(multiArray value: MLMultiArray) {}
    public var multiArrayValue: MLMultiArray? { nil }
}

public protocol MLFeatureProvider {
    var featureNames: Set<String> { get }
    func featureValue(for name: String) -> MLFeatureValue?
}

public final class MLDictionaryFeatureProvider: MLFeatureProvider {
    public init(dictionary: [String: Any]) throws {}
    public var featureNames: Set<String> { [] }
    public func featureValue(for name: String) -> MLFeatureValue? { nil }
}

public final class MLModel {
    public init(contentsOf url: URL, configuration: MLModelConfiguration) throws {}
    public static func compileModel(at url: URL) throws -> URL { url }
    public func prediction(from input: MLFeatureProvider) throws -> MLFeatureProvider { input }
}
