import Foundation

/// The result of a component's self-check on this processor's kernels, and the units of the backend that were
/// chosen.
public struct Verdict: Sendable, Equatable {
    /// `export`: the manifest's parity was measured on the same kernels. `measured`: just now. `remembered`:
    /// by an earlier process.
    public enum Source: String, Sendable {
        case export, measured, remembered
        case noFixtures = "no fixtures"
    }

    public let role: String
    public let units: String
    /// The worst cosine of its fixtures; nil if none was run.
    public let cosine: Double?
    public let threshold: Double
    public let source: Source
}

/// Checks components on kernels other than those of the export (runtime/models/selfcheck.py).
///
/// A parity figure is valid only for the file and the kernels with which it was measured. So when an engine,
/// a version of it or a processor first opens a component whose parity in the manifest names other kernels,
/// the component's fixtures are run (for at most `budget` seconds, at least one). The result is stored in
/// `cache`. If the cosine is below the threshold, the backend's slower form is tried; if that fails too, the
/// component is refused with an error that holds the figures.
struct SelfCheck {
    /// Seconds for the fixtures of a component.
    static let budget = 0.2
    /// Tokens of a decoder that are run between two checks of the time.
    static let piece = 4
    /// Bytes of one golden array.
    static let maxGolden = 64 << 20

    let bundle: String
    let manifest: Manifest
    let backend: ModelBackend
    /// nil: results are not stored.
    let cache: String?
    let notice: (String) -> Void

    /// Opens a component's session, with the result of its check. Raises Failure.bundle for a file that
    /// changed since export, Failure.runtime if no form of the backend reaches the threshold.
    func open(_ role: String) throws -> (session: ModelSession, verdict: Verdict) {
        let artifact = try manifest.artifact(role, backend.target), path = try ManifestReader.checkOne(bundle, artifact.file)
        let here = Processor.here.kernels(engine: backend.engine), threshold = artifact.parity.threshold
        let units = backend.units, isFirst = units == Units.all[backend.target]?.first ?? ""
        func opened(_ units: String, _ cosine: Double?, _ source: Verdict.Source) throws -> (ModelSession, Verdict) {
            let verdict = Verdict(role: role, units: units, cosine: cosine, threshold: threshold, source: source)
            return (try backend.open(path, artifact, units: units), verdict)
        }
        if artifact.parity.kernels == here && isFirst { return try opened(units, artifact.parity.minimum, .export) }
        let golden = manifest.golden(role)
        if golden["want"] == nil { return try opened(units, nil, .noFixtures) }
        let note = note(artifact, golden, "\(here), \(units)")
        if let known = remembered(note, threshold) { return try opened(known.units, known.cosine, .remembered) }
        let arrays = try golden.mapValues { try array($0) }
        var figures: [String] = []
        for rung in [units] + (isFirst ? [Units.fallback[backend.target]].compactMap { $0 } : []) {
            let session = try backend.open(path, artifact, units: rung), cosine = try worstCosine(session, arrays)
            figures.append("\(cosine.isNaN ? "nan" : String(format: "%.4f", cosine)) \(rung)")
            // False for NaN.
            guard cosine >= threshold else { continue }
            if rung != units {
                let wanted = String(format: "%g", threshold)
                notice("\(path): \(role) is wrong on this processor (worst cosine \(figures[0]), \(wanted) is wanted): running it \(rung), slower")
            }
            remember(note, rung, cosine)
            let rounded = (cosine * 1e6).rounded() / 1e6
            return (session, Verdict(role: role, units: rung, cosine: rounded, threshold: threshold, source: .measured))
        }
        let found = "worst cosine \(figures.joined(separator: ", ")) on \(here), below \(String(format: "%g", threshold))"
        throw Failure.runtime("\(path): \(found): export with --quant none, or use another --backend")
    }

    /// The least cosine of a golden output with that of fp32 torch, over as many outputs as the budget
    /// allows, at least one. NaN if an output contains NaN. Raises Failure.bundle for fixtures that do not
    /// fit the component.
    private func worstCosine(_ session: ModelSession, _ golden: [String: NumpyFile]) throws -> Double {
        let role = session.artifact.role
        do {
            let want = try need(golden, "want"), width = want.shape.last ?? 1, cases = try cases(session, golden)
            let begin = DispatchTime.now().uptimeNanoseconds
            var worst = Double.infinity, at = 0
            for one in 0..<cases.count {
                let got = try cases.run(one)
                guard width > 0, !got.isEmpty, got.count % width == 0, at + got.count <= want.values.count else {
                    throw Failure.value("\(got.count) numbers where rows of \(width) are wanted")
                }
                for row in stride(from: 0, to: got.count, by: width) {
                    let cosine = SelfCheck.cosine(got[row..<(row + width)], want.values[(at + row)..<(at + row + width)])
                    if cosine.isNaN || cosine < worst { worst = cosine }
                }
                at += got.count
                if Double(DispatchTime.now().uptimeNanoseconds - begin) > SelfCheck.budget * 1e9 { break }
            }
            guard at > 0 else { throw Failure.value("no case") }
            return worst
        } catch Failure.value(let line) {
            throw Failure.bundle("\(role): its golden fixtures do not fit it (\(line.prefix(80))): export the bundle again")
        }
    }

    private static func cosine(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Double {
        var product = 0.0, left = 0.0, right = 0.0
        for (x, y) in zip(a, b) {
            product += Double(x) * Double(y)
            left += Double(x) * Double(x)
            right += Double(y) * Double(y)
        }
        return product / max(left.squareRoot() * right.squareRoot(), 1e-12)
    }

    // MARK: stored results

    /// The file of the result; its name is a hash over the artifact, the fixtures and the kernels.
    private func note(_ artifact: Artifact, _ golden: [String: DataFile], _ kernels: String) -> String? {
        let parts = [artifact.file.sha256] + golden.values.map(\.file.sha256).sorted() + [kernels]
        return cache.map { "\($0)/selfcheck/\(SHA256.hex(Array(parts.joined(separator: "\n").utf8)).prefix(24)).json" }
    }

    /// The result of an earlier check that passed; nil if there is none or its file is damaged.
    private func remembered(_ note: String?, _ threshold: Double) -> (units: String, cosine: Double)? {
        guard let note, let raw = try? JSON.read(note), let units = raw["units"]?.string, let cosine = raw["cosine"]?.double,
            Units.all[backend.target]?.contains(units) ?? units.isEmpty, threshold <= cosine, cosine <= 1.001
        else { return nil }
        return (units, cosine)
    }

    /// Written atomically. If the cache cannot be written, the result is not stored.
    private func remember(_ note: String?, _ units: String, _ cosine: Double) {
        guard let note else { return }
        let place = URL(fileURLWithPath: note)
        try? FileManager.default.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try? Data(JSON.object(["units": .string(units), "cosine": .number(cosine)]).text.utf8).write(to: place, options: .atomic)
    }
}

/// Runs a component's golden inputs with the code that a search runs it with.
extension SelfCheck {
    /// The number of golden cases, and the outputs of one of them, [n, D] row by row. Cases are run in order
    /// from 0 on.
    private typealias Cases = (count: Int, run: (Int) throws -> [Float])

    private func cases(_ session: ModelSession, _ golden: [String: NumpyFile]) throws -> Cases {
        switch session.artifact.role {
        case "image_tower":
            let pixels = try need(golden, "pixels", sides: 4), spec = try manifest.pixels()
            return (pixels.shape[0], { at in
                let picture = Pixels(bytes: pixels.row(at, of: pixels.bytes), width: pixels.shape[2], height: pixels.shape[1])
                return try session.run(try Preprocess.towerInput(session.artifact, picture, spec))["embedding"]?.floats ?? []
            })
        case "text_tower":
            let ids = try need(golden, "ids", sides: 2), mask = try need(golden, "mask", sides: 2)
            return (min(ids.shape[0], mask.shape[0]), { at in
                let seen = mask.row(at, of: mask.integers).filter { $0 != 0 }.count
                return try TextEncoder.embed(session, ids.row(at, of: ids.integers).prefix(seen).map { Int($0) })
            })
        case "llm_embed":
            let ids = try need(golden, "ids", sides: 1)
            return (ids.shape[0], { at in try first(session, .int64(ids.row(at, of: ids.integers), shape: [1])) })
        case "llm_decoder":
            let embeds = try need(golden, "embeds", sides: 2), language = try manifest.decoder(), rows = embeds.shape[0]
            guard embeds.shape[1] == language.hidden else { throw Failure.value("embeds of \(embeds.shape)") }
            let decoder = try backend.decoder(session, language)
            return ((rows + SelfCheck.piece - 1) / SelfCheck.piece, { at in
                let part = (at * SelfCheck.piece)..<min((at + 1) * SelfCheck.piece, rows)
                return try decoder.forward(part.flatMap { embeds.row($0, of: embeds.values) }, count: part.count).hidden
            })
        case "face_detector", "face_encoder", LineReader.detector, LineReader.recogniser:  // pictures whose values stay 0 to 255
            let pixels = try need(golden, "pixels", sides: 4)
            return (pixels.shape[0], { at in
                let values = pixels.row(at, of: pixels.bytes).map(Float.init)
                return try first(session, .float(values, shape: [1] + pixels.shape.dropFirst()))
            })
        case let role:
            let rows = try role == "dpe_query" ? need(golden, "states", sides: 2) : need(golden, "patches", sides: 3)
            return (rows.shape[0], { at in try first(session, .float(rows.row(at, of: rows.values), shape: [1] + rows.shape.dropFirst())) })
        }
    }

    /// The first output for the first input.
    private func first(_ session: ModelSession, _ input: Tensor) throws -> [Float] {
        try session.run([session.artifact.inputs[0].name: input])[session.artifact.outputs[0].name]?.floats ?? []
    }

    private func need(_ golden: [String: NumpyFile], _ name: String, sides: Int? = nil) throws -> NumpyFile {
        guard let found = golden[name] else { throw Failure.value("no \(name)") }
        if let sides, found.shape.count != sides { throw Failure.value("\(name) of \(found.shape)") }
        return found
    }

    private func array(_ file: DataFile) throws -> NumpyFile {
        let path = try ManifestReader.checkOne(bundle, file.file)
        do {
            if file.file.bytes > SelfCheck.maxGolden { throw Failure.value("\(file.file.bytes) bytes") }
            return try NumpyFile([UInt8](Data(contentsOf: URL(fileURLWithPath: path))))
        } catch {
            throw Failure.bundle("\(path): no golden array (\("\(error)".prefix(80))): export the bundle again")
        }
    }
}

extension NumpyFile {
    /// Row `at` along the first dimension; empty for an array of values of another kind.
    fileprivate func row<T>(_ at: Int, of values: [T]) -> [T] {
        let size = shape.dropFirst().reduce(1, *)
        return (at + 1) * size <= values.count ? Array(values[(at * size)..<((at + 1) * size)]) : []
    }
}
