/// A box in space-time (paper section 3.2, layer 1), in wall time: ms as if UTC, degrees WGS 84, bounds
/// inclusive. A side that is nil is unbounded; `west > east` means that the box crosses the antimeridian.
/// `border`: of the positions in the box, only those inside of it.
public struct Cube: Sendable, Hashable {
    public var start: Int?
    public var end: Int?
    public var south: Double?
    public var north: Double?
    public var west: Double?
    public var east: Double?
    public var border: Border?

    public init(
        start: Int? = nil, end: Int? = nil, south: Double? = nil, north: Double? = nil, west: Double? = nil, east: Double? = nil, border: Border? = nil
    ) {
        (self.start, self.end, self.south, self.north, self.west, self.east, self.border) = (start, end, south, north, west, east, border)
    }

    public var hasTime: Bool { start != nil || end != nil }
    public var hasPlace: Bool { south != nil }
}
