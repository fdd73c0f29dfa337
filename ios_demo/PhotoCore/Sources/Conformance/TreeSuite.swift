import Foundation
import PhotoCore

/// Suite `kdtree`: queries a segment with cubes and boxes, and for nearest points.
enum TreeSuite {
    static func ready(_ suite: Suite) throws -> Replayed {
        { one in
            let given = one.given
            let raw = try given["blob"] != nil ? given.base64("blob") : suite.shared.need("trees").base64(try given.text("tree"))
            let tree = try KDTree(bytes: raw)
            let space = Space(tree: tree, count: tree.count)
            switch try given.text("op") {
            case "cubes":
                let found = space.inCubes(try given.list("cubes").map(cube))
                return .object(["rows": .ints(found.rows), "inside": .ints(found.inside)])
            case "range": return .object(["rows": .ints(tree.range(try given.list("boxes").map(box)))])
            case "near":
                let rows = try space.near(
                    try given.whole("k"), lat: given["lat"]?.double, lon: given["lon"]?.double, takenAt: given["taken_at"]?.int,
                    metresAnHour: given["metres_an_hour"]?.double ?? 1000)
                return .object(["rows": .ints(rows)])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    static func cube(_ raw: JSON) -> Cube {
        Cube(
            start: raw["start"]?.int, end: raw["end"]?.int, south: raw["south"]?.double, north: raw["north"]?.double, west: raw["west"]?.double,
            east: raw["east"]?.double, border: raw["border"]?.array.map { Border(code: "", rings: $0.map(ring)) })
    }

    private static func ring(_ raw: JSON) -> [Border.Point] {
        (raw.array ?? []).map { Border.Point(lat: $0[0]?.int ?? 0, lon: $0[1]?.int ?? 0) }
    }

    static func json(_ cube: Cube) -> JSON {
        .object([
            "start": .optional(cube.start), "end": .optional(cube.end), "south": .optional(cube.south), "north": .optional(cube.north),
            "west": .optional(cube.west), "east": .optional(cube.east),
        ])
    }

    private static func box(_ raw: JSON) throws -> KDTree.Box {
        KDTree.Box(low: try raw.list("low").map { $0.int ?? .min }, high: try raw.list("high").map { $0.int ?? .max })
    }
}
