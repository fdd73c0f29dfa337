import BackgroundTasks
import Foundation
import PhotoCore
import PhotoORT
import Photos

/// Indexes the phone's photos in the background, committing each batch. No state is stored besides the album:
/// after an interruption, the next run lists the photos again and continues with those that the album lacks.
enum Indexing {
    static let task = "gamer.index"
    private static let batch = 16

    static func register() {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: task, using: nil) { begun in
            guard let begun = begun as? BGProcessingTask else { return }
            let stop = Stop()
            begun.expirationHandler = { stop.set() }
            schedule()  // for another run, in case this one does not finish
            let isDone = (try? run(stop: stop) { _, _ in }) ?? false
            if isDone { BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: task) }
            begun.setTaskCompleted(success: isDone)
        }
    }

    static func schedule() {
        let request = BGProcessingTaskRequest(identifier: task)
        request.requiresExternalPower = false
        request.requiresNetworkConnectivity = false
        // Fails in a simulator and when background refresh is off; then photos are indexed only while the app
        // is open.
        try? BGTaskScheduler.shared.submit(request)
    }

    /// Indexes the photos that the album lacks. Returns false if stopped before its end. `progress`: called
    /// with the number of photos done and of all photos.
    static func run(stop: Stop, progress: (Int, Int) -> Void) throws -> Bool {
        guard Places.hasBundle, [.authorized, .limited].contains(PhotoLibrary.current) else { return true }
        let models = try Models(Places.bundle.path, OrtBackend(threads: 2), cache: Places.caches.path)
        let encoder = PhotoEncoder(models)
        let writer = try opened(models)
        defer { writer.close() }
        let known = try writer.ids()
        let assets = PhotoLibrary.assets()
        let missing = assets.filter { !known.contains($0.localIdentifier) }
        var done = assets.count - missing.count
        progress(done, assets.count)
        for first in stride(from: 0, to: missing.count, by: batch) {
            if stop.isSet { return false }
            let part = missing[first..<min(first + batch, missing.count)]
            try autoreleasepool {
                try writer.add(part.map { try encoder.encode(PhotoLibrary.photo($0), pixels: PhotoLibrary.pixels($0)) })
            }
            done += part.count
            progress(done, assets.count)
        }
        if !missing.isEmpty { try writer.finish(encoder.names) }
        return true
    }

    private static func opened(_ models: Models) throws -> AlbumWriter {
        if !Places.hasAlbum {
            let m = models.manifest
            try AlbumWriter.create(
                Places.album.path,
                AlbumMeta(textEncoder: m.textEncoder, imageEncoder: m.imageEncoder, dim: m.dim, delta: m.thresholds.delta))
        }
        return try AlbumWriter(Places.album.path)
    }
}

/// A flag to stop a run from another thread.
final class Stop: @unchecked Sendable {
    private let lock = NSLock()
    private var raised = false

    var isSet: Bool { lock.withLock { raised } }

    func set() { lock.withLock { raised = true } }
}
