/// Searches the photos of an album for faces, and groups these into people, whom only the owner names (runtime/indexing/faces.py).
/// Photos that were searched before are left alone. `encoder`: the name of what makes the vectors of the faces that `find` finds.
/// `picture`: of a photo, or of the part of a video that an id names; nil for pixels that are not here now.
public struct PeopleSearch {
    private static let mark = "people:" // before a photo's id in the list of tries: its picture alone did no harm
    private static let batch = 16, grouped = 2_048 // photos that are stored at once; after which people are grouped
    let encoder: String
    let find: (Pixels) throws -> [Face]
    let naming: Naming
    let skips: SkipList
    let picture: (String) -> Pixels?

    public init(_ encoder: String, _ find: @escaping (Pixels) throws -> [Face], _ naming: Naming, _ skips: SkipList, picture: @escaping (String) -> Pixels?) {
        (self.encoder, self.find, self.naming, self.skips, self.picture) = (encoder, find, naming, skips, picture)
    }

    /// Returns false if `isStopped` ended it. `keys`: of the photos that are here. `progress`: told how many photos are left, after
    /// each batch.
    func run(_ writer: AlbumWriter, _ keys: [String], isStopped: () -> Bool, pool: (() throws -> Void) throws -> Void, progress: (Int) -> Void) throws -> Bool {
        let before = try writer.people { rows in
            try rows.begin(encoder)
            return try rows.read() ?? People()
        }
        let known = Dictionary(grouping: try writer.ids(), by: ClipPart.whole)
        let wanted = keys.flatMap { (known[$0] ?? []).sorted() }.filter { !before.lookedAt.contains($0) && !skips.isSkipped(PeopleSearch.mark + $0) }
        for first in stride(from: 0, to: wanted.count, by: PeopleSearch.batch) {
            if isStopped() { return false }
            progress(wanted.count - first)
            try pool {
                let looked = try wanted[first..<min(first + PeopleSearch.batch, wanted.count)].compactMap(look)
                try writer.people { try $0.store(looked) }
            }
            // A pass over many new faces takes long, and cannot be stopped.
            if (first + PeopleSearch.batch) % PeopleSearch.grouped == 0 { try writer.people { try $0.regroup() } }
        }
        progress(0)
        try writer.people { try $0.regroup() }
        return try naming.follow(writer, isStopped: isStopped)
    }

    /// Nil for a photo that cannot be read now, and for one at which something failed: its try stays counted.
    private func look(_ key: String) throws -> LookedAt? {
        skips.begin(PeopleSearch.mark + key)
        guard let pixels = picture(key) else {
            skips.end()
            return nil
        }
        do {
            let faces = try find(pixels)
            skips.end()
            return LookedAt(key, faces)
        } catch {
            try skips.blame(error, find)
            return nil
        }
    }
}
