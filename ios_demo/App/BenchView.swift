import PhotoCore
import SwiftUI

/// Measures every layer of a search and every component over N rounds, and shares the measurement as JSON for
/// `gamer bench device --import`.
struct BenchView: View {
    @AppStorage(Backend.key) private var backend = Backend.onnx.rawValue
    @State private var rounds = 20
    @State private var report: JSON?
    @State private var said = ""

    var body: some View {
        NavigationStack {
            Form {
                Picker("Models run by", selection: $backend) {
                    ForEach(Backend.allCases) { Text($0.rawValue).tag($0.rawValue) }
                }
                Stepper("\(rounds) rounds", value: $rounds, in: 1...500)
                Button("Measure") { measure() }.disabled(!Places.hasBundle || !Places.hasAlbum)
                Text(said).font(.footnote)
                if let report {
                    ShareLink("Share as JSON", item: report.text, preview: SharePreview("gamer-latency.json"))
                    Text(report.text).font(.system(.caption2, design: .monospaced)).lineLimit(200)
                }
            }
            .navigationTitle("Benchmark")
        }
    }

    private func measure() {
        let (chosen, count) = (Backend(rawValue: backend) ?? .onnx, rounds)
        said = "Measuring…"
        Task.detached(priority: .userInitiated) {
            do {
                let engine = try Session.engine(chosen)
                var benchmark = Benchmark(engine.models, engine: engine, now: Session.now(), runs: count)
                Measuring.describe(&benchmark, chosen)
                let made = try benchmark.measure()
                await MainActor.run { (report, said) = (made, "") }
            } catch {
                let message = "\(error)"
                await MainActor.run { said = message }
            }
        }
    }
}
