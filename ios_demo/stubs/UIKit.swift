@_exported import CoreGraphics

public final class UIImage: @unchecked Sendable {
    init() {}
    public init(cgImage: CGImage) {}
    public func jpegData(compressionQuality: CGFloat) -> Data? { nil }
    public var cgImage: CGImage? { nil }
    public var size: CGSize { .zero }
    public var scale: CGFloat { 1 }
    public enum Orientation: Int, Sendable { case up, down, left, right, upMirrored, downMirrored, leftMirrored, rightMirrored }
    public var imageOrientation: Orientation { .up }
    public func draw(in rect: CGRect) {}
}

public final class UIGraphicsImageRendererFormat {
    public init() {}
    public var scale: CGFloat = 1
}

public final class UIGraphicsImageRendererContext {}

public final class UIGraphicsImageRenderer {
    public init(size: CGSize, format: UIGraphicsImageRendererFormat) {}
    public func image(actions: (UIGraphicsImageRendererContext) -> Void) -> UIImage { UIImage() }
}

@MainActor open class UIViewController {}

@MainActor public final class UIWindow {
    public var rootViewController: UIViewController? { nil }
}

@MainActor open class UIScene: Hashable {
    public nonisolated static func == (a: UIScene, b: UIScene) -> Bool { a === b }
    public nonisolated func hash(into hasher: inout Hasher) {}
}

@MainActor public final class UIWindowScene: UIScene {
    public var keyWindow: UIWindow? { nil }
}

@MainActor public final class UIApplication {
    public static var shared: UIApplication { UIApplication() }
    public var isIdleTimerDisabled = false
    public var connectedScenes: Set<UIScene> { [] }
    public func beginBackgroundTask(expirationHandler: (@MainActor @Sendable () -> Void)?) -> UIBackgroundTaskIdentifier { UIBackgroundTaskIdentifier(rawValue: 0) }
    public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}

public struct UIBackgroundTaskIdentifier: Sendable {
    public init(rawValue: Int) {}
}

// Of Apple's Foundation, which the one on Linux lacks.
extension ProcessInfo {
    public enum ThermalState: Int, Sendable { case nominal, fair, serious, critical }
    public var thermalState: ThermalState { .nominal }
    public var isLowPowerModeEnabled: Bool { false }
}
