import Foundation
import PhotoCore
import PhotoORT
import UIKit

/// What a measurement says of this phone; and, in a debug build, the measurement that `gamer bench device --device connected` asks
/// for by a launch argument: `-bench JSON`. It brings its bundle in Documents/bench, where the result is written.
enum Measuring {
    static func describe(_ benchmark: inout Benchmark, _ backend: Backend) {
        benchmark.device.name = "iPhone"
        benchmark.device.os = "iOS \(ProcessInfo.processInfo.operatingSystemVersionString)"
        benchmark.device.model = model
        benchmark.device.app = "\(Foundation.Bundle.main.infoDictionary?["CFBundleShortVersionString"] ?? "")"
        benchmark.backend = backend.measured
        benchmark.state = {
            MeasuredState(thermal: thermal(ProcessInfo.processInfo.thermalState), saver: ProcessInfo.processInfo.isLowPowerModeEnabled)
        }
    }

    /// Apple's identifier, such as iPhone16,1.
    private static var model: String {
        var info = utsname()
        uname(&info)
        return withUnsafeBytes(of: info.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private static func thermal(_ state: ProcessInfo.ThermalState) -> String {
        switch state {
        case .nominal: return "none"
        case .fair: return "light"
        case .serious: return "severe"
        case .critical: return "critical"
        @unknown default: return "unknown"
        }
    }

    #if DEBUG
        private struct Request: Decodable, Sendable {
            let id, bundle, runner: String
            let album: String?
            let rounds, threads: Int
            let keep: Bool
        }

        /// The app was started to measure, and does nothing else.
        static let isAsked = CommandLine.arguments.contains("-bench")

        /// Measures, if the app was started for that. What goes wrong is written in place of the result.
        @MainActor static func begin() {
            let words = CommandLine.arguments
            guard let at = words.firstIndex(of: "-bench"), at + 1 < words.count else { return }
            guard let request = try? JSONDecoder().decode(Request.self, from: Data(words[at + 1].utf8)) else { return }
            UIApplication.shared.isIdleTimerDisabled = true
            Task.detached(priority: .userInitiated) {
                let made: JSON
                do { made = try measured(request) } catch { made = .object([.init("error", .string("\(error)"))]) }
                try? Data(made.text.utf8).write(to: home.appendingPathComponent("\(request.id).json"), options: .atomic)
                if request.keep { return }
                for name in ["bundle", "album.gamer", "progress.txt"] { try? FileManager.default.removeItem(at: home.appendingPathComponent(name)) }
            }
        }

        private static var home: URL { Places.documents.appendingPathComponent("bench") }

        private static func measured(_ request: Request) throws -> JSON {
            let backend: Backend = request.runner == "coreml" ? .all : .onnx
            let threads = request.threads > 0 ? request.threads : 2
            let models = try Models(
                Places.documents.appendingPathComponent(request.bundle).path, backend == .onnx ? OrtBackend(threads: threads) : backend.engine,
                cache: Places.caches.path)
            let engine = try request.album.map { name in
                try Engine(models, try Album(Places.documents.appendingPathComponent(name).path), rules: Places.rules)
            }
            var benchmark = Benchmark(models, engine: engine, now: Session.now(), runs: request.rounds)
            var told = ContinuousClock.now
            describe(&benchmark, backend)
            benchmark.threads = backend == .onnx ? threads : nil
            benchmark.progress = { said in
                let now = ContinuousClock.now
                if told.duration(to: now) < .seconds(1) { return }  // a file is written
                told = now
                try? Data(said.utf8).write(to: home.appendingPathComponent("progress.txt"))
            }
            return try benchmark.measure()
        }
    #else
        static let isAsked = false
    #endif
}
