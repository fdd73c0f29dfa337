import Foundation
import PhotoCore

/// Suite `album`: reads, searches, damages and extends album files. Each case works on a copy, because
/// readers of a WAL file create files beside it.
enum AlbumSuite {
    static func ready(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch()
        var opened: [String: Album] = [:]
        return { one in
            let given = one.given, op = try given.text("op")
            if op == "create" { return try create(given, try scratch.place() + "/new.gamer") }
            let name = try given.text("file")
            if op == "verify" { return try verify(given, try scratch.copy(suite.path(name))) }
            if op == "change" { return try change(given, try scratch.copy(suite.path(name))) }
            if op == "people" { return try people(given, try scratch.copy(suite.path(name))) }
            if op == "append" { return try append(given, try scratch.copy(suite.path(name))) }
            if op == "open" || op == "photo" {
                let album = try Album(try scratch.copy(suite.path(name), edits: given["edits"]?.array ?? [], length: given["length"]?.int))
                return photo(try album.photo(given["row"]?.int ?? 0))
            }
            if op == "moments" {
                let edits = given["edits"]?.array ?? []
                return try moments(try Album(try scratch.copy(suite.path(name), edits: edits, length: nil)), try given.floats("query"))
            }
            let album = try opened[name] ?? Album(try scratch.copy(suite.path(name)))
            opened[name] = album
            return try ask(album, op, given)
        }
    }

    private static func ask(_ album: Album, _ op: String, _ given: JSON) throws -> JSON {
        switch op {
        case "read": return try told(album)
        case "cubes":
            let found = try album.inCubes(try given.list("cubes").map(TreeSuite.cube))
            return .object(["rows": .ints(found.rows), "inside": .ints(found.inside)])
        case "near":
            let rows = try album.near(
                try given.whole("k"), lat: given["lat"]?.double, lon: given["lon"]?.double, takenAt: given["taken_at"]?.int,
                metresAnHour: given["metres_an_hour"]?.double ?? 1000)
            return .object(["rows": .ints(rows)])
        case "entities":
            let found = try album.matchEntities(try given.floats("query"), try given.integers("rows"), delta: try given.need("delta").double ?? 0)
            return .object([
                "matches": .array(
                    found.map {
                        .object([
                            "row": .int($0.row), "name": .string($0.name), "kind": .string($0.kind), "similarity": .number(Double($0.similarity)),
                            "photos": .ints($0.photos), "reached": .ints($0.reached),
                        ])
                    })
            ])
        case "scores":
            let scores = try album.scores(try given.text("channel"), try given.floats("query"), try given.integers("rows"))
            return .object(["scores": .array(scores.map { $0 == -.infinity ? .null : .number(Double($0)) })])
        case "search":
            let plan = Estimate.Plan(rawValue: try given.text("plan"))
            let found = try album.searchVectors(
                try given.text("channel"), try given.floats("query"), k: try given.whole("k"), rows: given["rows"]?.array?.compactMap(\.int), plan: plan)
            let out: [JSON.Member] = [.init("rows", .ints(found.rows)), .init("scores", .floats(found.scores))]
            return .object(plan == .hnsw ? out + [.init("plan", .string(found.plan.rawValue))] : out)
        case "similar":
            let found = try Shelf.similar(album, try given.whole("row"), k: try given.whole("k"))
            return .object(["channel": .string(found.channel), "rows": .ints(found.rows), "scores": .floats(found.cosines)])
        case "browse":
            let months = try Shelf.months(album).map { JSON.object(["start": .optional($0.start), "rows": .ints($0.rows)]) }
            let cells = try Shelf.cells(album).map { JSON.object(["lat": .number($0.lat), "lon": .number($0.lon), "photos": .int($0.rows.count)]) }
            return .object(["months": .array(months), "cells": .array(cells)])
        case "preferred": return .object(["rows": .ints(try album.preferred(try given.integers("ranked")))])
        default: throw Failure.value("an operation \(op)")
        }
    }

    private static func moments(_ album: Album, _ query: [Float]) throws -> JSON {
        let found = try (0..<album.count).compactMap { row -> JSON? in
            let id = try album.photo(row).id
            guard let clip = try album.clip(id) else { return nil }
            return .object([
                "id": .string(id), "start": .int(clip.start), "end": .int(clip.end), "length": .int(clip.length),
                "second": .number(try album.second(row, clip, query)),
            ])
        }
        return .object(["clips": .array(found)])
    }

    /// Everything that a reader returns for an album, except its segments.
    private static func told(_ album: Album) throws -> JSON {
        let preferences = try album.preferences(), meta = album.meta
        func pairs(_ found: [Preferences.Pair]) -> JSON {
            .array(found.sorted { ($0.better, $0.worse) < ($1.better, $1.worse) }.map { .ints([$0.better, $0.worse]) })
        }
        let said = try album.conversations()
        return .object([
            "meta": .object([
                "text_encoder": .string(meta.textEncoder), "image_encoder": .string(meta.imageEncoder), "dim": .int(meta.dim), "delta": .number(meta.delta),
            ]),
            "generation": .int(album.generation), "photos": .array(try (0..<album.count).map { photo(try album.photo($0)) }),
            "channels": .object(try album.channelCounts().map { .init($0.channel, .int($0.vectors)) }), "entities": .strings(try album.entityNames(500)),
            "conversations": .ints(said.indices.filter { said[$0] }), "preferred_photos": pairs(preferences.photos),
            "preferred_entities": pairs(preferences.entities),
        ])
    }

    private static func photo(_ photo: Photo) -> JSON {
        .object([
            "id": .string(photo.id), "path": .optional(photo.path), "taken_at": .optional(photo.takenAt), "tz_source": .string(photo.tzSource),
            "utc_offset": .optional(photo.utcOffset), "lat": .optional(photo.lat), "lon": .optional(photo.lon), "sharing": .optional(photo.sharing),
            "sensitivity": .optional(photo.sensitivity), "sha256": .optional(photo.sha256), "wall": .optional(photo.wall),
            "memories": .array(
                photo.memories.map {
                    .object([
                        "source": .string($0.source), "text": .string($0.text), "sharing": .optional($0.sharing), "sensitivity": .optional($0.sensitivity),
                    ])
                }),
        ])
    }

    private static func append(_ given: JSON, _ path: String) throws -> JSON {
        let vectors = try given.need("entity_vectors")
        let writer = try AlbumWriter(path)
        try writer.add(try given.list("photos").map(encoded))
        try writer.embed { try $0.map { try vectors.floats($0) } }
        writer.close()
        let album = try Album(path)
        guard case .object(let members) = try told(album) else { return .null }
        album.close()
        let crc = try Database(path, .readOnly).rows("SELECT crc FROM photos ORDER BY row").map { $0[0].integer ?? 0 }
        return .object(members + [.init("crc", .ints(crc))] + (try asked(path, given)))
    }

    private static func change(_ given: JSON, _ path: String) throws -> JSON {
        let writer = try AlbumWriter(path)
        try writer.update(try given.list("update").map(encoded))
        try writer.remove(try given.list("remove").map { $0.string ?? "" })
        writer.close()
        let album = try Album(path)
        defer { album.close() }
        let found = try album.words(try given.text("query").scalars)
        return .object([.init("bm25", .floats(found.bm25()))] + (try asked(path, given)))
    }

    private static func create(_ given: JSON, _ path: String) throws -> JSON {
        let meta = try given.need("meta")
        try AlbumWriter.create(
            path,
            AlbumMeta(
                textEncoder: try meta.text("text_encoder"), imageEncoder: try meta.text("image_encoder"), dim: try meta.whole("dim"),
                delta: try meta.need("delta").double ?? .nan))
        return .object(try asked(path, given))
    }

    private static func people(_ given: JSON, _ path: String) throws -> JSON {
        let writer = try AlbumWriter(path)
        defer { writer.close() }
        for step in try given.list("steps") { try play(step, writer) }
        writer.close()
        let album = try Album(path), people = try album.people() ?? People()
        album.close()
        let listed = people.people.map { one in JSON.array([.int(one.row), .optional(one.name), .ints(one.faces.map(\.row)), .strings(one.photos)]) }
        let named = people.namedIn.sorted { $0.key < $1.key }.map { JSON.array([.string($0.key), .strings($0.value)]) }
        return .object([
            .init("people", .array(listed)), .init("held", .ints(people.held.sorted())), .init("named_in", .array(named)),
            .init("problems", .strings(Check.problems(path))),
        ] + (try asked(path, given)))
    }

    private static func play(_ step: JSON, _ writer: AlbumWriter) throws {
        let what = try step.text("do")
        if what == "retell" {
            let named = (try step.need("named").members ?? []).map { ($0.name, ($0.value.array ?? []).compactMap(\.string)) }
            return try writer.retell(try step.list("photos").map(encoded), named: Dictionary(uniqueKeysWithValues: named))
        }
        try writer.people { rows in
            func person(_ row: Int) throws -> Person { try (try rows.read() ?? People()).person(row) }
            switch what {
            case "begin": try rows.begin(try step.text("encoder"))
            case "store":
                try rows.store(try step.list("photos").map { LookedAt(try $0.text("photo"), sha256: $0["sha256"]?.string, try $0.list("faces").map(face)) })
            case "regroup": try rows.regroup()
            case "name": try rows.name(try person(try step.whole("person")), try People.checkedName(try step.text("text")))
            case "merge": try rows.merge(try person(try step.whole("into")), try step.integers("others").map(person))
            default: try rows.forget(try step.integers("people").map(person))
            }
        }
    }

    private static func face(_ given: JSON) throws -> Face {
        let box = try given.list("box").compactMap(\.double)
        var vector = [Float](repeating: 0, count: 128)
        for hot in try given.list("hot") { vector[hot.array?[0].int ?? 0] = Float(hot.array?[1].double ?? 0) }
        return Face(box: FaceBox(box[0], box[1], box[2], box[3]), quality: try given.need("quality").double ?? 0, vector: vector)
    }

    private static func verify(_ given: JSON, _ path: String) throws -> JSON {
        let db = try Database(path, .readWrite)
        for sql in try given.list("damage") { try db.run(sql.string ?? "") }
        db.close()
        let before = Check.problems(path), writer = try AlbumWriter(path)
        let repaired = try writer.repair()
        writer.close()
        return .object(["before": .strings(before), "repaired": .strings(repaired), "after": .strings(Check.problems(path))])
    }

    /// The rows that each of the case's queries gives, by its name.
    private static func asked(_ path: String, _ given: JSON) throws -> [JSON.Member] {
        let db = try Database(path, .readOnly)
        defer { db.close() }
        return try (try given.need("queries").members ?? []).map { query in
            .init(query.name, .array(try db.rows(query.value.string ?? "").map { .array($0.map(shown)) }))
        }
    }

    private static func shown(_ value: Value) -> JSON {
        switch value {
        case .integer(let number): return .int(number)
        case .real(let number): return .number(number)
        case .text(let text): return .string(text)
        default: return .null
        }
    }

    private static func encoded(_ raw: JSON) throws -> Encoded {
        let said = try raw.need("photo")
        var photo = Photo(id: try said.text("id"))
        (photo.path, photo.takenAt, photo.tzSource) = (said["path"]?.string, said["taken_at"]?.int, try said.text("tz_source"))
        (photo.utcOffset, photo.lat, photo.lon) = (said["utc_offset"]?.int, said["lat"]?.double, said["lon"]?.double)
        (photo.sharing, photo.sensitivity, photo.sha256) = (said["sharing"]?.string, said["sensitivity"]?.string, said["sha256"]?.string)
        photo.memories = try said.list("memories").map {
            Memory(try $0.text("source"), try $0.text("text"), sharing: $0["sharing"]?.string, sensitivity: $0["sensitivity"]?.string)
        }
        let channels = (raw["vectors"]?.members ?? []).map { member in
            (channel: member.name, chunks: (member.value.array ?? []).map { ($0.array ?? []).map { Float($0.double ?? .nan) } })
        }
        let mentions = try raw.list("mentions").map { Mention(try $0.text("name"), try $0.text("kind"), parent: $0["parent"]?.string, relation: try $0.text("relation")) }
        let clip = try raw["clip"].map {
            Clip(start: try $0.whole("start"), end: try $0.whole("end"), length: try $0.whole("length"), frames: try $0.list("frames").map { $0.int ?? -1 })
        }
        return Encoded(photo, vectors: channels, mentions: mentions, clip: clip)
    }
}
