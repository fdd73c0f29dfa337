import XCTest

@testable import PhotoCore

/// What is seen without a query; checks and repairs. The fixtures that all languages share cover the rest.
final class BrowseTests: XCTestCase {
    func testTheProjectionIsMercators() {
        XCTAssertEqual(MapPoint(lat: 0, lon: 0).x, 0.5, accuracy: 1e-9)
        XCTAssertEqual(MapPoint(lat: 0, lon: 0).y, 0.5, accuracy: 1e-9)
        XCTAssertEqual(MapPoint(lat: 60, lon: 0).y, 0.290402, accuracy: 1e-4)
        XCTAssertEqual(MapPoint(lat: 90, lon: -180).y, 0, accuracy: 1e-3)
        XCTAssertEqual(MapPoint(lat: 90, lon: -180).x, 0)
    }

    func testCitiesLieOnLandAndOceansDoNot() throws {
        let root = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { here, _ in here.deletingLastPathComponent() }
        let map = try WorldMap(String(contentsOf: root.appendingPathComponent("runtime/serve/static/land.json"), encoding: .utf8))
        func crosses(_ ring: [MapPoint], _ x: Double, _ y: Double) -> Bool {
            ring.indices.count { n in
                let a = ring[n], b = ring[(n + 1) % ring.count]
                return (a.y > y) != (b.y > y) && x < (b.x - a.x) * (y - a.y) / (b.y - a.y) + a.x
            } % 2 == 1
        }
        func isLand(_ lat: Double, _ lon: Double) -> Bool {
            let at = MapPoint(lat: lat, lon: lon)
            return [-1.0, 0, 1].contains { turn in map.rings.count { crosses($0, at.x + turn, at.y) } % 2 == 1 }
        }
        for (lat, lon) in [(52.5, 13.4), (35.7, 139.6), (-33.9, 150.9), (66.2, -173.0), (-77.8, 106.9), (-80.0, -120.0)] { XCTAssertTrue(isLand(lat, lon), "\(lat), \(lon)") }
        for (lat, lon) in [(-60.0, 100.0), (30.0, -40.0), (0.0, -150.0), (-40.0, 80.0), (40.0, 179.9)] { XCTAssertFalse(isLand(lat, lon), "\(lat), \(lon)") }
    }

    func testAZoomStaysOnTheScreen() {
        let whole = Zoom(Zoom.Size(100, 200), Zoom.Size(400, 200))
        XCTAssertTrue(whole.isWhole)
        XCTAssertEqual([whole.scale, whole.x, whole.y], [0.25, 0, 75])
        let near = whole.by(4, 50, 100)
        XCTAssertFalse(near.isWhole)
        XCTAssertEqual([near.scale, near.x, near.y], [1, -150, 0])
        XCTAssertEqual(near.moved(1000, 50).x, 0)
        XCTAssertEqual(near.moved(-1000, 50).x, -300)
        XCTAssertEqual(near.by(100, 0, 0).scale, 0.25 * Zoom.most)
        XCTAssertEqual(near.by(0.001, 50, 100), whole)
    }

    func testManyNodesAreFoundByTheirGraphAsByAScan() throws {
        var dice = Dice(5)
        let made = (0..<1500).map { _ in Quantized(dice.unit(16)) }, roots = (0..<1600).map { $0 == 7 ? 3 : $0 }
        func nodes(_ count: Int) -> NodeVectors {
            let vectors = VectorSet(
                dim: 16, codes: made[..<count].flatMap(\.codes), scales: made[..<count].map(\.scale), owners: Array(0..<count), fine: nil)
            return NodeVectors(vectors: vectors, roots: roots)
        }
        let blob = try XCTUnwrap(HNSW.build(nodes(1400).vectors, photos: 1400))
        let scan = EntityNodes(nodes(1500), nil), walk = EntityNodes(nodes(1500), blob)  // a hundred came after the graph
        var equal = 0
        for at in stride(from: 0, to: 1500, by: 15) {
            let query = VectorQuery(made[at].codes.map { Float($0) * made[at].scale })
            let (a, b) = (scan.similar(query, 0.9), walk.similar(query, 0.9))
            XCTAssertGreaterThan(b[roots[at]], 0.99)
            XCTAssertEqual(b[7], -.infinity)  // merged into another
            if a == b { equal += 1 }
        }
        XCTAssertGreaterThanOrEqual(equal, 99)
        XCTAssertEqual(EntityNodes(nodes(1500), [1, 2, 3]).similar(VectorQuery(dice.unit(16)), -1).count, 1600)
    }

    func testAFileThatCannotBeReadIsAProblemInOneLine() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).gamer").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        XCTAssertEqual(Check.problems(path).count, 1)
        try Data("no album".utf8).write(to: URL(fileURLWithPath: path))
        XCTAssertTrue(try XCTUnwrap(Check.problems(path).first).hasPrefix("\(path): cannot be read through ("))
    }
}
