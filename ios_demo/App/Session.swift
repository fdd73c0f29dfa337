import Foundation
import PhotoCore
import SwiftUI

/// Carries the screen's state (PhotoCore's ScreenState) and the last answer. Work runs on other threads.
@MainActor
final class Session: ObservableObject {
    @Published private(set) var screen = ScreenState()
    @Published private(set) var answer: Answer?
    private let stop = Stop()
    private let warm = WarmEngine(bundle: Places.bundle.path, album: Places.album.path, rules: Places.rules, cache: Places.caches.path)
    private var watch: LibraryWatch?
    // Photos of the grid.
    private static let shown = 60

    /// Looks again at what is there: the bundle, the album, the permission. Where photos may be seen, their changes are
    /// followed from then on.
    func look() {
        screen.look(bundle: Places.hasBundle, album: Places.hasAlbum, access: PhotoLibrary.access)
        if watch == nil, [.all, .chosen].contains(PhotoLibrary.access) {
            watch = LibraryWatch { [weak self] in
                guard let self, Places.hasBundle else { return }
                self.index()
            }
        }
    }

    func allow() async {
        await PhotoLibrary.ask()
        look()
    }

    /// Takes the file that `gamer pack` wrote as the model. One that is damaged changes nothing.
    func take(_ file: URL) {
        guard screen.beginUnpacking() else { return }
        Task {
            let taken = await Session.apart(.userInitiated) {
                let isOpen = file.startAccessingSecurityScopedResource()
                defer { if isOpen { file.stopAccessingSecurityScopedResource() } }
                try PackedBundle.unpack(file.path, to: Places.bundle.path)
            }
            screen.endUnpacking(failure: taken.failure)
            look()
            if taken.failure == nil, screen.sees { index() }  // the album may be of another model
        }
    }

    func index() {
        guard screen.beginIndexing() else { return }
        let stop = stop
        Task {
            let ended = await Session.apart(.utility) {
                try Indexing.run(stop: stop) { report in
                    let now = ProcessInfo.processInfo.systemUptime
                    Task { @MainActor [weak self] in self?.screen.indexing(report, now: now) }
                }
            }
            screen.endIndexing(ended.value, failure: ended.failure)
            look()
            if case .paused = ended.value { goOn() }
        }
    }

    /// Goes on with the indexing when what it waits for is gone.
    private func goOn() {
        Task { [weak self] in
            while Indexing.pause != nil { guard (try? await Task.sleep(for: .seconds(30))) != nil else { return } }
            self?.index()
        }
    }

    func search(_ query: String) {
        let chosen = Backend.chosen
        let number = screen.beginSearch()
        let warm = warm
        var request = SearchRequest(query, now: Session.now())
        request.k = Session.shown
        let asked = request
        Task {
            let found = await Session.apart(.userInitiated) { try warm.search(asked, chosen.engine) }
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
