import Foundation
import PhotoCore

/// Suites `resize`, `routing` and `clips`.
enum PixelSuites {
    static func resize(_ suite: Suite) throws -> Replayed {
        { one in
            let given = one.given
            let pixels = Pixels(bytes: try given.base64("rgb"), width: try given.whole("width"), height: try given.whole("height"))
            let spec = Preprocessing(
                resize: try given.whole("resize"), crop: try given.whole("crop"), interpolation: try given.text("interpolation"),
                fit: given["fit"]?.string ?? "cut")
            let out = try Preprocess.prepare(pixels, spec).map { UInt8($0) }
            return .object(["pixels": .string(Data(out).base64EncodedString())])
        }
    }

    static func clips(_ one: Case) throws -> JSON {
        let given = one.given
        func pixels(_ name: String) throws -> Pixels {
            let raw = try given.need(name)
            return Pixels(bytes: try raw.base64("rgb"), width: try raw.whole("width"), height: try raw.whole("height"))
        }
        switch try given.text("op") {
        case "frames": return .object(["times": .ints(ClipFrames.spread(try given.whole("start"), try given.whole("end"), try given.whole("most")))])
        case "cuts":
            let changes = zip(try given.list("times"), try given.list("changes")).map { (at: $0.int ?? 0, change: $1.double ?? 0) }
            return .object(["cuts": .ints(ClipFrames.cuts(changes, try given.whole("whole")))])
        case "change": return .object(["change": .number(ClipFrames.change(ClipFrames.shares(try pixels("before")), ClipFrames.shares(try pixels("after"))))])
        case "part":
            var photo = Photo(id: try given.text("id"))
            photo.takenAt = given["taken_at"]?.int
            let part = ClipPart(try given.whole("start"), try given.whole("end")).of(photo)
            return .object(["id": .string(part.id), "taken_at": part.takenAt.map { .int($0) } ?? .null])
        default:
            let id = try given.text("id")
            return .object(["part": ClipPart(named: id).map { .ints([$0.start, $0.end]) } ?? .null, "whole": .string(ClipPart.whole(id))])
        }
    }

    static func routing(_ suite: Suite) throws -> Replayed {
        { one in
            let chosen = try Routing.choose(try one.given.floats("weights"), rho: try one.given.need("rho").double ?? 0)
            return .object(["experts": .ints(chosen.experts), "shares": .floats(chosen.weights)])
        }
    }
}
