import Foundation

/// Left, top, width and height, in pixels of a picture if nothing else is said.
public struct FaceBox: Sendable, Equatable {
    public let left, top, width, height: Double

    public init(_ left: Double, _ top: Double, _ width: Double, _ height: Double) {
        (self.left, self.top, self.width, self.height) = (left, top, width, height)
    }
}

/// Finds the landmarks of a face in its box with a forest of regression trees (runtime/models/landmarks.py): cascades of trees of
/// `nodes` nodes that compare two of `pixels` pixels. Points are x and y, one after the other.
public struct Landmarks: Sendable {
    private let shape, deltas, thresholds, leaves: [Float]
    private let anchors: [UInt8]
    private let splits: [Int64]
    private let cascades, pixels, trees, nodes: Int
    private static let farthest: Float = 10_000 // sides of the box that a point or a step may be away

    public var count: Int { shape.count / 2 }

    /// The forest of a bundle, whose files `data` gives the paths of. Raises Failure.bundle for arrays that are missing or do not
    /// fit together.
    public init(_ bundle: String, _ data: (String) throws -> String) throws {
        func unusable(_ why: String) -> Failure { .bundle("\(bundle): its landmarks cannot be used (\(why)): export it again") }
        func read(_ name: String, _ dtype: String) throws -> NumpyFile {
            guard let raw = FileManager.default.contents(atPath: try data("face_landmarks.\(name).npy")) else { throw unusable("no \(name)") }
            do {
                let file = try NumpyFile([UInt8](raw))
                guard file.dtype == dtype else { throw Failure.value("\(name) of \(file.dtype)") }
                return file
            } catch Failure.value(let why) { throw unusable(why) }
        }
        let shape = try read("shape", "<f4"), anchors = try read("anchors", "|u1"), deltas = try read("deltas", "<f4")
        let splits = try read("splits", "<u2"), thresholds = try read("thresholds", "<f4"), leaves = try read("leaves", "<f4")
        guard anchors.shape.count == 2, splits.shape.count == 4, !(anchors.shape + splits.shape).contains(0), let count = shape.shape.first else { throw unusable("the shapes of its arrays do not fit together") }
        (cascades, pixels, trees, nodes) = (anchors.shape[0], anchors.shape[1], splits.shape[1], splits.shape[2])
        let wanted: [([Int], [Int])] = [
            (shape.shape, [count, 2]), (deltas.shape, [cascades, pixels, 2]), (splits.shape, [cascades, trees, nodes, 2]),
            (thresholds.shape, [cascades, trees, nodes]), (leaves.shape, [cascades, trees, nodes + 1, count, 2]),
        ]
        guard wanted.allSatisfy({ $0 == $1 && !$1.contains(0) }) else { throw unusable("the shapes of its arrays do not fit together") }
        let points = pixels
        guard nodes & (nodes + 1) == 0, anchors.bytes.allSatisfy({ $0 < count }), splits.integers.allSatisfy({ $0 < points }) else {
            throw unusable("a tree or a pixel of it leads nowhere")
        }
        (self.shape, self.deltas, self.thresholds, self.leaves) = (shape.values, deltas.values, thresholds.values, leaves.values)
        (self.anchors, self.splits) = (anchors.bytes, splits.integers)
        guard thresholds.values.allSatisfy(\.isFinite), [shape, deltas, leaves].allSatisfy({ $0.values.allSatisfy { abs($0) <= Landmarks.farthest } }) else {
            throw unusable("it holds values that are not finite, or too large")
        }
    }

    /// Where the landmarks are. `brightness`: of a pixel of the picture, 0 outside of it.
    func find(_ box: FaceBox, _ brightness: (Int, Int) -> Int) -> [Float] {
        var found = shape
        for cascade in 0..<cascades {
            let turn = Landmarks.similarity(shape, found).map { Float($0) }
            let seen = (0..<pixels).map { n -> Float in
                let anchor = Int(anchors[cascade * pixels + n]), at = 2 * (cascade * pixels + n)
                let x = deltas[at] * turn[0] + deltas[at + 1] * turn[1] + found[2 * anchor]
                let y = deltas[at] * turn[3] + deltas[at + 1] * turn[4] + found[2 * anchor + 1]
                return Float(brightness(pixel(placed(x, box.left, box.width)), pixel(placed(y, box.top, box.height))))
            }
            for tree in 0..<trees {
                let leaf = self.leaf(cascade * trees + tree, seen)
                for n in found.indices { found[n] += leaves[leaf * found.count + n] }
            }
        }
        return found.indices.map { $0 % 2 == 0 ? placed(found[$0], box.left, box.width) : placed(found[$0], box.top, box.height) }
    }

    private func leaf(_ tree: Int, _ seen: [Float]) -> Int {
        var at = 0
        while at < nodes {
            let node = tree * nodes + at
            let isLeft = seen[Int(splits[2 * node])] - seen[Int(splits[2 * node + 1])] > thresholds[node]
            at = 2 * at + (isLeft ? 1 : 2)
        }
        return tree * (nodes + 1) + at - nodes
    }

    private func placed(_ at: Float, _ from: Double, _ size: Double) -> Float { at * Float(size) + Float(from) }

    private func pixel(_ at: Float) -> Int { at.isNaN ? -1 : Int((min(max(at, -1e6), 1e6) + 0.5).rounded(.down)) }

    /// The rotation, scale and shift a to f that bring `points` nearest to `wanted`: a point (x, y) to (a·x + b·y + c, d·x + e·y + f).
    static func similarity(_ points: [Float], _ wanted: [Float]) -> [Double] {
        let count = points.count / 2
        func middle(_ of: [Float], _ axis: Int) -> Double { (0..<count).reduce(0.0) { $0 + Double(of[2 * $1 + axis]) } / Double(count) }
        let px = middle(points, 0), py = middle(points, 1), wx = middle(wanted, 0), wy = middle(wanted, 1)
        var spread = 0.0, along = 0.0, across = 0.0
        for n in 0..<count {
            let ax = Double(points[2 * n]) - px, ay = Double(points[2 * n + 1]) - py, bx = Double(wanted[2 * n]) - wx, by = Double(wanted[2 * n + 1]) - wy
            spread += ax * ax + ay * ay
            along += ax * bx + ay * by
            across += ax * by - ay * bx
        }
        spread = max(spread, 1e-12)
        let c = along / spread, s = across / spread
        return [c, -s, wx - (c * px - s * py), s, c, wy - (s * px + c * py)]
    }
}
