import Foundation

public struct UTType: Sendable {
    public static var image: UTType { UTType() }
    public static var movie: UTType { UTType() }
    public static var zip: UTType { UTType() }
    public static var jpeg: UTType { UTType() }
    public var identifier: String { "" }
}

// Foundation has these on Apple's systems alone.
extension URL {
    public func startAccessingSecurityScopedResource() -> Bool { false }
    public func stopAccessingSecurityScopedResource() {}
}
