/// A picture on the canvas of a network (runtime/models/canvas.py).
enum Canvas {
    /// The values of a picture of `width` × `height`, row by row, at the top left of `wide` × `high` pixels of `grey`.
    static func put(_ picture: [Float], _ width: Int, _ height: Int, on wide: Int, _ high: Int, grey: Float) -> [Float] {
        if (width, height) == (wide, high) { return picture }
        var out = [Float](repeating: grey, count: wide * high * 3)
        for y in 0..<height { out.replaceSubrange((3 * y * wide)..<(3 * (y * wide + width)), with: picture[(3 * y * width)..<(3 * (y + 1) * width)]) }
        return out
    }
}
