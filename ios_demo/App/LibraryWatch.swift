import Foundation
import Photos

/// Tells when photos came, were edited or went, while the app is open. PhotoKit calls on a thread of its own, and often
/// several times for one change, so the last call of `quiet` counts.
final class LibraryWatch: NSObject, PHPhotoLibraryChangeObserver {
    private static let quiet = Duration.seconds(3)
    private let tell: @MainActor @Sendable () -> Void
    private let gate = NSLock()
    nonisolated(unsafe) private var waiting: Task<Void, Never>?  // guarded by `gate`

    init(_ tell: @escaping @MainActor @Sendable () -> Void) {
        self.tell = tell
        super.init()
        PHPhotoLibrary.shared().register(self)
    }

    deinit { PHPhotoLibrary.shared().unregisterChangeObserver(self) }

    func photoLibraryDidChange(_ change: PHChange) {
        let tell = tell
        gate.withLock {
            waiting?.cancel()
            waiting = Task {
                guard (try? await Task.sleep(for: LibraryWatch.quiet)) != nil else { return }
                await tell()
            }
        }
    }
}
