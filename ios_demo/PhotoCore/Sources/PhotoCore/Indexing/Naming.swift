/// Names people, makes several one and forgets them; and keeps the photos' memories in step (runtime/indexing/people.py). A name is
/// written to the photos of a person as a memory of source "people", by which every search finds them. `retold`: a photo's
/// memories, encoded; `names`: as for `AlbumWriter.embed`.
public struct Naming {
    private static let batch = 64
    private let retold: (Photo) throws -> Encoded
    private let names: ([String]) throws -> [[Float]]

    public init(retold: @escaping (Photo) throws -> Encoded, names: @escaping ([String]) throws -> [[Float]]) { (self.retold, self.names) = (retold, names) }

    /// Gives a person a name. Raises Failure.album for one that cannot be given, or that somebody else has.
    public func name(_ writer: AlbumWriter, _ person: Int, _ text: String) throws {
        try change(writer) { rows, people in try rows.name(people.person(person), People.checkedName(text)) }
    }

    /// Makes `other` the same person as `into`, who keeps the name.
    public func merge(_ writer: AlbumWriter, _ into: Int, _ other: Int) throws {
        try change(writer) { rows, people in try rows.merge(people.person(into), [people.person(other)]) }
    }

    /// Deletes a person with their faces and their name, and the bytes of these; closes `writer`. The photos stay, and are not
    /// searched again.
    public func forget(_ writer: AlbumWriter, _ person: Int) throws {
        var left = try writer.people { try $0.read() } ?? People()
        let gone = try left.person(person)
        left.faces.removeAll { $0.person == person }
        left.names[person] = nil
        try forget(writer, left, [gone.name].compactMap { $0 }) { try $0.forget([gone]) }
    }

    /// Deletes all that is known of people, and the bytes of it; closes `writer`.
    public func forgetAll(_ writer: AlbumWriter) throws {
        let people = try writer.people { try $0.read() } ?? People()
        var left = People()
        left.written = people.written
        try forget(writer, left, Array(people.names.values)) { try $0.forgetAll() }
    }

    private func forget(_ writer: AlbumWriter, _ left: People, _ names: [String], _ forget: (FaceRows) throws -> Void) throws {
        let wanted = left.namedIn, changes = try Naming.batches(unlike(left, wanted)).map { try self.changes(writer, left, wanted, $0) }
        let named = Dictionary(uniqueKeysWithValues: changes.flatMap { $0.named.map { ($0.key, $0.value) } })
        try writer.forget(changes.flatMap(\.photos), named: named, names: names, forget)
    }

    private func change(_ writer: AlbumWriter, _ change: (FaceRows, People) throws -> Void) throws {
        try writer.people { try change($0, try $0.read() ?? People()) }
        _ = try follow(writer) { false }
    }

    /// Brings the memories in step with the names of those whom the photos show. Returns false if `isStopped` ended it.
    func follow(_ writer: AlbumWriter, isStopped: () -> Bool) throws -> Bool {
        guard let people = try writer.people({ try $0.read() }) else { return true }
        let wanted = people.namedIn, todo = unlike(people, wanted)
        for batch in Naming.batches(todo) {
            if isStopped() { return false }
            let changes = try changes(writer, people, wanted, batch)
            try writer.retell(changes.photos, named: changes.named)
        }
        if !todo.isEmpty { try writer.embed(names) }
        return true
    }

    private static func batches(_ ids: [String]) -> [[String]] {
        stride(from: 0, to: ids.count, by: batch).map { Array(ids[$0..<min($0 + batch, ids.count)]) }
    }

    /// The photos whose memories do not say who they show. `wanted`: `namedIn` of `people`.
    private func unlike(_ people: People, _ wanted: [String: [String]]) -> [String] {
        Set(wanted.keys).union(people.written.keys).sorted().filter { Set(wanted[$0] ?? []) != people.written[$0] ?? [] }
    }

    /// `photos`: those whose memories change. `named`: id → the names that nobody else gave it.
    private func changes(
        _ writer: AlbumWriter, _ people: People, _ wanted: [String: [String]], _ ids: [String]
    ) throws -> (photos: [Encoded], named: [String: [String]]) {
        let old = try writer.photos(ids)
        let told = old.map { Naming.named($0, wanted[$0.id] ?? [], people.written[$0.id] ?? []) }
        let changed = zip(told, old).filter { $0.photo.memories != $1.memories }.map(\.0.photo)
        return (try changed.map(retold), Dictionary(uniqueKeysWithValues: told.map { ($0.photo.id, $0.added) }))
    }

    /// The photo with the names that it should have, and those of them that nobody else gave it.
    private static func named(_ photo: Photo, _ wanted: [String], _ written: Set<String>) -> (photo: Photo, added: [String]) {
        let others = photo.memories.filter { $0.source != "people" || !written.contains($0.text) }
        let known = others.filter { $0.source == "people" }.flatMap { $0.text.scalars.split(separator: ",").map { Array($0).tidied().string } }
        let added = wanted.filter { !known.contains($0) }
        var out = photo
        out.memories = others + added.map { Memory("people", $0) }
        return (out, added)
    }
}
