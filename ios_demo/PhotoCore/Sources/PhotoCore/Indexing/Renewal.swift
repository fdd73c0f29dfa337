import Foundation

/// Encodes an album again, for a bundle with other encoders: pictures that are on the phone, and all memories. The old
/// album is searched until the new one is whole; a run that was stopped or killed goes on where it ended.
public struct Renewal {
    private static let batch = 16
    private let source: PhotoSource
    private let album: String
    private let skips: SkipList
    private let encode: (Photo, Look?) throws -> Encoded?

    public init(_ source: PhotoSource, _ album: String, _ skips: SkipList, encode: @escaping (Photo, Look?) throws -> Encoded?) {
        (self.source, self.album, self.skips, self.encode) = (source, album, skips, encode)
    }

    /// Returns false if `isStopped` ended it. `progress` is called after each batch; `pool`, `names`: as for
    /// IndexRun.run.
    public func run(
        _ meta: AlbumMeta, isStopped: @escaping () -> Bool, pool: (() throws -> Void) throws -> Void = { try $0() }, progress: (IndexReport) -> Void,
        names: ([String]) throws -> [[Float]]
    ) throws -> Bool {
        let here = Set(source.keys())
        if here.isEmpty, try Renewal.hasPhotos(album, of: source) {
            throw Failure.album("\(album): no photo can be seen now, and without their pictures they cannot be encoded again: allow the photos")
        }
        let writer = try Reencoding.open(album, meta)
        defer { writer.close() }
        let wanted = try writer.withoutVectors(), total = try writer.ids().count
        var report = IndexReport(done: total - wanted.count, total: total)
        progress(report)
        for first in stride(from: 0, to: wanted.count, by: Renewal.batch) {
            if isStopped() { return false }
            let part = Array(wanted[first..<min(first + Renewal.batch, wanted.count)])
            var left = part.count
            try pool {
                var made: [Encoded] = []
                for photo in try writer.photos(part) where !isStopped() {
                    if let one = try encoded(photo, isHere: here.contains(ClipPart.whole(photo.id))) { made.append(one) }
                    left -= 1
                }
                try writer.renew(made)
            }
            report.done += part.count - left
            progress(report)
            if left > 0 { return false }
        }
        try writer.finish(isStopped: isStopped, names)
        try Reencoding.publish(album)
        return true
    }

    private static func hasPhotos(_ path: String, of source: PhotoSource) throws -> Bool {
        let album = try Album(path)
        defer { album.close() }
        return try album.ids().contains(where: source.owns)
    }

    /// The bundle whose vectors an album has: while it is encoded again for `bundle`, that is the one `before`, if it is kept.
    public static func searched(_ album: String, bundle: String, before: String) -> String {
        guard FileManager.default.fileExists(atPath: before), let open = try? Album(album) else { return bundle }
        defer { open.close() }
        return [bundle, before].first { folder in
            guard let manifest = try? ManifestReader.read(folder) else { return false }
            return manifest.textEncoder == open.meta.textEncoder && manifest.imageEncoder == open.meta.imageEncoder
        } ?? bundle
    }

    /// Of a picture that ended the process twice, the memories alone.
    private func encoded(_ photo: Photo, isHere: Bool) throws -> Encoded? {
        guard isHere, !skips.isSkipped(photo.id) else { return try encode(photo, nil) }
        skips.begin(photo.id)
        let made = try encode(photo, source.look(photo.id, isStopped: { false }))
        skips.end()
        return made
    }
}
