import Foundation
import PhotoCore

/// Suites `graph` (what lies above an entity), `entities` (what memories mention and how it is related),
/// `vectors` (int8 codes with scale and residues) and `hnsw` (candidates from a segment's graph).
enum GraphSuites {
    static func graph(_ suite: Suite) throws -> Replayed {
        { one in
            let edges = try one.given.list("edges").map { edge in (source: edge[1]?.int ?? 0, target: edge[0]?.int ?? 0) }
            let parents = Adjacency(edges, count: try one.given.whole("nodes"))
            return .object(["rows": .ints(Graph.above(try one.given.whole("node"), parents: parents, depth: try one.given.whole("depth")))])
        }
    }

    static func entities(_ suite: Suite) throws -> Replayed {
        { one in
            let found = Entities.extract(try one.given.text("text").scalars)
            return .object(["mentions": .array(found.map { .array([.string($0.name), .string($0.kind), .optional($0.parent), .string($0.relation)]) })])
        }
    }

    static func vectors(_ suite: Suite) throws -> Replayed {
        var sets: [String: VectorSet] = [:]
        for member in try suite.shared.need("sets").members ?? [] { sets[member.name] = try set(member.value) }
        return { one in
            let given = one.given
            if try given.text("op") == "quantize" {
                let made = Quantized(try given.floats("vector"))
                return .object([
                    "codes": .ints(made.codes.map(Int.init)), "scale": .number(Double(made.scale)), "fine": .string(Data(made.fine).base64EncodedString()),
                ])
            }
            guard let vectors = sets[try given.text("set")] else { throw Failure.value("no such set") }
            let query = try given.floats("query")
            if try given.text("op") == "dot" {
                let ready = VectorQuery(query)
                return .object(["scores": .floats((0..<vectors.count).map { vectors.dot(ready, $0) })])
            }
            let rows = given["rows"]?.array?.compactMap(\.int)
            let found = Nearest.find(vectors, graph: nil, behind: [], query: query, k: try given.whole("k"), rows: rows, plan: .exact)
            return .object(["rows": .ints(found.rows), "scores": .floats(found.scores)])
        }
    }

    private static func set(_ raw: JSON) throws -> VectorSet {
        VectorSet(
            dim: try raw.whole("dim"), codes: try raw.base64("codes").map { Int8(bitPattern: $0) }, scales: try raw.floats("scales"),
            owners: try raw.integers("owners"), fine: raw["fine"]?.string == nil ? nil : try raw.base64("fine"))
    }

    static func hnsw(_ suite: Suite) throws -> Replayed {
        let dim = try suite.shared.whole("dim"), codes = try suite.shared.base64("codes").map { Int8(bitPattern: $0) }
        let count = codes.count / dim
        let vectors = VectorSet(dim: dim, codes: codes, scales: [Float](repeating: 1, count: count), owners: Array(0..<count), fine: nil)
        let whole = try suite.shared.base64("blob")
        return { one in
            var blob = whole
            Scratch.edit(&blob, one.given["edits"]?.array ?? [], one.given["length"]?.int)
            let behind = one.given["behind"]?.array?.compactMap(\.int) ?? []
            let graph = try HNSW(bytes: blob, vectors: vectors, behind: behind)
            return .object(["positions": .ints(graph.candidates(VectorQuery(try one.given.floats("query")), try one.given.whole("count")))])
        }
    }
}
