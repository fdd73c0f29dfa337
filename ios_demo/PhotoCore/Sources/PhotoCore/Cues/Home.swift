import Foundation

/// Learns where the user's home is, for "at home", from the positions of the photos taken at night
/// (runtime/cues/home.py). A home is a place of a few hundred metres where photos were taken on many
/// different nights over a long time; the nights at a holiday's hotel are consecutive.
public enum Home {
    private static let cellKm = 0.25, radiusKm = 0.4, kmPerDegree = 111.195, hourMs = 3_600_000, dayMs = 86_400_000

    private struct Cell: Hashable, Comparable {
        let row: Int, column: Int
        static func < (a: Cell, b: Cell) -> Bool { (a.row, a.column) < (b.row, b.column) }
    }

    /// A box around the home, open in time; nil when no place stands out.
    public static func learn(_ positions: [(lat: Double, lon: Double)?], _ times: [Int]) -> Cube? {
        var found: [(lat: Double, lon: Double, night: Int, cell: Cell)] = []
        for (position, time) in zip(positions, times) {
            guard let position, time != .min else { continue }
            let hour = floorMod(floorDiv(time, hourMs), 24)
            guard hour >= 20 || hour < 7 else { continue }
            // Hours after midnight count as the evening before.
            found.append((position.lat, position.lon, floorDiv(time + 4 * hourMs, dayMs), cell(position.lat, position.lon)))
        }
        if found.isEmpty { return nil }
        // One vote per night and cell, however many photos.
        var nights: [Cell: Set<Int>] = [:]
        for one in found { nights[one.cell, default: []].insert(one.night) }
        let best = nights.keys.sorted().max { nights[$0]!.count < nights[$1]!.count }!
        // `max` returns the last of equal cells; the first in order is wanted.
        let most = nights[best]!.count, place = nights.keys.sorted().first { nights[$0]!.count == most }!
        let around = found.filter { max(abs($0.cell.row - place.row), abs($0.cell.column - place.column)) <= 1 }
        let own = Set(around.map(\.night)), all = Set(found.map(\.night))
        guard own.count >= 5, Double(own.count) >= 0.15 * Double(all.count), Set(own.map { floorDiv($0, 7) }).count >= 4 else { return nil }
        return box(median(around.map(\.lat)), median(around.map(\.lon)))
    }

    /// The position's row and column in a grid of square cells. Longitudes are scaled by the cosine of the
    /// latitude rounded to full degrees, so that neighbours share a grid.
    private static func cell(_ lat: Double, _ lon: Double) -> Cell {
        let shrink = max(0.05, cos(lat.rounded(.toNearestOrEven) * .pi / 180)), step = cellKm / kmPerDegree
        return Cell(row: Int((lat / step).rounded(.down)), column: Int((lon * shrink / step).rounded(.down)))
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted(), half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }

    private static func box(_ lat: Double, _ lon: Double) -> Cube {
        let dlat = radiusKm / kmPerDegree, dlon = dlat / max(0.05, cos(lat * .pi / 180))
        let west = floorMod(lon - dlon + 180, 360) - 180, east = floorMod(lon + dlon + 180, 360) - 180
        return Cube(south: max(-90, lat - dlat), north: min(90, lat + dlat), west: west, east: east)
    }
}
