import Foundation
import PhotoCore
import SwiftUI
import UIKit

/// Carries the screen's state (PhotoCore's ScreenState) and the last answer. Work runs on other threads.
@MainActor
final class Session: ObservableObject {
    @Published private(set) var screen = ScreenState()
    @Published private(set) var answer: Answer?
    // Ids of photos that were deleted here; the album follows with its next indexing.
    @Published private(set) var gone: Set<String> = []
    /// The setting: whether the language model rewords searches.
    nonisolated static let rewords = "rewords"
    /// The setting: whether people are searched for in the photos.
    nonisolated static let findsPeople = "people"
    /// Whether the bundle has a language model, and what finds faces.
    @Published private(set) var hasLanguageModel = false
    @Published private(set) var hasFaces = false
    private var stop = Stop()
    private var isTaking = false  // a model: no run may begin with the one before
    private var isAway = false  // the app is in the background
    private let warm = WarmEngine(bundle: { Places.searched }, album: Places.album.path, rules: Places.rules, cache: Places.caches.path)
    private nonisolated static let launched = ContinuousClock.now
    private var watch: LibraryWatch?
    // Photos of the grid.
    private static let shown = 60

    /// Looks again at what is there: the bundle, the album, the permission. Where photos may be seen, their changes are
    /// followed from then on.
    func look() {
        screen.look(bundle: Places.hasBundle, album: Places.hasAlbum, access: PhotoLibrary.access)
        let manifest = Places.hasBundle ? try? ManifestReader.read(Places.bundle.path) : nil
        hasLanguageModel = manifest?.hasLanguage == true
        hasFaces = manifest?.artifacts.contains { $0.role == FaceReader.detector } == true
        if watch == nil, [.all, .chosen].contains(PhotoLibrary.access) {
            watch = LibraryWatch { [weak self] in
                guard let self, Places.hasBundle else { return }
                self.index()
            }
        }
    }

    /// The app comes to the front: a bundle may have been copied here meanwhile, and photos have come.
    func resume() {
        isAway = false
        guard !screen.isIndexing else { return look() }
        let warm = warm
        Task {
            _ = await Session.apart(.userInitiated) {
                warm.rest()
                Places.takeAlbum()
            }
            look()
            if Places.hasBundle, screen.sees, !screen.isIndexing { index() }
        }
    }

    /// The app goes to the background: the album is let go of, so that its log is put into its file.
    func leave() {
        let warm = warm
        Task.detached { warm.rest() }  // not here, since it waits for a search
        isAway = true
        guard screen.isIndexing else { return }
        // A run that ends with the app, suspended, would count against the photo at which it was.
        let granted = UIApplication.shared.beginBackgroundTask(expirationHandler: nil)
        Task {
            await untilStopped()
            if !isAway { index() }  // the app came back meanwhile
            UIApplication.shared.endBackgroundTask(granted)
        }
    }

    func allow() async {
        await PhotoLibrary.ask()
        resume()
    }

    /// Takes the file that `gamer pack` wrote as the model. One that is damaged changes nothing.
    func take(_ file: URL) {
        if isTaking { return }
        isTaking = true
        Task {
            await untilStopped()  // its model is about to be another
            guard screen.beginUnpacking() else { return }
            let taken = await Session.apart(.userInitiated) {
                let isOpen = file.startAccessingSecurityScopedResource()
                defer { if isOpen { file.stopAccessingSecurityScopedResource() } }
                try PackedBundle.unpack(file.path, to: Places.bundle.path, before: Places.before.path)
            }
            screen.endUnpacking(failure: taken.failure)
            isTaking = false
            look()
            if Places.hasBundle, screen.sees { index() }  // the album may be of another model
        }
    }

    func index() {
        guard !isTaking, screen.beginIndexing() else { return }
        stop = Stop()
        let (stop, warm) = (stop, warm)
        Task {
            let ended = await Session.apart(.utility) {
                warm.rest()  // no copy takes the album's place while a reader of an older state is open
                return try Indexing.run(stop: stop) { report in
                    let now = Session.launched.duration(to: .now) / .seconds(1)
                    Task { @MainActor [weak self] in self?.screen.indexing(report, now: now) }
                }
            }
            screen.endIndexing(ended.value, failure: ended.failure)
            gone = gone.filter { PhotoLibrary.asset($0) == nil }  // others came back from what was deleted last
            look()
            switch ended.value {
            case .paused, .busy: goOn()
            default: if screen.wantsIndexing { index() }
            }
        }
    }

    /// A run ends after its present photo.
    private func untilStopped() async {
        while screen.isIndexing {
            stop.set()
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Goes on with the indexing when what it waits for is gone: heat, or the run of the background task.
    private func goOn() {
        Task { [weak self] in
            repeat { guard (try? await Task.sleep(for: .seconds(30))) != nil else { return } } while Indexing.pause != nil
            self?.index()
        }
    }

    /// Changes who is who in the album, and the memories of the photos with it. Returns why that failed, or nil.
    func change(_ change: @escaping @Sendable (Naming, AlbumWriter) throws -> Void) async -> String? {
        let (warm, chosen, wasIndexing) = (warm, Backend.chosen, screen.isIndexing)
        await untilStopped()
        defer { if wasIndexing { index() } }
        return await Session.apart(.userInitiated) {
            warm.rest()  // what is deleted goes from the file with the last of its readers
            let done: Void? = try Indexing.apart {
                let encoder = PhotoEncoder(try Models(Places.searched, chosen.engine, cache: Places.caches.path))
                let writer = try AlbumWriter(Places.album.path)
                defer { writer.close() }
                try change(Naming(retold: encoder.retold, names: encoder.names), writer)
            }
            if done == nil { throw Failure.album("photos are being indexed in the background: try again when that has ended") }
        }.failure
    }

    func deleted(_ ids: [String]) { gone.formUnion(ids.map(ClipPart.whole)) }

    /// Whether a photo was deleted, or the video that it is a part of.
    func isGone(_ id: String) -> Bool { gone.contains(ClipPart.whole(id)) }

    func search(_ query: String) {
        let chosen = Backend.chosen
        let number = screen.beginSearch()
        let warm = warm
        var request = SearchRequest(query, now: Session.now())
        (request.k, request.refinedBy) = (Session.shown, UserDefaults.standard.bool(forKey: Session.rewords) ? "llm" : "fast")
        let asked = request
        Task {
            let isIndexing = screen.isIndexing
            let found = await Session.apart(.userInitiated) {
                defer { if isIndexing { warm.rest() } }  // its album's log would grow until the next search
                return try warm.search(asked, chosen.engine)
            }
            if screen.endSearch(number, failure: found.failure) { answer = found.value }
        }
    }

    /// What `work` returns or says on a thread of its own.
    private nonisolated static func apart<T: Sendable>(
        _ priority: TaskPriority, _ work: @escaping @Sendable () throws -> T
    ) async -> (value: T?, failure: String?) {
        await Task.detached(priority: priority) {
            do { return (try work(), nil) } catch { return (nil, "\(error)") }
        }.value
    }

    nonisolated static func engine(_ backend: Backend) throws -> Engine {
        let models = try Models(Places.bundle.path, backend.engine, cache: Places.caches.path)
        return try Engine(models, try Album(Places.album.path), rules: Places.rules)
    }

    nonisolated static func now() -> WallClock {
        let parts = Calendar(identifier: .gregorian).dateComponents([.year, .month, .day, .hour, .minute, .second], from: Date())
        return WallClock(
            year: parts.year ?? 1970, month: parts.month ?? 1, day: parts.day ?? 1, hour: parts.hour ?? 0, minute: parts.minute ?? 0,
            second: parts.second ?? 0)
    }
}
