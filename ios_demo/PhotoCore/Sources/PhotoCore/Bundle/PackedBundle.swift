import Foundation

/// A bundle as one file, as `gamer pack` writes it (runtime/bundle/packed.py): a ZIP that stores its entries, whose
/// first is the manifest. It is not believed: names, sizes and hashes are those of the manifest, or it is refused.
public enum PackedBundle {
    private static let manifestName = "manifest.json", maxManifest = 16 << 20, maxEntries = 100_000, block = 1 << 20

    /// Unpacks `file` beside `folder`, checks every file, and puts it in the place of the bundle that is there, which is kept
    /// as `before`, if that is given and there is none. Raises Failure.bundle; the bundle that was there stays then.
    public static func unpack(_ file: String, to folder: String, before: String? = nil) throws {
        let aside = folder + ".partial", files = FileManager.default
        try? files.removeItem(atPath: aside)
        defer { try? files.removeItem(atPath: aside) }
        let manifest = try extract(file, to: aside)
        for entry in manifest.entries {
            do { _ = try ManifestReader.checkOne(aside, entry) } catch {
                throw Failure.bundle("\(file): \(entry.path) in it is missing or not what its manifest promises: copy it again")
            }
        }
        let old = folder + ".old"
        try? files.removeItem(atPath: old)
        do {
            if files.fileExists(atPath: folder) { try files.moveItem(atPath: folder, toPath: old) }
            try files.moveItem(atPath: aside, toPath: folder)
        } catch {
            if files.fileExists(atPath: old) && !files.fileExists(atPath: folder) { try? files.moveItem(atPath: old, toPath: folder) }
            throw Failure.bundle("\(folder): cannot be replaced (\(error))")
        }
        if let before, !files.fileExists(atPath: before) { try? files.moveItem(atPath: old, toPath: before) }
        try? files.removeItem(atPath: old)
    }

    private static func extract(_ file: String, to folder: String) throws -> Manifest {
        let zip = try StoredZip(file), found = try zip.entries(atMost: maxEntries)
        guard let first = found.first, first.name == manifestName, first.size <= maxManifest else {
            throw Failure.bundle("\(file): not a packed bundle: `gamer pack` makes one of a bundle")
        }
        let text = try zip.data(first)
        let manifest = try ManifestReader.parse([UInt8](text), where: "\(file): \(manifestName)")
        var room: [String: Int] = [:]
        for entry in manifest.entries { room[clean(entry.path)] = entry.bytes }
        var seen = Set<String>()
        for entry in found.dropFirst() {
            let name = clean(entry.name)
            guard let owner = ancestors(name).first(where: { room[$0] != nil }), seen.insert(name).inserted, !entry.name.hasSuffix("/") else {
                throw Failure.bundle("\(file): its manifest does not name '\(entry.name.prefix(80))'")
            }
            guard entry.size <= room[owner, default: 0] else {
                throw Failure.bundle("\(file): '\(entry.name.prefix(80))' is larger than the manifest promises")
            }
            room[owner, default: 0] -= entry.size
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try text.write(to: URL(fileURLWithPath: "\(folder)/\(manifestName)"))
            for entry in found.dropFirst() {
                let path = try ManifestReader.inside(folder, entry.name)
                try FileManager.default.createDirectory(
                    at: URL(fileURLWithPath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
                try zip.copy(entry, to: path, block: block)
            }
        } catch let error as Failure { throw error } catch {
            throw Failure.bundle("\(file): cannot be unpacked (\(error)): free some space")
        }
        return manifest
    }

    private static func clean(_ path: String) -> String {
        path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// "a/b/c", "a/b", "a".
    private static func ancestors(_ path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (0..<parts.count).map { parts.dropLast($0).joined(separator: "/") }
    }
}
