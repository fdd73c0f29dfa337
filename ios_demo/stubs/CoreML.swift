@_exported import Foundation

public enum MLComputeUnits: Int, Sendable { case cpuOnly, cpuAndGPU, all, cpuAndNeuralEngine }

public final class MLModelConfiguration {
    public init() {}
    public var computeUnits = MLComputeUnits.all
}

public protocol MLShapedArrayScalar {}
extension Float: MLShapedArrayScalar {}
extension Int32: MLShapedArrayScalar {}

public struct MLShapedArray<Scalar: MLShapedArrayScalar> {
    public init<S: Sequence>(scalars: S, shape: [Int]) where S.Element == Scalar {}
    public init(converting array: MLMultiArray) {}
    public var scalars: [Scalar] { [] }
}

public final class MLMultiArray {
    public init<Scalar: MLShapedArrayScalar>(_ shapedArray: MLShapedArray<Scalar>) {}
    public var shape: [NSNumber] { [] }
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
