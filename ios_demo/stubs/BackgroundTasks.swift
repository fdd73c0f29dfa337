@_exported import CoreGraphics
@_exported import Foundation

open class BGTask {
    public var expirationHandler: (@Sendable () -> Void)?
    public func setTaskCompleted(success: Bool) {}
}

public final class BGProcessingTask: BGTask {}

open class BGTaskRequest {
    public var earliestBeginDate: Date?
}

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
}
