@_exported import Foundation

open class BGTask {
    public var expirationHandler: (@Sendable () -> Void)?
    public func setTaskCompleted(success: Bool) {}
}

public final class BGProcessingTask: BGTask {}

open class BGTaskRequest {}

public final class BGProcessingTaskRequest: BGTaskRequest {
    public init(identifier: String) {}
    public var requiresExternalPower = false
    public var requiresNetworkConnectivity = false
}

public final class BGTaskScheduler: @unchecked Sendable {
    public static let shared = BGTaskScheduler()
    @discardableResult
    public func register(
        forTaskWithIdentifier identifier: String, using queue: DispatchQueue?, launchHandler: @escaping @Sendable (BGTask) -> Void
    ) -> Bool { false }
    public func submit(_ request: BGTaskRequest) throws {}
    public func cancel(taskRequestWithIdentifier identifier: String) {}
}

// Of Objective-C, which Apple's Foundation brings along.
public func autoreleasepool<Result>(invoking body: () throws -> Result) rethrows -> Result { try body() }
