import Foundation

/// Antialiased resizing of 8-bit RGB, bit for bit as Pillow (Resample.c): coefficients in double precision,
/// then 22-bit fixed point, rows and columns one after the other, each rounded to a byte.
public struct Resize: Sendable {
    public enum Filter: String, Sendable {
        case bicubic, bilinear, box

        fileprivate var support: Double { self == .bicubic ? 2 : self == .bilinear ? 1 : 0.5 }

        fileprivate func weight(_ x: Double) -> Double {
            if self == .box { return x > -0.5 && x <= 0.5 ? 1 : 0 }
            let x = abs(x)
            if self == .bilinear { return x < 1 ? 1 - x : 0 }
            let a = -0.5
            if x < 1 { return ((a + 2) * x - (a + 3)) * x * x + 1 }
            return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0
        }
    }

    private static let precision = 22

    /// For each output position: the first input position, and the fixed-point weights from there on.
    private struct Weights {
        var first: [Int] = []
        var values: [[Int32]] = []

        private static func fixed(_ weight: Double) -> Int32 {
            let scaled = weight * Double(1 << Resize.precision)
            return Int32(weight < 0 ? scaled - 0.5 : scaled + 0.5)
        }

        init(size: Int, low: Float, high: Float, out: Int, filter: Filter) {
            let scale = Double(high - low) / Double(out), stretch = max(scale, 1)
            let support = filter.support * stretch
            for position in 0..<out {
                let centre = Double(low) + (Double(position) + 0.5) * scale
                let from = max(0, Int(centre - support + 0.5)), to = min(size, Int(centre + support + 0.5))
                var weights = [Double](repeating: 0, count: max(0, to - from))
                for at in weights.indices { weights[at] = filter.weight((Double(at + from) - centre + 0.5) * (1 / stretch)) }
                let sum = weights.reduce(0, +)
                if sum != 0 { weights = weights.map { $0 / sum } }
                first.append(from)
                values.append(weights.map { Weights.fixed($0) })
            }
        }
    }

    /// Left, top, right, bottom; float32, as in Pillow.
    public typealias Box = (left: Float, top: Float, right: Float, bottom: Float)

    /// Resizes `box` of `pixels` [height, width, 3] to [outHeight, outWidth, 3].
    public static func rgb(
        _ pixels: [UInt8], width: Int, height: Int, box: Box, outWidth: Int, outHeight: Int, filter: Filter
    ) -> [UInt8] {
        let across = Weights(size: width, low: box.left, high: box.right, out: outWidth, filter: filter)
        let down = Weights(size: height, low: box.top, high: box.bottom, out: outHeight, filter: filter)
        let needsAcross = outWidth != width || box.left != 0 || box.right != Float(outWidth)
        let needsDown = outHeight != height || box.top != 0 || box.bottom != Float(outHeight)
        // Each pass rounds to bytes, so the order changes the result. Pillow 13 resizes columns first where
        // that leaves less to do.
        if needsAcross && needsDown && height > outHeight && height - outHeight > 2 * (width - outWidth) {
            let small = vertical(pixels, width: width, offset: 0, down, outHeight)
            return horizontal(small, width: width, rows: 0..<outHeight, across, outWidth)
        }
        var rows = pixels, rowWidth = width, offset = 0
        if needsAcross {
            offset = down.first[0]
            rows = horizontal(pixels, width: width, rows: offset..<(down.first[outHeight - 1] + down.values[outHeight - 1].count), across, outWidth)
            rowWidth = outWidth
        }
        return needsDown ? vertical(rows, width: rowWidth, offset: offset, down, outHeight) : rows
    }

    private static func horizontal(_ pixels: [UInt8], width: Int, rows: Range<Int>, _ weights: Weights, _ outWidth: Int) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: rows.count * outWidth * 3)
        pixels.withUnsafeBufferPointer { pixels in
            for (y, row) in rows.enumerated() {
                for x in 0..<outWidth {
                    let first = 3 * (row * width + weights.first[x])
                    var r: Int32 = 1 << 21, g = r, b = r
                    for (at, weight) in weights.values[x].enumerated() {
                        r &+= weight &* Int32(pixels[first + 3 * at])
                        g &+= weight &* Int32(pixels[first + 3 * at + 1])
                        b &+= weight &* Int32(pixels[first + 3 * at + 2])
                    }
                    let place = 3 * (y * outWidth + x)
                    (out[place], out[place + 1], out[place + 2]) = (byte(r), byte(g), byte(b))
                }
            }
        }
        return out
    }

    private static func vertical(_ rows: [UInt8], width: Int, offset: Int, _ weights: Weights, _ outHeight: Int) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: outHeight * width * 3)
        rows.withUnsafeBufferPointer { rows in
            for y in 0..<outHeight {
                let first = weights.first[y] - offset
                for x in 0..<(width * 3) {
                    var sum: Int32 = 1 << 21
                    for (at, weight) in weights.values[y].enumerated() { sum &+= weight &* Int32(rows[(first + at) * width * 3 + x]) }
                    out[y * width * 3 + x] = byte(sum)
                }
            }
        }
        return out
    }

    private static func byte(_ sum: Int32) -> UInt8 { UInt8(clamping: sum >> Int32(precision)) }
}
