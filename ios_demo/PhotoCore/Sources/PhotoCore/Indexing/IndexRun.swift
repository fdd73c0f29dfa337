/// A photo's pixels as they were found. `isSmall`: a thumbnail, since the original is in the cloud.
public struct Picture: Sendable {
    public let pixels: Pixels
    public let isSmall: Bool

    public init(_ pixels: Pixels, isSmall: Bool = false) { (self.pixels, self.isSmall) = (pixels, isSmall) }
}

/// The photos of a phone. `picture` returns nil for pixels that are not here: in the cloud, damaged, deleted.
/// `name`: what a person calls the photo, such as its file's name. `owns`: whether a photo with this id came from
/// here; the album may hold others too.
public protocol PhotoSource {
    func keys() -> [String]
    func name(_ key: String) -> String
    func photo(_ key: String) -> Photo?
    func picture(_ key: String) -> Picture?
    func owns(_ id: String) -> Bool
    /// What stays the same of a photo's key when the photo is edited.
    func asset(_ key: String) -> String
    /// Keys of the photos that the library marks as favourites; nil if it has no such marks.
    func favourites() -> Set<String>?
}

extension PhotoSource {
    public func favourites() -> Set<String>? { nil }
    public func asset(_ key: String) -> String { key }
}

/// `done`: photos in the album; `total`: photos on the phone. Of this run: `unread` could not be read, and are
/// tried again in the next; `small` were indexed by their thumbnails; `skipped` are the names of those that ended
/// the process, or failed, twice; `removed` are no longer on the phone, or were edited and have another key now; in `unsearched`
/// people are still to be searched.
public struct IndexReport: Sendable, Equatable {
    public var done: Int, total: Int
    public var unread = 0, small = 0, skipped: [String] = [], removed = 0, unsearched = 0

    public init(done: Int, total: Int) { (self.done, self.total) = (done, total) }
}

/// Removes the photos that left the phone and adds those that the album lacks, a batch in each transaction; some of those that
/// were indexed by a thumbnail are tried again. Nothing is stored for a photo without pixels and memories.
public struct IndexRun {
    private static let batch = 16, atOnce = 200  // photos that are encoded; that are removed, or marked
    // Photos of which a run asks whether their originals came from the cloud.
    private static let triedAgain = 64
    private let source: PhotoSource
    private let writer: AlbumWriter
    private let skips: SkipList
    private let small: SmallList
    private let marks: MarkList
    private let people: PeopleSearch?
    private let encode: (Photo, Pixels?) throws -> Encoded?

    public init(
        _ source: PhotoSource, _ writer: AlbumWriter, _ skips: SkipList, _ small: SmallList, _ marks: MarkList, people: PeopleSearch? = nil,
        encode: @escaping (Photo, Pixels?) throws -> Encoded?
    ) {
        (self.source, self.writer, self.skips, self.small, self.marks) = (source, writer, skips, small, marks)
        (self.people, self.encode) = (people, encode)
    }

    /// Returns false if `isStopped` ended it early. `progress` is called after each batch. `pool` frees what a
    /// batch allocated. A run that reaches its end also does what an earlier one, which was killed, left to be
    /// finished.
    public func run(
        isStopped: () -> Bool, pool: (() throws -> Void) throws -> Void = { try $0() }, progress: (IndexReport) -> Void,
        names: ([String]) throws -> [[Float]]
    ) throws -> Bool {
        try writer.erase()  // what was forgotten by a program that was killed then
        let bare = Set(try writer.withoutVectors().filter(source.owns))  // left so by a renewal that could not read them
        let all = try writer.ids(), known = all.subtracting(bare), kept = try writer.removed()
        let keys = source.keys().filter { !kept.contains($0) }
        let left = gone(all, keys)
        let closed = try writer.people { try $0.closed() }
        try IndexRun.inBatches(left.filter { !closed.contains($0) }, writer.remove)
        let missing = keys.filter { !known.contains($0) }
        let wanted = missing.filter { !skips.isSkipped($0) }
        var report = IndexReport(done: keys.count - missing.count, total: keys.count)
        report.skipped = missing.filter(skips.isSkipped).map(source.name)
        report.removed = left.count
        progress(report)
        for first in stride(from: 0, to: wanted.count, by: IndexRun.batch) {
            if isStopped() { return false }
            let part = wanted[first..<min(first + IndexRun.batch, wanted.count)]
            try pool {
                let found = try part.compactMap(encoded), made = found.map(\.item)
                let small = found.filter(\.isSmall).map(\.item.photo.id)
                report.small += small.count
                self.small.put(tried: small, small: small)
                let (new, again) = (made.filter { !bare.contains($0.photo.id) }, made.filter { bare.contains($0.photo.id) })
                if !new.isEmpty { try writer.add(new) }
                if !again.isEmpty { try writer.update(again) }
                report.done += made.count
                report.unread += part.count - made.count
            }
            progress(report)
        }
        let cloudy = small.first(IndexRun.triedAgain, where: Set(keys).intersection(all).contains)
        for first in stride(from: 0, to: cloudy.count, by: IndexRun.batch) {
            if isStopped() { return false }
            let part = Array(cloudy[first..<min(first + IndexRun.batch, cloudy.count)])
            try pool {
                let found = try part.compactMap(encoded), whole = found.filter { !$0.isSmall }.map(\.item)
                if !whole.isEmpty { try writer.update(whole) }
                let came = Set(whole.map(\.photo.id))
                small.put(tried: part, small: part.filter { !came.contains($0) })
            }
        }
        try keepClosed(closed, keys, left)
        if try !mark(Set(keys), isStopped) { return false }
        let searched = try people?.run(writer, keys, isStopped: isStopped, pool: pool) {
            report.unsearched = $0
            progress(report)
        }
        if searched == false { return false }
        try writer.finish(isStopped: isStopped, names)
        return true
    }

    private static func inBatches(_ ids: [String], _ work: ([String]) throws -> Void) rethrows {
        for first in stride(from: 0, to: ids.count, by: atOnce) { try work(Array(ids[first..<min(first + atOnce, ids.count)])) }
    }

    /// In photos that were edited after somebody in them was forgotten nobody is searched either; those before go once that is noted.
    private func keepClosed(_ closed: Set<String>, _ keys: [String], _ gone: [String]) throws {
        let assets = Set(closed.filter(source.owns).map(source.asset))
        if assets.isEmpty { return }
        let known = try writer.ids()
        try writer.people { rows in
            try rows.close(known.filter { source.owns($0) && !closed.contains($0) && assets.contains(source.asset($0)) })
        }
        let waiting = Set(keys.filter { !known.contains($0) }.map(source.asset))
        try writer.remove(gone.filter { closed.contains($0) && !waiting.contains(source.asset($0)) })
    }

    /// Marks what the library marks, and takes off what it marked before and does not any more. Returns false if it was stopped.
    private func mark(_ here: Set<String>, _ isStopped: () -> Bool) throws -> Bool {
        guard let wanted = source.favourites()?.intersection(here) else { return true }
        let marked = try writer.favourites(), known = try writer.ids().intersection(here), before = marks.keys()
        marks.put(before.union(wanted))  // before the album is marked: a run that is killed leaves no mark that it would not know
        let on = known.intersection(wanted).subtracting(marked)
        let off = known.intersection(before).intersection(marked).subtracting(wanted)
        for (ids, isFavourite) in [(on, true), (off, false)] {
            if isStopped() { return false }
            try IndexRun.inBatches(ids.sorted()) { try writer.mark($0, isFavourite: isFavourite) }
        }
        marks.put(wanted)
        return true
    }

    /// Ids of photos that this source no longer has. A library that lists nothing may be one that cannot be read now.
    private func gone(_ known: Set<String>, _ keys: [String]) -> [String] {
        if keys.isEmpty { return [] }
        let here = Set(keys)
        return known.filter { !here.contains($0) && source.owns($0) }.sorted()
    }

    /// Nil for a photo without pixels, and for one at which something failed: its try stays counted.
    private func encoded(_ key: String) throws -> (item: Encoded, isSmall: Bool)? {
        skips.begin(key)
        guard let photo = source.photo(key) else {
            skips.end()
            return nil
        }
        let picture = source.picture(key)
        do {
            let made = try encode(photo, picture?.pixels)
            skips.end()
            return made.map { ($0, picture?.isSmall ?? false) }
        } catch {
            try skips.blame(error) { try encode(photo, $0) }
            return nil
        }
    }
}
