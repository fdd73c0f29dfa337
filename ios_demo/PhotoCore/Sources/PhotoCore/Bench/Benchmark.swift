import Foundation

/// What was measured on. `model`: Apple's identifier, such as iPhone16,1.
public struct MeasuredDevice: Sendable {
    public var name = "unknown"
    public var os = ProcessInfo.processInfo.operatingSystemVersionString
    public var model = ""
    public var app = ""
    public init() {}
}

/// Its state before or after; nil for what it does not tell. `battery`: percent; `saver`: whether it is being saved.
public struct MeasuredState: Sendable {
    public var thermal: String?
    public var battery: Int?
    public var saver: Bool?
    public init(thermal: String? = nil, battery: Int? = nil, saver: Bool? = nil) { (self.thermal, self.battery, self.saver) = (thermal, battery, saver) }

    var json: JSON {
        .object([
            .init("thermal", thermal.map(JSON.string) ?? .null), .init("battery", battery.map(JSON.int) ?? .null), .init("saver", saver.map(JSON.bool) ?? .null),
        ])
    }
}

/// Measures the latency of each layer and component over many runs, on the inputs of `gamer bench latency`, as the measurement file
/// that `gamer bench device --import` reads. All samples are in the file.
public struct Benchmark {
    private let models: Models
    private let engine: Engine?
    private let now: WallClock
    private let runs: Int
    public var device = MeasuredDevice()
    /// The device's state, if the platform tells it.
    public var state: () -> MeasuredState = { MeasuredState() }
    /// Called with what is measured.
    public var progress: (String) -> Void = { _ in }
    /// What ran, as measurements name it; nil for the backend's target.
    public var backend: String?
    public var threads: Int?

    public static let queries = ["coffee I photographed last spring", "my cat asleep on the sofa", "the temple in China"]

    private typealias Sample = (layer: String, step: String, first: Int?, values: [Int])

    /// Without an engine the components alone are measured.
    public init(_ models: Models, engine: Engine?, now: WallClock, runs: Int) { (self.models, self.engine, self.now, self.runs) = (models, engine, now, max(1, runs)) }

    public func measure() throws -> JSON {
        let before = state(), parts = try components()  // first, so that each one's first run opens it
        let samples = try layers() + parts, after = state()
        let manifest = try ManifestReader.digest(try ManifestReader.inside(models.bundle, ManifestReader.name))
        return .object([
            "schema": .string("gamer-latency/1"), "device": .string(device.name), "os": .string(device.os), "model": .string(device.model),
            "app": .string(device.app), "backend": .string(backend ?? models.backend.target), "engine": .string(models.backend.described),
            "threads": threads.map(JSON.int) ?? .null, "recipe": .string(models.manifest.recipe), "bundle_sha256": .string(manifest.sha256),
            "machine": .object([.init("cores", .int(ProcessInfo.processInfo.activeProcessorCount))]),
            "thermal": after.thermal.map(JSON.string) ?? .null, "before": before.json, "after": after.json,
            "rows": .array(samples.map(Benchmark.row)),
        ])
    }

    private func layers() throws -> [Sample] {
        guard let engine else { return [] }
        var samples: [Sample] = (Trace.layers + ["all"]).map { ($0, "", nil, []) }
        for run in 0...runs {  // the first run is not counted
            for query in Benchmark.queries {
                progress("searches, \(run) of \(runs)")
                let spent = try engine.search(SearchRequest(query, now: now)).trace.milliseconds.map { Int($0.spent * 1e6) }
                if run == 0 { continue }
                for (at, value) in spent.enumerated() { samples[at].values.append(value) }
                samples[samples.count - 1].values.append(spent.reduce(0, +))
            }
        }
        return samples
    }

    /// Measures each component on one input: a sentence, a picture with its resize, the router and each expert, the router with
    /// those that it chooses, a prompt, a token.
    private func components() throws -> [Sample] {
        let pixels = Pixels(bytes: (0..<(600 * 800 * 3)).map { UInt8(truncatingIfNeeded: $0 &* 37) }, width: 800, height: 600)
        var out = [try timed("text_tower") { _ = try models.text().encode(Benchmark.queries[0]) }]
        let roles = models.manifest.artifacts.filter { $0.target == models.backend.target }.map(\.role)
        if roles.contains("image_tower") {
            out.append(try timed("image_tower") { _ = try models.see(pixels) })
            if roles.contains("dpe_router") {
                let code = try models.see(pixels), patches = Tensor.float(code.patches, shape: [1] + code.patchShape)
                for role in roles.filter({ $0.hasPrefix("dpe_") }).sorted().reversed() {
                    out.append(try timed(role) { _ = try models.session(role).run(["patches": patches]) })
                }
                out.append(try timed("dpe") { _ = try models.project(code) })
            }
        }
        if models.manifest.language != nil, roles.contains("llm_decoder"), let model = try? models.languageModel() {
            let prompt = try models.prompt("refine", query: Benchmark.queries[0]), embeds = try model.embed(prompt.ids), hidden = model.language.hidden
            out.append(
                try timed("llm_prefill") {
                    model.decoder.cut(0)
                    _ = try model.decoder.forward(embeds, count: prompt.ids.count)
                })
            out.append(
                try timed("llm_decode") {
                    if model.decoder.past + 1 >= model.language.maxSeq { model.decoder.cut(0) }
                    _ = try model.decoder.forward(Array(embeds[..<hidden]), count: 1)
                })
        }
        return out
    }

    /// Nanoseconds of each run; the first one, which opens the component, is told apart.
    private func timed(_ name: String, _ body: () throws -> Void) throws -> Sample {
        func once(_ run: Int) throws -> Int {
            progress("\(name), \(run) of \(runs)")
            let begin = DispatchTime.now().uptimeNanoseconds
            try body()
            return Int(DispatchTime.now().uptimeNanoseconds - begin)
        }
        let first = try once(0)
        return ("component", name, first, try (1...runs).map(once))
    }

    private static func row(_ sample: Sample) -> JSON {
        let sorted = sample.values.map(Double.init).sorted(), mean = sorted.reduce(0, +) / Double(sorted.count)
        let spread = (sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(sorted.count)).squareRoot()
        return .object([
            "layer": .string(sample.layer), "step": .string(sample.step), "n": .int(sorted.count), "avg_ns": .number(mean), "stddev_ns": .number(spread),
            "p50_ns": .number(percentile(sorted, 0.5)), "p90_ns": .number(percentile(sorted, 0.9)), "samples_ns": .array(sample.values.map(JSON.int)),
            "first_ns": sample.first.map(JSON.int) ?? .null,
        ])
    }

    /// A percentile, by linear interpolation between the two nearest samples as in numpy.
    static func percentile(_ sorted: [Double], _ share: Double) -> Double {
        let at = share * Double(sorted.count - 1), low = Int(at)
        return low + 1 < sorted.count ? sorted[low] + (sorted[low + 1] - sorted[low]) * (at - Double(low)) : sorted[low]
    }
}
