import Foundation

/// `rows`: ascending, inside some cube or not excluded for an unknown field. `inside`: ascending, surely
/// inside.
public struct CubeResult: Sendable {
    public let rows: [Int]
    public let inside: [Int]
}

/// Layer 1: maps photos to points of the K-D tree and space-time cubes to boxes. A cue never excludes a photo
/// for an unknown field: such a field is stored as the lowest integer on its axis, a value that no known
/// field takes.
///
/// `tree`: the photos as they were when the segment was built. `late`: rows added or changed since; their
/// points are in a small tree of their own.
public struct Space: Sendable {
    public static let e7 = 10_000_000
    private static let metresE7 = 111_320.0 / Double(e7)

    let tree: KDTree
    let count: Int
    let late: [Int]
    let lateTree: KDTree

    public init(tree: KDTree, count: Int, late: [Int] = [], points: [[Int]] = []) {
        (self.tree, self.count, self.late) = (tree, count, late)
        lateTree = KDTree(points: points)
    }

    /// Degrees in the file's unit of 1e-7 degrees; the lowest integer, for unknown, of what is not a number.
    public static func e7(_ degrees: Double) -> Int {
        if degrees.isNaN { return .min }
        let scaled = (degrees * Double(e7)).rounded(.toNearestOrEven)
        return scaled >= 9.2e18 ? .max : scaled <= -9.2e18 ? .min + 1 : Int(scaled)
    }

    /// Latitudes e7, longitudes e7 and wall times in ms, each in order of row.
    public func columns() -> [[Int]] {
        (0..<3).map { axis in
            var out = [Int](repeating: KDTree.lowest, count: max(count, tree.count))
            for (row, value) in zip(tree.order, tree.columns[axis]) { out[row] = value }
            out = Array(out.prefix(count))
            for (row, value) in zip(lateTree.order, lateTree.columns[axis]) { out[late[row]] = value }
            return out
        }
    }

    /// True for the rows whose points in `tree` are out of date.
    private var stale: [Bool] {
        var out = [Bool](repeating: false, count: max(count, tree.count))
        for row in late { out[row] = true }
        for row in count..<max(count, tree.count) { out[row] = true }
        return out
    }

    public func hits(_ boxes: [KDTree.Box]) -> [(row: Int, box: Int)] {
        let found = tree.hits(boxes)
        if late.isEmpty && tree.count <= count { return found }
        let stale = self.stale
        return found.filter { !stale[$0.row] } + lateTree.hits(boxes).map { (late[$0.row], $0.box) }
    }

    /// The photos in any of the cubes. Empty `cubes` is the paper's "N/A": every photo.
    public func inCubes(_ cubes: [Cube]) -> CubeResult {
        if cubes.isEmpty {
            let all = Array(0..<count)
            return CubeResult(rows: all, inside: all)
        }
        var rows = [Bool](repeating: false, count: max(count, tree.count)), inside = rows
        let places = cubes.contains { $0.border != nil } ? columns() : []
        for border in Words.unique(cubes.map(\.border)) {
            let split = cubes.filter { $0.border == border }.map(Space.boxes), known = split.flatMap(\.known)
            for (row, box) in hits(known + split.flatMap(\.beside)) {
                // A photo without a place is in no country, and may be in each.
                if let border, places[0][row] != KDTree.lowest, !border.holds(places[0][row], places[1][row]) { continue }
                rows[row] = true
                if box < known.count { inside[row] = true }
            }
        }
        return CubeResult(rows: marked(rows), inside: marked(inside))
    }

    /// The k rows nearest to a place, a time, or both, nearest first. Raises Failure.album if neither is
    /// given, or only half a place.
    public func near(_ k: Int, lat: Double?, lon: Double?, takenAt: Int?, metresAnHour: Double = 1000) throws -> [Int] {
        guard (lat == nil) == (lon == nil), lat != nil || takenAt != nil else {
            throw Failure.album("nearest photos: give a place, a time, or both; a place is a latitude and a longitude")
        }
        let point = [Space.e7(lat ?? 0), Space.e7(lon ?? 0), takenAt ?? 0]
        let east = Space.metresE7 * max(cos((lat ?? 0) * .pi / 180), 1e-3)
        let unit = [lat == nil ? 0 : Space.metresE7, lon == nil ? 0 : east, takenAt == nil ? 0 : metresAnHour / 3_600_000]
        let stale = self.stale, many = stale.filter { $0 }.count
        var found = tree.nearest(point, unit: unit, k: k + many, period: 360 * Space.e7).filter { !stale[$0.row] }
        found += lateTree.nearest(point, unit: unit, k: k, period: 360 * Space.e7).map { (late[$0.row], $0.far) }
        found.sort { $0.far != $1.far ? $0.far < $1.far : $0.row < $1.row }
        return found.prefix(max(k, 0)).map(\.row)
    }

    private typealias Span = (low: Int, high: Int)

    /// Boxes of photos surely inside, and boxes of photos with unknown fields that fit otherwise.
    private static func boxes(_ cube: Cube) -> (known: [KDTree.Box], beside: [KDTree.Box]) {
        let all: Span = (.min, .max), unknown: Span = (.min, .min)
        let time = cube.hasTime ? span(cube.start, cube.end) : all
        let bounded = cube.south != nil || cube.north != nil || cube.west != nil || cube.east != nil
        let places = bounded ? self.places(cube) : [(all, all)]
        func box(_ lat: Span, _ lon: Span, _ time: Span) -> KDTree.Box {
            KDTree.Box(low: [lat.low, lon.low, time.low], high: [lat.high, lon.high, time.high])
        }
        var beside: [KDTree.Box] = []
        if bounded { beside.append(box(unknown, unknown, time)) }
        if cube.hasTime { beside += places.map { box($0.0, $0.1, unknown) } }
        if bounded && cube.hasTime { beside.append(box(unknown, unknown, unknown)) }
        return (places.map { box($0.0, $0.1, time) }, beside)
    }

    private static func places(_ cube: Cube) -> [(Span, Span)] {
        let lat = span(cube.south.map { e7($0) }, cube.north.map { e7($0) })
        let west = cube.west.map { e7($0) }, east = cube.east.map { e7($0) }
        // The box crosses the antimeridian.
        if let west, let east, west > east { return [(lat, span(west, nil)), (lat, span(nil, east))] }
        return [(lat, span(west, east))]
    }

    /// Inclusive bounds; an open end covers every known value, but not the lowest integer, which means
    /// unknown.
    private static func span(_ low: Int?, _ high: Int?) -> Span { (max(low ?? .min + 1, .min + 1), high ?? .max) }
}
