/// A face in a photo. `box`: in shares of its sides, cut at its edges. `quality`: the detector's score, above 0; a clear face has 1.
/// `vector`: 128 numbers, compared by Euclidean distance.
public struct Face: Sendable {
    public let box: FaceBox
    public let quality: Double
    public let vector: [Float]

    public init(box: FaceBox, quality: Double, vector: [Float]) { (self.box, self.quality, self.vector) = (box, quality, vector) }
}

/// Finds the faces in a photo, turns them upright and makes a vector of each (runtime/models/faces.py). `name`: of the encoder;
/// vectors of another one cannot be compared with these.
public final class FaceReader {
    public static let detector = "face_detector", encoder = "face_encoder"
    public static let maxFaces = 100
    public static let photo = 900 // pixels of the shorter side of the photo that it is given, at least, where the photo has them
    private static let searched = 800, enlarged = 2.0, shrink = 5.0 / 6 // of the longer side; of a small photo; from picture to picture
    private static let maxSide = 4_096 // of a picture of a fixed size
    private static let least = 40 // of the shorter side of the last picture
    private static let window = 80.0, stride = 8, margin = 11 // of the detector; zeros that the graph puts around a picture
    private static let first = 14 - margin
    private static let overlap = 0.338 // boxes of which more is common are of the same face
    private static let maxWindows = 4_000
    private static let leastFace = 36.0 // pixels of the photo: a smaller face has too little detail
    private static let grey: Float = 116
    private static let side = 150, around = 0.25 // of the picture of a face
    /// Where the landmarks are to be: the corners of the eyes, and the point below the nose.
    private static let upright = [
        0.8595674596, 0.2134981538, 0.6460604764, 0.2289674388, 0.1205750621, 0.2137274527, 0.3340850614, 0.2290642403, 0.4901123136, 0.6277975316,
    ]

    /// A window of the detector: its score, and its box in pixels of the photo.
    private typealias Window = (score: Double, box: FaceBox)

    private let detector, encoder: ModelSession
    private let landmarks: Landmarks
    public let name: String

    /// Raises Failure.runtime for a forest of other landmarks than those that a face is turned by.
    public init(_ detector: ModelSession, _ encoder: ModelSession, _ landmarks: Landmarks, name: String) throws {
        guard let shape = detector.artifact.inputs.first?.shape, shape.count == 4, shape[1..<3].allSatisfy({ (1...FaceReader.maxSide).contains($0.fixed ?? 1) }) else {
            throw Failure.runtime("the face detector takes no picture: export it again")
        }
        guard 2 * landmarks.count == FaceReader.upright.count else {
            throw Failure.runtime("the bundle's forest finds \(landmarks.count) landmarks, \(FaceReader.upright.count / 2) are wanted: export it again")
        }
        (self.detector, self.encoder, self.landmarks, self.name) = (detector, encoder, landmarks, name)
    }

    /// The faces, the clearest first, at most `maxFaces`. Raises Failure.runtime.
    public func read(_ pixels: Pixels) throws -> [Face] {
        try detect(pixels).filter { $0.box.width >= FaceReader.leastFace }.prefix(FaceReader.maxFaces).map { found in
            let quality = (found.score * 1e4).rounded(.toNearestOrEven) / 1e4
            return Face(box: FaceReader.relative(found.box, pixels), quality: quality, vector: try encode(try chip(pixels, found.box)))
        }
    }

    /// The windows that show a face, the best of those that overlap, the clearest first.
    private func detect(_ pixels: Pixels) throws -> [Window] {
        let all = try FaceReader.pyramid(pixels).flatMap { try windows($0, pixels) }.enumerated()
        let best = all.sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }.prefix(FaceReader.maxWindows)
        return FaceReader.suppressed(best.map(\.element))
    }

    private func windows(_ picture: Pixels, _ photo: Pixels) throws -> [Window] {
        let wanted = detector.artifact.inputs[0], high = wanted.shape[1].fixed ?? picture.height, wide = wanted.shape[2].fixed ?? picture.width
        guard high >= picture.height, wide >= picture.width else { throw Failure.runtime("the bundle's network takes \(wide) × \(high) pixels: export it again") }
        let values = Canvas.put(picture.bytes.map(Float.init), picture.width, picture.height, on: wide, high, grey: FaceReader.grey)
        let out = try detector.run([wanted.name: .float(values, shape: [1, high, wide, 3])])
        guard let scores = out[detector.artifact.outputs[0].name], let columns = scores.shape.last, columns > 0 else {
            throw Failure.runtime("the face detector gave no scores: export it again")
        }
        let across = Double(photo.width) / Double(picture.width), down = Double(photo.height) / Double(picture.height), half = FaceReader.window / 2
        return scores.floats.enumerated().filter { $0.element > 0 }.compactMap { at, score in
            let left = Double(FaceReader.stride * (at % columns) + FaceReader.first) - half, top = Double(FaceReader.stride * (at / columns) + FaceReader.first) - half
            guard left + half < Double(picture.width + FaceReader.margin), top + half < Double(picture.height + FaceReader.margin) else { return nil }
            return (Double(score), FaceBox(left * across, top * down, FaceReader.window * across, FaceReader.window * down))
        }
    }

    /// The face in `box`, upright and in the middle.
    private func chip(_ pixels: Pixels, _ box: FaceBox) throws -> Pixels {
        let points = landmarks.find(box) { FaceReader.brightness(pixels, $0, $1) }, side = FaceReader.side, size = Double(side)
        guard points.allSatisfy(\.isFinite) else { throw Failure.runtime("the bundle's forest gave no landmarks: export it again") }
        let wanted = FaceReader.upright.map { Float(($0 + FaceReader.around) / (2 * FaceReader.around + 1) * size) }
        var turn = Landmarks.similarity(wanted, points)
        let scale = (turn[0] * turn[0] + turn[3] * turn[3]).squareRoot() // pixels of the photo for a pixel of the face
        let shrink = min(max(Int(min(scale, 64)), 1), 64), reach = size * scale // cut before it is shrunk: the photo may be large
        func low(_ centre: Double, _ side: Int) -> Int { Int(min(max(centre - reach, 0), Double(side - 1))) }
        func high(_ centre: Double, _ low: Int, _ side: Int) -> Int { Int(min(max(centre + reach + 1, Double(low + 1)), Double(max(side, low + 1)))) }
        let x = (turn[0] + turn[1]) * size / 2 + turn[2], y = (turn[3] + turn[4]) * size / 2 + turn[5]
        let left = low(x, pixels.width), top = low(y, pixels.height)
        let near = Upright.reduce(Upright.crop(pixels, left, top, high(x, left, pixels.width), high(y, top, pixels.height)), shrink)
        for n in [0, 1, 3, 4] { turn[n] *= size / (size - 1) } // as dlib cuts it: the corners' centres lie on the corners
        turn[2] += (turn[0] + turn[1]) * -0.5 + 0.5 - Double(left) // Pillow counts from the corner of a pixel
        turn[5] += (turn[3] + turn[4]) * -0.5 + 0.5 - Double(top)
        return Upright.square(near, side, turn.map { $0 / Double(shrink) })
    }

    private func encode(_ chip: Pixels) throws -> [Float] {
        let artifact = encoder.artifact, shape = [1, FaceReader.side, FaceReader.side, 3]
        let vector = try encoder.run([artifact.inputs[0].name: .float(chip.bytes.map(Float.init), shape: shape)])[artifact.outputs[0].name]?.floats ?? []
        guard !vector.isEmpty, vector.allSatisfy(\.isFinite) else { throw Failure.runtime("the face encoder gave no numbers: export it again") }
        return vector
    }

    /// The photo in the size in which it is searched, and then smaller and smaller.
    private static func pyramid(_ pixels: Pixels) -> [Pixels] {
        var out: [Pixels] = [], scale = min(Double(searched) / Double(max(pixels.width, pixels.height)), enlarged), picture = pixels
        while true {
            let width = max(1, Int((Double(pixels.width) * scale).rounded(.toNearestOrEven))), height = max(1, Int((Double(pixels.height) * scale).rounded(.toNearestOrEven)))
            if min(width, height) < least { return out }
            let whole: Resize.Box = (0, 0, Float(picture.width), Float(picture.height))
            let bytes = Resize.rgb(picture.bytes, width: picture.width, height: picture.height, box: whole, outWidth: width, outHeight: height, filter: .bilinear)
            picture = Pixels(bytes: bytes, width: width, height: height)
            out.append(picture)
            scale *= shrink
        }
    }

    /// Of windows, the best first, those that do not overlap with a better one; at most `maxFaces`.
    private static func suppressed(_ windows: [Window]) -> [Window] {
        var kept: [Window] = []
        for window in windows where kept.count < maxFaces && kept.allSatisfy({ common(window.box, $0.box) <= overlap }) { kept.append(window) }
        return kept
    }

    private static func common(_ a: FaceBox, _ b: FaceBox) -> Double {
        let wide = max(0, min(a.left + a.width, b.left + b.width) - max(a.left, b.left)), high = max(0, min(a.top + a.height, b.top + b.height) - max(a.top, b.top))
        return wide * high / (a.width * a.height + b.width * b.height - wide * high)
    }

    private static func brightness(_ pixels: Pixels, _ x: Int, _ y: Int) -> Int {
        guard x >= 0, x < pixels.width, y >= 0, y < pixels.height else { return 0 }
        let at = 3 * (y * pixels.width + x)
        return (Int(pixels.bytes[at]) + Int(pixels.bytes[at + 1]) + Int(pixels.bytes[at + 2])) / 3
    }

    private static func relative(_ box: FaceBox, _ photo: Pixels) -> FaceBox {
        let wide = Double(photo.width), high = Double(photo.height), left = max(0, box.left / wide), top = max(0, box.top / high)
        return FaceBox(left, top, max(min(1, (box.left + box.width) / wide) - left, 0), max(min(1, (box.top + box.height) / high) - top, 0))
    }
}
