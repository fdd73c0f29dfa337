// Ranks sentences for a photograph with the two towers of a bundle, as its manifest says:
//
//     examples/swift/run.sh out/pocket cat.rgb 451 300 "a cat" "a rocket at night" "a cup of coffee"
//
// Checks itself with the bundle's golden files, then prints the cosine of each sentence with the photograph. Only public
// types of the core (ios_demo/PhotoCore) are used: its tokenizer, Pillow's resize, `.npy` files, and OrtBackend, which
// switches ONNX Runtime's telemetry off before its first call. A linked library is loaded when the program starts, so
// run.sh also sets ORT_DISABLE_TELEMETRY for the whole program.

import Foundation
import PhotoCore
import PhotoORT

/// The part of manifest.json that says how to use an artifact.
struct Contracts: Decodable {
    struct Entry: Decodable { let path: String, contract: Contract }
    struct Contract: Decodable { let inputs: [Input], outputs: [Output], golden: Golden? }
    struct Input: Decodable { let name: String, range: [Double]?, normalisedBy: String?, file: String?, maxLength: Int?, padTo: Int? }
    struct Output: Decodable { let name: String, unitLength: Bool? }
    struct Golden: Decodable { let inputs: [String: String], want: String, cosine: Double, texts: String? }
    let artifacts: [Entry]
}

struct GoldenText: Decodable { let text: String, ids: [Int] }

struct Wrong: Error, CustomStringConvertible { let description: String }

func cosine(_ a: [Float], _ b: [Float]) -> Double { zip(a, b).reduce(0) { $0 + Double($1.0) * Double($1.1) } }  // both of unit length

func json<T: Decodable>(_ type: T.Type, _ bundle: String, _ name: String) throws -> T {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(type, from: try data(bundle, name))
}

func data(_ bundle: String, _ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: ManifestReader.inside(bundle, name))) }

struct Tower {
    let bundle: String
    let manifest: Manifest
    let session: ModelSession
    let inputs: [String: Contracts.Input]
    let output: String
    let golden: Contracts.Golden

    init(_ bundle: String, _ role: String) throws {
        (self.bundle, manifest) = (bundle, try ManifestReader.read(bundle))
        let artifact = try manifest.artifact(role, "onnx")
        session = try OrtBackend().open(try ManifestReader.checkOne(bundle, artifact.file), artifact, units: "fused")
        let all = try json(Contracts.self, bundle, "manifest.json").artifacts
        guard let contract = all.first(where: { $0.path == artifact.file.path })?.contract, let golden = contract.golden,
            let unit = contract.outputs.first(where: { $0.unitLength == true })
        else { throw Wrong(description: "\(role): no contract with golden files: export again") }
        inputs = Dictionary(uniqueKeysWithValues: contract.inputs.map { ($0.name, $0) })
        (self.golden, output) = (golden, unit.name)
    }

    // The dozen lines: what `prepare` of each input says.
    func vector(_ photo: Pixels) throws -> [Float] {
        guard let input = inputs["pixels"], input.normalisedBy == "graph", input.range == [0, 255], session.artifact.inputs[0].dtype == "float32"
        else { throw Wrong(description: "the image tower wants pixels that this program does not prepare") }
        let spec = try manifest.pixels()  // `preprocessing`: resize, crop, interpolation, fit
        return try run(["pixels": .float(try Preprocess.prepare(photo, spec), shape: [1, spec.crop, spec.crop, 3])])  // the graph normalises
    }

    func vector(_ ids: [Int]) throws -> [Float] {
        let most = inputs["input_ids"]?.maxLength ?? ids.count, ids = ids.prefix(most).map(Int64.init)
        let padding = [Int64](repeating: 0, count: max(0, (inputs["input_ids"]?.padTo ?? 0) - ids.count))
        let tokens = ids + padding, mask = ids.map { _ in 1 } + padding
        var row: [String: Tensor] = ["input_ids": .int64(tokens, shape: [1, tokens.count]), "attention_mask": .int64(mask, shape: [1, mask.count])]
        for spec in session.artifact.inputs.dropFirst(2) {  // a query adapter, here left out
            let shape = spec.shape.compactMap(\.fixed)
            row[spec.name] = .float([Float](repeating: 0, count: shape.reduce(1, *)), shape: shape)
        }
        return try run(row)
    }

    private func run(_ inputs: [String: Tensor]) throws -> [Float] { try session.run(inputs)[output]?.floats ?? [] }

    func goldenPhotos() throws -> [Pixels] {
        let all = try NumpyFile([UInt8](try data(bundle, golden.inputs["pixels"] ?? ""))), size = all.shape[1...].reduce(1, *)
        return (0..<all.shape[0]).map { Pixels(bytes: Array(all.bytes[($0 * size)..<(($0 + 1) * size)]), width: all.shape[2], height: all.shape[1]) }
    }

    func goldenTexts() throws -> [GoldenText] { try json([GoldenText].self, bundle, golden.texts ?? "") }

    func compare(_ got: [[Float]]) throws {
        let want = try NumpyFile([UInt8](try data(bundle, golden.want))), width = want.shape[1], role = session.artifact.role
        guard got.count == want.shape[0] else { throw Wrong(description: "\(role): \(got.count) vectors, \(want.shape[0]) are wanted") }
        let cosines = got.indices.map { cosine(got[$0], Array(want.values[($0 * width)..<(($0 + 1) * width)])) }
        let worst = String(format: "%.4f", cosines.min() ?? .nan)
        guard cosines.allSatisfy({ $0 >= golden.cosine }) else { throw Wrong(description: "\(role): cosine \(worst), \(golden.cosine) is wanted") }
        print("\(role): golden files reproduced, worst cosine \(worst) (at least \(golden.cosine))")
    }
}

func rank(_ bundle: String, _ photo: Pixels, _ sentences: [String]) throws {
    let images = try Tower(bundle, "image_tower"), texts = try Tower(bundle, "text_tower")
    let file = try texts.manifest.file(texts.inputs["input_ids"]?.file ?? "").file
    let tokenizer = try Tokenizer(try ManifestReader.checkOne(bundle, file))

    try images.compare(try images.goldenPhotos().map(images.vector))
    for row in try texts.goldenTexts() where tokenizer.encode(row.text) != row.ids { throw Wrong(description: "the tokenizer differs: \(row.text)") }
    try texts.compare(try texts.goldenTexts().map { try texts.vector($0.ids) })

    let vector = try images.vector(photo)
    let scores = try sentences.map { (text: $0, score: cosine(vector, try texts.vector(tokenizer.encode($0)))) }
    for one in scores.sorted(by: { $0.score > $1.score }) { print(String(format: "%.3f  ", one.score) + one.text) }
}

do {
    // RGB bytes, upright: on Apple's platforms a CGImage gives them (ios_demo/App/PhotoLibrary.swift).
    let given = CommandLine.arguments, bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: given[2])))
    try rank(given[1], Pixels(bytes: bytes, width: Int(given[3]) ?? 0, height: Int(given[4]) ?? 0), Array(given[5...]))
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
