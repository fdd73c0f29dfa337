import Foundation

/// A decoded picture: bytes [height, width, 3], RGB, upright.
public struct Pixels: Sendable {
    public let bytes: [UInt8]
    public let width: Int
    public let height: Int

    public init(bytes: [UInt8], width: Int, height: Int) { (self.bytes, self.width, self.height) = (bytes, width, height) }
}

/// Pixels → the input tensor of an image tower (runtime/models/image.py). Normalisation is done inside the
/// graph.
public enum Preprocess {
    /// A picture as the input of an image tower; a tower that takes bytes resizes in its own graph.
    static func towerInput(_ tower: Artifact, _ pixels: Pixels, _ spec: Preprocessing) throws -> [String: Tensor] {
        let wanted = tower.inputs[0]
        if wanted.dtype == "uint8" { return [wanted.name: .bytes(pixels.bytes, shape: [pixels.height, pixels.width, 3])] }
        return [wanted.name: .float(try prepare(pixels, spec), shape: [1, spec.crop, spec.crop, 3])]
    }

    /// float32 [crop, crop, 3] in 0..255, row by row, antialiased. Raises Failure.runtime for bytes that are
    /// not a picture, or for an unknown filter or fit.
    public static func prepare(_ pixels: Pixels, _ spec: Preprocessing) throws -> [Float] {
        let (width, height, crop) = (pixels.width, pixels.height, spec.crop)
        guard width > 0, height > 0, pixels.bytes.count == width * height * 3 else {
            throw Failure.runtime("pixels of shape (\(height), \(width), \(pixels.bytes.count)): RGB [H, W, 3] is wanted")
        }
        guard let filter = Resize.Filter(rawValue: spec.interpolation) else {
            throw Failure.runtime("unknown interpolation \(spec.interpolation.scalars.quoted); choose one of: bicubic, bilinear")
        }
        switch spec.fit {
        case "cut": return cut(pixels, spec, filter)
        case "crop": return whole(pixels, centre(width, height, spec), crop, filter)
        case "squash": return whole(pixels, (0, 0, Float(width), Float(height)), crop, filter)
        default: throw Failure.runtime("unknown fit \(spec.fit.scalars.quoted); choose one of: cut, crop, squash")
        }
    }

    private static func whole(_ pixels: Pixels, _ box: Resize.Box, _ crop: Int, _ filter: Resize.Filter) -> [Float] {
        Resize.rgb(pixels.bytes, width: pixels.width, height: pixels.height, box: box, outWidth: crop, outHeight: crop, filter: filter).map(Float.init)
    }

    /// The part of the picture that the centre crop of its resize shows. Rounded down, as Hugging Face's
    /// processors do; so is the margin. The filters also read the pixels next to this box, so that resizing
    /// the box alone is exact.
    private static func centre(_ width: Int, _ height: Int, _ spec: Preprocessing) -> Resize.Box {
        let short = min(width, height)
        func edges(_ side: Int) -> (Float, Float) {
            let size = spec.resize * side / short, margin = floorDiv(size - spec.crop, 2), step = Double(side) / Double(size)
            return (Float(Double(margin) * step), Float(min(Double(margin + spec.crop) * step, Double(side))))
        }
        let (across, down) = (edges(width), edges(height))
        return (across.0, down.0, across.1, down.1)
    }

    private static func cut(_ pixels: Pixels, _ spec: Preprocessing, _ filter: Resize.Filter) -> [Float] {
        let (width, height, crop) = (pixels.width, pixels.height, spec.crop)
        let scale = Double(spec.resize) / Double(min(width, height))
        // Cut a panorama first: the crop only shows the centre, and resizing the rest would use unbounded
        // memory.
        let reach = Int((Double(crop) / scale).rounded(.up)) + 2
        let left = max(0, floorDiv(width - reach, 2)), top = max(0, floorDiv(height - reach, 2))
        let right = width - left, bottom = height - top
        let size = (side(right - left, scale, crop), side(bottom - top, scale, crop))
        let small = Resize.rgb(
            pixels.bytes, width: width, height: height, box: (Float(left), Float(top), Float(right), Float(bottom)), outWidth: size.0, outHeight: size.1,
            filter: filter)
        let x = (size.0 - crop) / 2, y = (size.1 - crop) / 2
        return (0..<crop).flatMap { row -> [Float] in
            let begin = 3 * ((y + row) * size.0 + x)
            return small[begin..<(begin + 3 * crop)].map(Float.init)
        }
    }

    private static func side(_ length: Int, _ scale: Double, _ crop: Int) -> Int {
        max(crop, Int((Double(length) * scale).rounded(.toNearestOrEven)))
    }
}
