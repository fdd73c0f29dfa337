import Foundation

/// Measures the latency of each layer and component over many runs, as the measurement file that `gamer bench
/// device --import` reads. All samples are in the file.
public struct Benchmark {
    private let engine: Engine
    private let now: WallClock
    private let runs: Int
    /// The device's thermal state, if the platform has one.
    public var thermal: () -> String = { "unknown" }
    public var device = "unknown"
    public var progress: (String) -> Void = { _ in }

    public static let queries = ["coffee I photographed last spring", "my cat asleep on the sofa", "the temple in China"]

    public init(_ engine: Engine, now: WallClock, runs: Int) { (self.engine, self.now, self.runs) = (engine, now, max(1, runs)) }

    public func measure() throws -> JSON {
        var samples: [(layer: String, step: String, values: [Int])] = Trace.layers.map { ($0, "", []) } + [("all", "", [])]
        for run in 0...runs {  // the first run is not counted
            for query in Benchmark.queries {
                progress(query)
                let spent = try engine.search(SearchRequest(query, now: now)).trace.milliseconds.map { Int($0.spent * 1e6) }
                if run == 0 { continue }
                for (at, value) in spent.enumerated() { samples[at].values.append(value) }
                samples[samples.count - 1].values.append(spent.reduce(0, +))
            }
        }
        samples += try components()
        let manifest = try ManifestReader.digest(try ManifestReader.inside(engine.models.bundle, ManifestReader.name))
        return .object([
            "schema": .string("gamer-latency/1"), "device": .string(device), "os": .string(ProcessInfo.processInfo.operatingSystemVersionString),
            "backend": .string(engine.models.backend.target), "runtime": .string(engine.models.backend.described), "bundle_sha256": .string(manifest.sha256), "thermal": .string(thermal()),
            "rows": .array(samples.map { Benchmark.row($0.layer, $0.step, $0.values) }),
        ])
    }

    /// Measures each component on one input: a sentence, a picture with its resize, the router with the
    /// chosen experts, a prompt, a token.
    private func components() throws -> [(layer: String, step: String, values: [Int])] {
        let models = engine.models, pixels = Pixels(bytes: (0..<(300 * 400 * 3)).map { UInt8(truncatingIfNeeded: $0 &* 37) }, width: 400, height: 300)
        var out = [(layer: "component", step: "text_tower", values: try repeated { _ = try models.text().encode(Benchmark.queries[0]) })]
        if models.manifest.preprocessing != nil {
            let code = try models.see(pixels)
            out.append(("component", "image_tower", try repeated { _ = try models.see(pixels) }))
            if models.manifest.artifacts.contains(where: { $0.role == "dpe_router" && $0.target == models.backend.target }) {
                out.append(("component", "dpe", try repeated { _ = try models.project(code) }))
            }
        }
        if models.manifest.language != nil, let model = try? models.languageModel() {
            let prompt = try models.prompt("refine", query: "coffee in spring"), embeds = try model.embed(prompt.ids), hidden = model.language.hidden
            out.append(("component", "llm_prefill", try repeated {
                model.decoder.reset()
                _ = try model.decoder.forward(embeds, count: prompt.ids.count)
            }))
            out.append(("component", "llm_decode", try repeated {
                if model.decoder.past + 1 >= model.language.maxSeq { model.decoder.reset() }
                _ = try model.decoder.forward(Array(embeds[..<hidden]), count: 1)
            }))
        }
        return out
    }

    /// Nanoseconds of each run; one uncounted run comes first.
    private func repeated(_ body: () throws -> Void) throws -> [Int] {
        try body()
        return try (0..<runs).map { _ in
            let begin = DispatchTime.now().uptimeNanoseconds
            try body()
            return Int(DispatchTime.now().uptimeNanoseconds - begin)
        }
    }

    private static func row(_ layer: String, _ step: String, _ samples: [Int]) -> JSON {
        let sorted = samples.map(Double.init).sorted(), mean = sorted.reduce(0, +) / Double(sorted.count)
        let spread = (sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(sorted.count)).squareRoot()
        return .object([
            "layer": .string(layer), "step": .string(step), "n": .int(samples.count), "avg_ns": .number(mean), "stddev_ns": .number(spread),
            "p50_ns": .number(percentile(sorted, 0.5)), "p90_ns": .number(percentile(sorted, 0.9)), "samples_ns": .array(samples.map(JSON.int)),
        ])
    }

    /// A percentile, by linear interpolation between the two nearest samples as in numpy.
    static func percentile(_ sorted: [Double], _ share: Double) -> Double {
        let at = share * Double(sorted.count - 1), low = Int(at)
        return low + 1 < sorted.count ? sorted[low] + (sorted[low + 1] - sorted[low]) * (at - Double(low)) : sorted[low]
    }
}
