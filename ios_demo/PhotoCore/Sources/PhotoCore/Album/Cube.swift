/// A box in space-time (paper section 3.2, layer 1), in wall time: milliseconds as if UTC, degrees WGS 84, both ends included. nil on a side means open.
/// `west > east` crosses the antimeridian.
public struct Cube: Sendable, Hashable {
    public var start: Int?
    public var end: Int?
    public var south: Double?
    public var north: Double?
    public var west: Double?
    public var east: Double?

    public init(start: Int? = nil, end: Int? = nil, south: Double? = nil, north: Double? = nil, west: Double? = nil, east: Double? = nil) {
        (self.start, self.end, self.south, self.north, self.west, self.east) = (start, end, south, north, west, east)
    }

    public var hasTime: Bool { start != nil || end != nil }
    public var hasPlace: Bool { south != nil }
}
