import Foundation
import PhotoCore
import PhotoORT

/// Suites `printed` (lines in a map of probabilities, what is cut from a picture, codes, what looks like print) and `lines`
/// (what the networks of a bundle read in a picture).
enum PrintedSuites {
    private static let every = 97 // values of a cut of which one is compared

    static func printed(_ suite: Suite) throws -> Replayed {
        { one in
            let given = one.given
            switch try given.text("op") {
            case "boxes":
                let likely = try given.base64("map").map { Float($0) / 255 }, scale = try given.numbers("scale")
                let found = LineBoxes.find(likely, width: try given.whole("width"), height: try given.whole("height"), stride: try given.whole("stride"))
                return .object(["boxes": .array(found.map { values($0.scaled(scale[0], scale[1])) })])
            case "order":
                let boxes = try given.list("boxes").map { box(($0.array ?? []).map { $0.double ?? .nan }) }
                return .object(["order": .ints(LineBoxes.inReadingOrder(boxes).map { boxes.firstIndex(of: $0) ?? -1 })])
            case "cut":
                let picture = try pixels(try suite.shared.need("pictures").need(try given.text("picture")))
                let line = LineBoxes.cut(picture, box(try given.numbers("box")), width: try given.whole("cut"))
                return .object(["values": .floats(stride(from: 0, to: line.count, by: every).map { line[$0] })])
            case "decode":
                let (text, confidence) = try LineReader.decoded(try given.floats("codes"), try given.floats("scores"), try given.strings("characters"))
                return .object(["text": .string(text), "confidence": .number(confidence)])
            case "size":
                let size = LineReader.detectedSize(try given.whole("width"), try given.whole("height"), fixed: try given.whole("fixed"))
                return .object(["size": .ints([size.width, size.height])])
            default:
                let grey = Written.Grey(try pixels(given))
                return .object(["flat": .number(Written.flat(grey)), "print": .number(Written.print(grey))])
            }
        }
    }

    static func lines(_ suite: Suite) throws -> Replayed {
        let bundle = suite.path(try suite.shared.text("bundle"))
        let listed = try LineReader.characters(try ManifestReader.inside(bundle, LineReader.characters))
        let reader = try LineReader(try session(LineReader.detector, of: bundle), try session(LineReader.recogniser, of: bundle), characters: listed)
        return { one in
            let found = try reader.read(try pixels(one.given))
            return .object(["texts": .strings(found.map(\.text)), "boxes": .array(found.map { values($0.box) })])
        }
    }

    /// The faces that the networks of a bundle find in a picture, and the people that faces become.
    static func faces(_ suite: Suite) throws -> Replayed {
        let bundle = suite.path(try suite.shared.text("bundle"))
        let landmarks = try Landmarks(bundle) { try ManifestReader.inside(bundle, $0) }
        let reader = try FaceReader(try session(FaceReader.detector, of: bundle), try session(FaceReader.encoder, of: bundle), landmarks, name: "")
        return { one in
            let given = one.given
            if try given.text("op") == "group" {
                let persons = try given.numbers("persons").map { Int($0) }, fresh = try given.numbers("fresh").map { Int($0) }
                let values = try given.floats("vectors"), dim = values.count / persons.count
                let vectors = persons.indices.map { Array(values[($0 * dim)..<(($0 + 1) * dim)]) }
                let held = Set(try given.numbers("held").map { Int($0) })
                return .object(["persons": .ints(Grouping.group(vectors, persons, fresh: fresh, held: held, threshold: try given.need("threshold").double ?? .nan))])
            }
            let found = try reader.read(try pixels(given))
            return .object([
                "boxes": .array(found.map { .array([$0.box.left, $0.box.top, $0.box.width, $0.box.height].map(JSON.number)) }),
                "qualities": .array(found.map { .number($0.quality) }), "vectors": .array(found.map { .floats($0.vector) }),
            ])
        }
    }

    /// A component of a bundle that has no more than a part.
    private static func session(_ role: String, of bundle: String) throws -> ModelSession {
        let backend = OrtBackend(), artifact = try ManifestReader.read(bundle).artifact(role, backend.target)
        return try backend.open(try ManifestReader.inside(bundle, artifact.file.path), artifact, units: backend.units)
    }

    private static func pixels(_ given: JSON) throws -> Pixels {
        let bytes = given["rgb"] == nil ? try given.base64("grey").flatMap { [$0, $0, $0] } : try given.base64("rgb")
        return Pixels(bytes: bytes, width: try given.whole("width"), height: try given.whole("height"))
    }

    private static func box(_ v: [Double]) -> LineBox { LineBox(v[0], v[1], v[2], v[3], v[4], v[5]) }

    private static func values(_ box: LineBox) -> JSON { .array(box.values.map(JSON.number)) }
}
