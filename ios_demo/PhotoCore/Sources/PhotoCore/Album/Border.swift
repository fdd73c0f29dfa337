/// The outline of a country (index/borders.py). A ring holds latitude and longitude of each point in 1e-7
/// degrees; it closes from its last point to its first, and none crosses the antimeridian. A ring inside
/// another is a hole: a position is inside if a line from it westwards crosses the rings an odd number of
/// times.
public final class Border: Sendable, Hashable {
    public struct Point: Sendable {
        public let lat: Int, lon: Int

        public init(lat: Int, lon: Int) { (self.lat, self.lon) = (lat, lon) }
    }

    private typealias Edge = (low: Point, high: Point)

    public let code: String
    /// The edges that reach into each degree of latitude.
    private let edges: [Int: [Edge]]

    public init(code: String, rings: [[Point]]) {
        self.code = code
        var found: [Int: [Edge]] = [:]
        for ring in rings where ring.count >= 3 {
            for (at, point) in ring.enumerated() {
                let next = ring[(at + 1) % ring.count], edge = point.lat <= next.lat ? (low: point, high: next) : (low: next, high: point)
                let from = max(-90, Border.band(edge.low.lat)), to = min(90, Border.band(edge.high.lat))
                if from <= to { for band in from...to { found[band, default: []].append(edge) } }
            }
        }
        edges = found
    }

    private static func band(_ lat: Int) -> Int { Int((Double(lat) / Double(Space.e7)).rounded(.down)) }

    /// Of a border's own points, those at its south and west are inside.
    public func holds(_ lat: Int, _ lon: Int) -> Bool {
        var inside = false
        for (low, high) in edges[Border.band(lat)] ?? [] where low.lat <= lat && lat < high.lat {
            // Wrapping, since the corners of a damaged file may lie too far apart.
            if (lon &- low.lon) &* (high.lat &- low.lat) >= (high.lon &- low.lon) &* (lat &- low.lat) { inside.toggle() }
        }
        return inside
    }

    public static func == (one: Border, other: Border) -> Bool { one === other }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
