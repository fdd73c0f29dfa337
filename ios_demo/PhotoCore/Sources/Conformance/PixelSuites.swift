import Foundation
import PhotoCore

/// Suites `resize` and `routing`.
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

    static func routing(_ suite: Suite) throws -> Replayed {
        { one in
            let chosen = try Routing.choose(try one.given.floats("weights"), rho: try one.given.need("rho").double ?? 0)
            return .object(["experts": .ints(chosen.experts), "shares": .floats(chosen.weights)])
        }
    }
}
