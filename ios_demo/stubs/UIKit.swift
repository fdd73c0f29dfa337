@_exported import CoreGraphics

public final class UIImage: @unchecked Sendable {
    public var cgImage: CGImage? { nil }
}

@MainActor public final class UIDevice {
    public static var current: UIDevice { UIDevice() }
    public var name: String { "" }
}

// Of Apple's Foundation, which the one on Linux lacks.
extension ProcessInfo {
    public enum ThermalState: Int, Sendable { case nominal, fair, serious, critical }
    public var thermalState: ThermalState { .nominal }
}
