import Foundation

public struct UTType: Sendable {
    public static var zip: UTType { UTType() }
}

// Foundation has these on Apple's systems alone.
extension URL {
    public func startAccessingSecurityScopedResource() -> Bool { false }
    public func stopAccessingSecurityScopedResource() {}
}
