import Foundation
import PhotoCore
import SwiftUI

/// The state that the screens show, and the last answer. Work runs on other threads.
@MainActor
final class Session: ObservableObject {
    enum State: Equatable {
        case noBundle, noAccess, noPhotos, ready
        case indexing(Int, Int)
        case failed(String)
    }

    @Published var state = State.noBundle
    @Published var answer: Answer?
    @Published var isBusy = false
    @AppStorage(Backend.key) private var backend = Backend.onnx.rawValue
    private let stop = Stop()

    /// Updates the state: what is still needed, or ready.
    func look() {
        if !Places.hasBundle {
            state = .noBundle
        } else if !Places.hasAlbum {
            state = [.authorized, .limited].contains(PhotoLibrary.current) ? .noPhotos : .noAccess
        } else if case .indexing = state {
        } else {
            state = .ready
        }
    }

    func allow() async {
        _ = await PhotoLibrary.access()
        look()
    }

    func index() {
        state = .indexing(0, 0)
        let stop = stop
        Task.detached(priority: .utility) { [weak self] in
            do {
                _ = try Indexing.run(stop: stop) { done, all in
                    Task { @MainActor in self?.state = .indexing(done, all) }
                }
                await MainActor.run { self?.state = .ready }
            } catch {
                await MainActor.run { self?.state = .failed("\(error)") }
            }
        }
    }

    func search(_ query: String) {
        let chosen = Backend(rawValue: backend) ?? .onnx
        isBusy = true
        Task.detached(priority: .userInitiated) { [weak self] in
            do {
                // Opened again for each search, because indexing may have added photos since.
                let engine = try Session.engine(chosen)
                let found = try engine.search(SearchRequest(query, now: Session.now()))
                await MainActor.run { (self?.answer, self?.isBusy) = (found, false) }
            } catch {
                await MainActor.run { (self?.state, self?.isBusy) = (.failed("\(error)"), false) }
            }
        }
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
