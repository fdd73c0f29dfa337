/// Cuts a turned square from a picture, bit for bit as Pillow does (Reduce.c, Geometry.c).
enum Upright {
    private static let bands = 3

    /// The part of a picture from `left`, `top` to before `right`, `bottom`.
    static func crop(_ from: Pixels, _ left: Int, _ top: Int, _ right: Int, _ bottom: Int) -> Pixels {
        var out: [UInt8] = []
        out.reserveCapacity(bands * (right - left) * (bottom - top))
        for y in top..<bottom { out += from.bytes[(bands * (y * from.width + left))..<(bands * (y * from.width + right))] }
        return Pixels(bytes: out, width: right - left, height: bottom - top)
    }

    /// The picture with a pixel for each block of `by` × `by`, the mean of it; blocks at the edges may be smaller.
    static func reduce(_ from: Pixels, _ by: Int) -> Pixels {
        if by == 1 { return from }
        let width = (from.width + by - 1) / by, height = (from.height + by - 1) / by
        var out = [UInt8](repeating: 0, count: bands * width * height)
        for y in 0..<height {
            for x in 0..<width {
                let wide = min(by, from.width - x * by), high = min(by, from.height - y * by)
                let scale = Int(Float(1 << 32) / Float(256 * wide * high)) // a division as fixed point, in single precision
                for band in 0..<bands {
                    var sum = wide * high / 2
                    for row in 0..<high { for column in 0..<wide { sum += Int(from.bytes[bands * ((y * by + row) * from.width + x * by + column) + band]) } }
                    out[bands * (y * width + x) + band] = UInt8(truncatingIfNeeded: (sum * scale) >> 24)
                }
            }
        }
        return Pixels(bytes: out, width: width, height: height)
    }

    /// A square of `side` pixels, of which a pixel (x, y) shows (a·x + b·y + c, d·x + e·y + f) of the picture, between whose pixels
    /// it is weighted. `turn`: a to f. Black where there is no picture.
    static func square(_ from: Pixels, _ side: Int, _ turn: [Double]) -> Pixels {
        var out = [UInt8](repeating: 0, count: bands * side * side)
        for y in 0..<side {
            for x in 0..<side {
                let column = Double(x) + 0.5, row = Double(y) + 0.5
                let across = turn[0] * column + turn[1] * row + turn[2], down = turn[3] * column + turn[4] * row + turn[5]
                guard across >= 0, across < Double(from.width), down >= 0, down < Double(from.height) else { continue }
                let left = (across - 0.5).rounded(.down), top = (down - 0.5).rounded(.down)
                let dx = across - 0.5 - left, dy = down - 0.5 - top
                let columns = (max(Int(left), 0), min(Int(left) + 1, from.width - 1)), rows = (max(Int(top), 0), min(Int(top) + 1, from.height - 1))
                for band in 0..<bands {
                    func at(_ row: Int, _ column: Int) -> Double { Double(from.bytes[bands * (row * from.width + column) + band]) }
                    func along(_ row: Int) -> Double { at(row, columns.0) + (at(row, columns.1) - at(row, columns.0)) * dx }
                    let upper = along(rows.0)
                    out[bands * (y * side + x) + band] = UInt8(upper + (along(rows.1) - upper) * dy)
                }
            }
        }
        return Pixels(bytes: out, width: side, height: side)
    }
}
