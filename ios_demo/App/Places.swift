import Foundation
import PhotoCore

/// The paths of the bundle and the album: in the app's Documents, which Finder and the Files app can write.
enum Places {
    static var documents: URL { FileManager.default.urls(for: .documentDirectory, in: .userDomainMask)[0] }
    static var caches: URL { FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)[0] }
    static var bundle: URL { documents.appendingPathComponent("bundle") }
    /// The bundle before the present one, until the album that it is for is encoded again.
    static var before: URL { documents.appendingPathComponent("bundle.before") }
    /// The folder of the bundle whose vectors the album has.
    static var searched: String { Renewal.searched(album.path, bundle: bundle.path, before: before.path) }
    static var album: URL { documents.appendingPathComponent("album.gamer") }
    static var skips: URL { caches.appendingPathComponent("skipped.txt") }
    static var hasBundle: Bool { FileManager.default.fileExists(atPath: bundle.appendingPathComponent("manifest.json").path) }
    static var hasAlbum: Bool { FileManager.default.fileExists(atPath: album.path) }

    /// The outlines of the land, copied into the app when it is built; the web page and the other app draw the same.
    static var land: String { Foundation.Bundle.main.path(forResource: "land", ofType: "json") ?? "" }

    /// The cue rules, copied into the app when it is built; Python and Kotlin read the same file.
    static var rules: String { Foundation.Bundle.main.path(forResource: "cue_rules", ofType: "json") ?? "" }
}
