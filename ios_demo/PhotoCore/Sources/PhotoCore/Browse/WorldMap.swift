import Foundation

/// A point of Mercator's map of the world: x from 0 (180° west) to 1 (180° east), y from 0 (north) to 1 (south).
public struct MapPoint: Sendable, Equatable {
    public let x: Double
    public let y: Double

    public init(lat: Double, lon: Double) {
        let held = min(max(lat, -WorldMap.pole), WorldMap.pole) * .pi / 180
        (x, y) = (lon / 360 + 0.5, 0.5 - log(tan(.pi / 4 + held / 2)) / (2 * .pi))
    }
}

/// The outlines of the land, as the web page draws them (runtime/serve/static/map.js). No map is fetched from anywhere.
/// `rings`: closed lines; land that crosses the antimeridian runs on beyond 1.
public struct WorldMap: Sendable {
    /// Degrees; beyond this latitude Mercator's map ends.
    static let pole = 85.06
    public let rings: [[MapPoint]]

    private typealias Place = (lat: Double, lon: Double)

    /// Reads `land.json`. Raises Failure.value.
    public init(_ text: String) throws {
        let raw = try JSON.parse(Array(text.utf8))
        let arcs = (raw["arcs"]?.array ?? []).map { WorldMap.arc(($0.array ?? []).compactMap(\.int)) }
        rings = (raw["rings"]?.array ?? []).map { ring in
            WorldMap.ring((ring.array ?? []).compactMap(\.int), arcs).map { MapPoint(lat: $0.lat, lon: $0.lon) }
        }
    }

    /// From steps of longitude and latitude in hundredths of a degree.
    private static func arc(_ steps: [Int]) -> [Place] {
        var lat = 0, lon = 0
        return stride(from: 0, to: steps.count - 1, by: 2).map { at in
            (lat, lon) = (lat + steps[at + 1], lon + steps[at])
            return (Double(lat) / 100, Double(lon) / 100)
        }
    }

    /// ~n is arc n backwards. A ring that ends a turn away from its start goes round the south pole.
    private static func ring(_ indices: [Int], _ arcs: [[Place]]) -> [Place] {
        var out: [Place] = []
        for index in indices {
            let arc = index < 0 ? Array(arcs[~index].reversed()) : arcs[index]
            let shift = out.last.map { (($0.lon - arc[0].lon) / 360).rounded() * 360 } ?? 0
            out += arc.dropFirst(out.isEmpty ? 0 : 1).map { ($0.lat, $0.lon + shift) }
        }
        guard let first = out.first, let last = out.last, abs(last.lon - first.lon) > 180 else { return out }
        return out + [(-pole, last.lon), (-pole, first.lon)]
    }
}
