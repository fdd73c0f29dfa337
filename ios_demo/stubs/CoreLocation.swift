@_exported import Foundation

public struct CLLocationCoordinate2D: Sendable {
    public var latitude: Double
    public var longitude: Double
}

public final class CLLocation: @unchecked Sendable {
    public var coordinate: CLLocationCoordinate2D { CLLocationCoordinate2D(latitude: 0, longitude: 0) }
}

