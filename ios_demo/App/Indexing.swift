import BackgroundTasks
import Foundation
import PhotoCore

/// Indexes the phone's photos, on the screen's request and in the background. No state is stored besides the
/// album and the list of photos to skip: after an interruption, the next run continues with those that the
/// album lacks.
enum Indexing {
    static let task = "gamer.index"
    private static let gate = Gate()
    // Seconds until the next look for new photos, while the app is closed.
    private static let later = 6.0 * 3600

    static func register() {
        BGTaskScheduler.shared.register(forTaskWithIdentifier: task, using: nil) { begun in
            guard let begun = begun as? BGProcessingTask else { return }
            let stop = Stop()
            begun.expirationHandler = { stop.set() }
            schedule()  // for another run, in case this one does not finish
            var outcome = try? run(stop: stop) { _ in }
            // The screen's own run, which was suspended with the app, goes on in the time of this task.
            while outcome == .busy, !stop.isSet {
                Thread.sleep(forTimeInterval: 1)
                outcome = try? run(stop: stop) { _ in }
            }
            if outcome == .finished { schedule(after: later) }
            begun.setTaskCompleted(success: outcome == .finished)
        }
    }

    /// `after`: seconds, at least.
    static func schedule(after: Double = 0) {
        let request = BGProcessingTaskRequest(identifier: task)
        request.earliestBeginDate = Date(timeIntervalSinceNow: after)
        // Without power the system ends a task that uses the processor for long, as encoders do.
        request.requiresExternalPower = true
        request.requiresNetworkConnectivity = false
        // Fails in a simulator and when background refresh is off; then photos are indexed only while the app
        // is open.
        try? BGTaskScheduler.shared.submit(request)
    }

    /// What indexing waits for at this moment.
    static var pause: Pause? {
        let now = ProcessInfo.processInfo
        return Pause.of(saves: now.isLowPowerModeEnabled, isHot: [.serious, .critical].contains(now.thermalState))
    }

    /// Indexes the photos that the album lacks.
    static func run(stop: Stop, progress: (IndexReport) -> Void) throws -> IndexOutcome {
        guard Places.hasBundle, [.all, .chosen].contains(PhotoLibrary.access) else { return .finished }
        return try gate.pass {
            let models = try Models(Places.bundle.path, Backend.chosen.resting, cache: Places.caches.path)
            let encoder = PhotoEncoder(models, large: PhotoLibrary.large)
            let library = PhotoLibrary(least: try models.manifest.pixels().least)
            let skips = SkipList(Places.skips.path)
            let pool = { (batch: () throws -> Void) in try autoreleasepool { try batch() } }
            let isStopped = { stop.isSet || pause != nil }
            func ended() -> IndexOutcome { stop.isSet ? .stopped : pause.map { .paused($0) } ?? .stopped }
            // The first report comes when all files are there, a renewal's copy too.
            let told = { (report: IndexReport) in
                keepFromBackups()
                progress(report)
            }
            let meta = meta(models)
            if Places.hasAlbum, try isOfAnother(meta) {
                let renewal = Renewal(library, Places.album.path, skips, encode: encoder.encode)
                guard try renewal.run(meta, isStopped: isStopped, pool: pool, progress: told, names: encoder.names) else { return ended() }
            }
            if Places.searched == Places.bundle.path { try? FileManager.default.removeItem(at: Places.before) }
            let writer = try opened(meta)
            defer { writer.close() }
            let (small, marks) = (SmallList(Places.small.path), MarkList(Places.marks.path))
            let run = IndexRun(library, writer, skips, small, marks, people: try people(models, encoder, skips), encode: encoder.encode)
            if try run.run(isStopped: isStopped, pool: pool, progress: told, names: encoder.names) {
                if try !models.labels.get().isEmpty { _ = try models.labelVectors() }  // searches find them kept
                return .finished
            }
            return ended()
        } ?? .busy
    }

    /// What `work` returns; nil, and it is not done, while photos are indexed in the background.
    static func apart<T>(_ work: () throws -> T) throws -> T? { try gate.pass(work) }

    /// Nil where nobody asked for people, or the model does not find them.
    private static func people(_ models: Models, _ encoder: PhotoEncoder, _ skips: SkipList) throws -> PeopleSearch? {
        guard UserDefaults.standard.bool(forKey: Session.findsPeople), models.hasFaces else { return nil }
        let (reader, naming) = (try models.faces(), Naming(retold: encoder.retold, names: encoder.names))
        return PeopleSearch(reader.name, reader.read, naming, skips, picture: PhotoLibrary.forFaces)
    }

    private static func meta(_ models: Models) -> AlbumMeta {
        let m = models.manifest
        return AlbumMeta(textEncoder: m.textEncoder, imageEncoder: m.imageEncoder, dim: m.dim, delta: m.thresholds.delta)
    }

    /// Whether the album has vectors of another model's encoders.
    private static func isOfAnother(_ meta: AlbumMeta) throws -> Bool {
        let album = try Album(Places.album.path)
        defer { album.close() }
        return album.meta.textEncoder != meta.textEncoder || album.meta.imageEncoder != meta.imageEncoder
    }

    private static func opened(_ meta: AlbumMeta) throws -> AlbumWriter {
        if !Places.hasAlbum { try AlbumWriter.create(Places.album.path, meta) }
        return try AlbumWriter(Places.album.path)
    }

    /// The album can be made again from the photos, and must not leave the phone in a backup; the bundle is large.
    private static func keepFromBackups() {
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        let album = ["", "-wal", "-shm", ".renewing"].map { URL(fileURLWithPath: Places.album.path + $0) }
        for var file in album + [Places.bundle, Places.before] { try? file.setResourceValues(values) }
    }
}

/// A flag to stop a run from another thread.
final class Stop: @unchecked Sendable {
    private let lock = NSLock()
    private var raised = false

    var isSet: Bool { lock.withLock { raised } }

    func set() { lock.withLock { raised = true } }
}
