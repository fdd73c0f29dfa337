/// A box in degrees; `west > east` crosses the antimeridian.
public struct PlaceBox: Sendable, Equatable {
    public let south: Double, north: Double, west: Double, east: Double

    public init(south: Double, north: Double, west: Double, east: Double) { (self.south, self.north, self.west, self.east) = (south, north, west, east) }

    func contains(_ lat: Double, _ lon: Double) -> Bool {
        south <= lat && lat <= north && (west <= east ? west <= lon && lon <= east : lon >= west || lon <= east)
    }

    func cube(_ border: Border?) -> Cube { Cube(south: south, north: north, west: west, east: east, border: border) }
}

/// A city, country or region with its extent.
///
/// `isPrimary`: the name asked for is the place's official or usual English name, not an alternate one.
/// `isWord`: that name is also an English word (Nice, Reading). `isGiven`: that name is also a given name
/// (Florence). `parts`: the boxes of a country with distant parts, such as Hawaii; empty if one box is
/// enough. `border`: the outline of the country that it is or lies in; nil for a city, and where none is known.
public struct Place: Sendable, Equatable {
    public let id: Int
    public let name: String
    public let kind: String
    public let countryCode: String
    public let lat: Double
    public let lon: Double
    public let box: PlaceBox
    public let population: Int
    public var isPrimary = true
    public var isWord = false
    public var isGiven = false
    public var parts: [PlaceBox] = []
    public var border: Border?

    /// The place's extent, one box or several.
    public var boxes: [PlaceBox] { parts.isEmpty ? [box] : parts }

    public func contains(_ lat: Double, _ lon: Double) -> Bool {
        // Asked of every photo, so without a list of boxes made for it.
        (parts.isEmpty ? box.contains(lat, lon) : parts.contains { $0.contains(lat, lon) }) && border?.holds(Space.e7(lat), Space.e7(lon)) != false
    }
}
