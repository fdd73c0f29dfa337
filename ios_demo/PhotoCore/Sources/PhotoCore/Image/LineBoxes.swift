import Foundation

/// A line's place in pixels: its first corner, and the vectors along it and down.
public struct LineBox: Sendable, Equatable {
    public let x, y, alongX, alongY, downX, downY: Double

    public init(_ x: Double, _ y: Double, _ alongX: Double, _ alongY: Double, _ downX: Double, _ downY: Double) {
        (self.x, self.y, self.alongX, self.alongY, self.downX, self.downY) = (x, y, alongX, alongY, downX, downY)
    }

    public var values: [Double] { [x, y, alongX, alongY, downX, downY] }
    var width: Double { hypot(alongX, alongY) }
    var height: Double { hypot(downX, downY) }
    var middle: (x: Double, y: Double) { (x + (alongX + downX) / 2, y + (alongY + downY) / 2) }

    /// The box in the picture's own pixels; one that runs down is turned, so that it is read from its top.
    public func scaled(_ across: Double, _ down: Double) -> LineBox {
        let placed = LineBox(x * across, y * down, alongX * across, alongY * down, downX * across, downY * down)
        return placed.height < 1.5 * placed.width ? placed : placed.turned()
    }

    /// The same rectangle from its next corner.
    fileprivate func turned() -> LineBox { LineBox(x + alongX, y + alongY, downX, downY, -alongX, -alongY) }

    /// A region's rectangle as the line was before training shrank it; nil where it is too small.
    fileprivate func grown() -> LineBox? {
        if min(width, height) < 3 { return nil }
        let by = 1.6 * width * height / (2 * (width + height)) // a region's area over its outline
        let wide = 1 + 2 * by / width, high = 1 + 2 * by / height
        return LineBox(
            x - by * (alongX / width + downX / height), y - by * (alongY / width + downY / height),
            alongX * wide, alongY * wide, downX * high, downY * high)
    }
}

/// Finds lines of text in a map of probabilities, and cuts them from a picture (runtime/models/printed.py).
public enum LineBoxes {
    static let most = 200
    public static let height = 48 // of a line that is cut
    private static let level: Float = 0.3
    private static let minRegion = 0.6
    private static let maxRuns = 100_000 // of pixels of a row: a map of more is noise
    private static let maxSamples = 4 // in a row, for a value of a line that is larger than its cut

    private typealias Point = (x: Double, y: Double)
    /// The columns of a row from `start` to before `end`.
    private typealias Run = (row: Int, start: Int, end: Int)

    /// The lines in a map of `height` rows of `stride` values, of which `width` count; the largest regions first.
    public static func find(_ likely: [Float], width: Int, height: Int, stride: Int) -> [LineBox] {
        regions(likely, width, height, stride).prefix(5 * most).compactMap { region in
            var total = 0.0
            for run in region { for x in run.start..<run.end { total += Double(likely[run.row * stride + x]) } }
            if total / Double(size(region)) < minRegion { return nil }
            return rectangle(outer(region)).grown()
        }
    }

    /// The first and last pixel of each row of a region, whose runs are in order.
    private static func outer(_ region: [Run]) -> [Point] {
        var points: [Point] = []
        for (n, run) in region.enumerated() {
            if n == 0 || region[n - 1].row != run.row { points.append((Double(run.start), Double(run.row))) }
            if n == region.count - 1 || region[n + 1].row != run.row { points.append((Double(run.end - 1), Double(run.row))) }
        }
        return points
    }

    private static func size(_ region: [Run]) -> Int { region.reduce(0) { $0 + $1.end - $1.start } }

    /// The regions of pixels above `level` that touch, corners included, the largest first; none of noise.
    private static func regions(_ likely: [Float], _ width: Int, _ height: Int, _ stride: Int) -> [[Run]] {
        var runs: [Run] = []
        for y in 0..<height {
            var x = 0
            while x < width {
                let start = x
                while x < width && likely[y * stride + x] > level { x += 1 }
                if x > start { runs.append((y, start, x)) } else { x += 1 }
            }
            if runs.count > maxRuns { return [] }
        }
        var parents = Array(runs.indices)
        func root(_ of: Int) -> Int {
            var at = of
            while parents[at] != at {
                parents[at] = parents[parents[at]]
                at = parents[at]
            }
            return at
        }
        var above = 0
        for (n, run) in runs.enumerated() {
            while runs[above].row < run.row - 1 || (runs[above].row == run.row - 1 && runs[above].end < run.start) { above += 1 }
            var other = above
            while runs[other].row == run.row - 1 && runs[other].start <= run.end {
                parents[root(other)] = root(n)
                other += 1
            }
        }
        var byRoot: [Int: [Run]] = [:]
        for (n, run) in runs.enumerated() { byRoot[root(n), default: []].append(run) }
        return byRoot.sorted { (size($0.value), $1.key) > (size($1.value), $0.key) }.map(\.value)
    }

    /// The smallest rectangle around pixels, their own width included; it lies along an edge of the hull. Its first vector
    /// is the one nearer to the horizontal, and points to the right.
    private static func rectangle(_ pixels: [Point]) -> LineBox {
        let outline = hull(pixels)
        var edges: [Point] = [(1, 0)] // a single pixel has no edge
        for (n, a) in outline.enumerated() {
            let b = outline[(n + 1) % outline.count]
            if hypot(b.x - a.x, b.y - a.y) > 0 { edges.append((b.x - a.x, b.y - a.y)) }
        }
        var best: LineBox?
        for edge in edges {
            let length = hypot(edge.x, edge.y), ux = edge.x / length, uy = edge.y / length
            let along = outline.map { $0.x * ux + $0.y * uy }, across = outline.map { -$0.x * uy + $0.y * ux }
            let low = (along.min() ?? 0, across.min() ?? 0), wide = (along.max() ?? 0) - low.0 + 1, high = (across.max() ?? 0) - low.1 + 1
            if let best, wide * high >= best.width * best.height * (1 - 1e-12) { continue }
            let a = low.0 - 0.5, b = low.1 - 0.5 // pixel centres are halves
            best = LineBox(a * ux - b * uy + 0.5, a * uy + b * ux + 0.5, ux * wide, uy * wide, -uy * high, ux * high)
        }
        var box = best ?? LineBox(0, 0, 0, 0, 0, 0)
        for _ in 0..<4 {
            if box.alongX > 0 && abs(box.alongY) * box.height <= abs(box.downY) * box.width + 1e-9 { break }
            box = box.turned()
        }
        return box
    }

    /// The convex hull, counted without repetition (Andrew's monotone chain).
    private static func hull(_ points: [Point]) -> [Point] {
        var ordered: [Point] = []
        for p in points.sorted(by: { ($0.x, $0.y) < ($1.x, $1.y) }) where ordered.last.map({ $0 != p }) ?? true { ordered.append(p) }
        if ordered.count < 3 { return ordered }
        func half(_ path: [Point]) -> [Point] {
            var chain: [Point] = []
            for p in path {
                while chain.count > 1 {
                    let a = chain[chain.count - 2], b = chain[chain.count - 1]
                    if (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) > 0 { break }
                    chain.removeLast()
                }
                chain.append(p)
            }
            return chain.dropLast()
        }
        return half(ordered) + half(ordered.reversed())
    }

    /// From the top; boxes whose middles are less than half a line's height apart are one row, from the left.
    public static func inReadingOrder(_ found: [LineBox]) -> [LineBox] {
        var rows: [[LineBox]] = []
        for box in stable(found, by: { $0.middle.y }) {
            if let first = rows.last?.first, box.middle.y - first.middle.y <= min(first.height, box.height) / 2 {
                rows[rows.count - 1].append(box)
            } else {
                rows.append([box])
            }
        }
        return rows.flatMap { stable($0, by: { $0.middle.x }) }
    }

    private static func stable(_ boxes: [LineBox], by key: (LineBox) -> Double) -> [LineBox] {
        boxes.enumerated().sorted { (key($0.element), $0.offset) < (key($1.element), $1.offset) }.map(\.element)
    }

    /// `height` rows of `width` RGB values: what is in a box, upright; each value the mean of as many samples as it covers.
    public static func cut(_ pixels: Pixels, _ box: LineBox, width: Int) -> [Float] {
        let dense = max(1, min(maxSamples, Int((box.height / Double(height)).rounded(.up))))
        var out = [Float](repeating: 0, count: height * width * 3)
        let share = 1 / Float(dense * dense)
        pixels.bytes.withUnsafeBufferPointer { bytes in
            for row in 0..<(height * dense) {
                let low = (Double(row) + 0.5) / Double(height * dense)
                for column in 0..<(width * dense) {
                    let right = (Double(column) + 0.5) / Double(width * dense)
                    let x = min(max(box.x + right * box.alongX + low * box.downX - 0.5, 0), Double(pixels.width - 1))
                    let y = min(max(box.y + right * box.alongY + low * box.downY - 0.5, 0), Double(pixels.height - 1))
                    let left = Int(x), top = Int(y), beside = min(left + 1, pixels.width - 1), below = min(top + 1, pixels.height - 1)
                    let fx = Float(x - Double(left)), fy = Float(y - Double(top)), place = 3 * (row / dense * width + column / dense)
                    for band in 0..<3 {
                        func at(_ column: Int, _ row: Int) -> Float { Float(bytes[3 * (row * pixels.width + column) + band]) }
                        let upper = at(left, top) * (1 - fx) + at(beside, top) * fx
                        let lower = at(left, below) * (1 - fx) + at(beside, below) * fx
                        out[place + band] += (upper * (1 - fy) + lower * fy) * share
                    }
                }
            }
        }
        return out
    }
}
