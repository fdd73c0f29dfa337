/// The photos and videos of a phone. `picture` returns nil for pixels that are not here: in the cloud, damaged, deleted.
/// `name`: what a person calls the photo, such as its file's name. `owns`: whether a photo with this id came from
/// here; the album may hold others too, and of a long video parts, whose ids begin with its key (ClipPart).
public protocol PhotoSource {
    func keys() -> [String]
    func name(_ key: String) -> String
    func photo(_ key: String) -> Photo?
    func picture(_ key: String) -> Look?
    /// The video that this is; nil for a photo, and for a video that cannot be decoded here.
    func footage(_ key: String) -> Footage?
    func owns(_ id: String) -> Bool
    /// What stays the same of a photo's key when the photo is edited.
    func asset(_ key: String) -> String
    /// Keys of the photos that the library marks as favourites; nil if it has no such marks.
    func favourites() -> Set<String>?
}

extension PhotoSource {
    public func favourites() -> Set<String>? { nil }
    public func asset(_ key: String) -> String { key }
    public func footage(_ key: String) -> Footage? { nil }

    /// What is seen of a photo, or of the part of a video that the id names; nil for pixels that are not here.
    func look(_ id: String, isStopped: () -> Bool) -> Look? {
        let key = ClipPart.whole(id)
        return footage(key).map { ClipFrames.look($0, ClipPart(named: id), isStopped: isStopped) } ?? picture(key)
    }
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
    private let encode: (Photo, Look?) throws -> Encoded?

    public init(
        _ source: PhotoSource, _ writer: AlbumWriter, _ skips: SkipList, _ small: SmallList, _ marks: MarkList, people: PeopleSearch? = nil,
        encode: @escaping (Photo, Look?) throws -> Encoded?
    ) {
        (self.source, self.writer, self.skips, self.small, self.marks) = (source, writer, skips, small, marks)
        (self.people, self.encode) = (people, encode)
    }

    /// Returns false if `isStopped` ended it early. `progress` is called after each batch. `pool` frees what a
    /// batch allocated. A run that reaches its end also does what an earlier one, which was killed, left to be
    /// finished.
    public func run(
        isStopped: @escaping () -> Bool, pool: (() throws -> Void) throws -> Void = { try $0() }, progress: (IndexReport) -> Void,
        names: ([String]) throws -> [[Float]]
    ) throws -> Bool {
        try writer.erase()  // what was forgotten by a program that was killed then
        let bare = Set(try writer.withoutVectors().filter(source.owns))  // left so by a renewal that could not read them
        let all = try writer.ids(), here = Set(all.map(ClipPart.whole)), removed = try writer.removed()
        let already = Dictionary(grouping: bare.sorted(), by: ClipPart.whole), known = here.subtracting(already.keys)
        let kept = Set(removed).union(removed.map(ClipPart.whole).filter { !here.contains($0) })  // all parts of a video
        let keys = source.keys().filter { !kept.contains($0) }
        let left = gone(all, keys)
        let closed = try writer.people { try $0.closed() }
        try IndexRun.inBatches(left.filter { !closed.contains($0) }, writer.remove)
        let missing = keys.filter { !known.contains($0) }
        let wanted = missing.filter { !skips.isSkipped($0) }
        var report = IndexReport(done: keys.count - missing.count, total: keys.count)
        report.skipped = missing.filter(skips.isSkipped).map(source.name)
        report.removed = Set(left.map(ClipPart.whole)).count
        progress(report)
        for first in stride(from: 0, to: wanted.count, by: IndexRun.batch) {
            if isStopped() { return false }
            let part = wanted[first..<min(first + IndexRun.batch, wanted.count)]
            var wasStopped = false
            try pool {
                let tried = try part.compactMap { isStopped() ? nil : try encoded($0, already[$0] ?? [], isStopped) }
                let found = tried.filter { !$0.items.isEmpty }, made = found.flatMap(\.items)
                let small = found.filter(\.isSmall).flatMap(\.items).map(\.photo.id)
                report.small += small.count
                self.small.put(tried: small, small: small)
                let (new, again) = (made.filter { !bare.contains($0.photo.id) }, made.filter { bare.contains($0.photo.id) })
                if !new.isEmpty { try writer.add(new) }
                if !again.isEmpty { try writer.update(again) }
                report.done += found.count
                report.unread += tried.count - found.count
                wasStopped = tried.count < part.count
            }
            progress(report)
            if wasStopped { return false }
        }
        let cloudy = small.first(IndexRun.triedAgain, where: Set(keys).intersection(all).contains)
        for first in stride(from: 0, to: cloudy.count, by: IndexRun.batch) {
            if isStopped() { return false }
            let part = Array(cloudy[first..<min(first + IndexRun.batch, cloudy.count)])
            try pool {
                let whole = try part.compactMap { try encoded($0, [], isStopped) }.filter { !$0.isSmall }.flatMap(\.items)
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
        let known = try writer.ids(), before = Set(closed.map(ClipPart.whole))  // other parts of the same video stay as they are
        try writer.people { rows in
            try rows.close(known.filter { source.owns($0) && !before.contains(ClipPart.whole($0)) && assets.contains(source.asset($0)) })
        }
        let here = Set(known.map(ClipPart.whole))
        let waiting = Set(keys.filter { !here.contains($0) }.map(source.asset))
        try writer.remove(gone.filter { closed.contains($0) && !waiting.contains(source.asset($0)) })
    }

    /// Marks what the library marks, and takes off what it marked before and does not any more. Returns false if it was stopped.
    private func mark(_ here: Set<String>, _ isStopped: () -> Bool) throws -> Bool {
        guard let wanted = source.favourites()?.intersection(here) else { return true }
        let marked = try writer.favourites(), before = marks.keys()
        let known = try writer.ids().map { (id: $0, key: ClipPart.whole($0)) }.filter { here.contains($0.key) }
        marks.put(before.union(wanted))  // before the album is marked: a run that is killed leaves no mark that it would not know
        let on = known.filter { wanted.contains($0.key) && !marked.contains($0.id) }.map(\.id)
        let off = known.filter { before.contains($0.key) && marked.contains($0.id) && !wanted.contains($0.key) }.map(\.id)
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
        return known.filter { !here.contains(ClipPart.whole($0)) && source.owns($0) }.sorted()
    }

    /// A photo, or a video or all of its parts: those that the album has `already`, or else where it is cut. None without pixels,
    /// and where something failed: that try stays counted. A video of which parts cannot be read now is left to the next run, once.
    /// Nil where `isStopped` ended it.
    private func encoded(_ key: String, _ already: [String], _ isStopped: () -> Bool) throws -> (items: [Encoded], isSmall: Bool)? {
        let number = skips.begin(key)
        guard let photo = source.photo(key) else {
            skips.end()
            return ([], false)
        }
        do {
            var stopped = false  // heat, for example, may come and go
            let isStopped = { () -> Bool in
                stopped = stopped || isStopped()
                return stopped
            }
            let items = items(photo, already, isStopped)
            var made: [Encoded] = [], isSmall = false
            for item in items {
                let look = source.look(item.id, isStopped: isStopped)
                isSmall = isSmall || look?.isSmall ?? false
                if let one = try encode(item, look) { made.append(one) }
            }
            let wasStopped = stopped && (made.isEmpty || made.contains { $0.clip != nil })  // it may lack parts
            let isPartial = !wasStopped && !made.isEmpty && made.count < items.count && number < SkipList.tries
            if !isPartial { skips.end() }
            return wasStopped ? nil : isPartial ? ([], false) : (made, isSmall)
        } catch {
            try skips.blame(error) { try encode(photo, Look($0)) }
            return ([], false)
        }
    }

    /// None for a video that cannot be read.
    private func items(_ photo: Photo, _ already: [String], _ isStopped: () -> Bool) -> [Photo] {
        let bare = already.compactMap(ClipPart.init(named:))
        guard bare.isEmpty else { return bare.map { $0.of(photo) } }
        guard let footage = source.footage(photo.id) else { return [photo] }
        guard let parts = ClipFrames.parts(footage, isStopped: isStopped) else { return [] }
        return parts.isEmpty ? [photo] : parts.map { $0.of(photo) }
    }
}
