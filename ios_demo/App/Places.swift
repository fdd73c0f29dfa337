import Foundation
import PhotoCore

/// The paths of the bundle, in the app's Documents, which Finder and the Files app can write, and of the album, in a folder that they
/// do not show: it has places and memories, and a file that is open must not be moved.
enum Places {
    static var documents: URL { FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0] }
    static let support: URL = {
        let home = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
        try? FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
        return home
    }()
    static var caches: URL { FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0] }
    static var bundle: URL { documents.appendingPathComponent("bundle") }
    /// The bundle before the present one, until the album that it is for is encoded again.
    static var before: URL { documents.appendingPathComponent("bundle.before") }
    /// The folder of the bundle whose vectors the album has.
    static var searched: String { Renewal.searched(album.path, bundle: bundle.path, before: before.path) }
    static var album: URL { support.appendingPathComponent("album.gamer") }
    static var skips: URL { support.appendingPathComponent("skipped.txt") }
    static var marks: URL { support.appendingPathComponent("favourites.txt") }
    static var small: URL { support.appendingPathComponent("small.txt") }
    static var hasBundle: Bool { FileManager.default.fileExists(atPath: bundle.appendingPathComponent("manifest.json").path) }
    static var hasAlbum: Bool { FileManager.default.fileExists(atPath: album.path) }

    /// The outlines of the land, copied into the app when it is built; the web page and the other app draw the same.
    static var land: String { Foundation.Bundle.main.path(forResource: "land", ofType: "json") ?? "" }

    /// The cue rules, copied into the app when it is built; Python and Kotlin read the same file.
    static var rules: String { Foundation.Bundle.main.path(forResource: "cue_rules", ofType: "json") ?? "" }

    /// An album that was copied to the Documents takes the place of the app's own. To be called while nobody has it open.
    static func takeAlbum() {
        let (files, brought) = (FileManager.default, documents.appendingPathComponent("album.gamer"))
        guard files.fileExists(atPath: brought.path) else { return }
        for end in ["-wal", "-shm", ".renewing", ""] {  // the file itself last: until it is here, the next call goes on
            try? files.removeItem(atPath: album.path + end)
            try? files.moveItem(atPath: brought.path + end, toPath: album.path + end)
        }
    }
}
