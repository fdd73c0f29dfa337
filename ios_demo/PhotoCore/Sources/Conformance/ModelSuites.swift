import Foundation
import PhotoCore
import PhotoORT

/// Suites that need an exported bundle: embeddings of both towers, DPE routing, the language model, complete
/// searches.
enum ModelSuites {
    private static func models(_ suite: Suite) throws -> Models { try Models(suite.path(try suite.shared.text("bundle")), OrtBackend()) }

    static func text(_ suite: Suite) throws -> Replayed {
        let models = try models(suite)
        return { one in
            let text = try one.given.text("text")
            if one.given["op"]?.string == "chunks" { return .object(["chunks": .strings(TextEncoder.chunks(text.scalars).map(\.string))]) }
            return .object(["embedding": .floats(try models.text().encode(text))])
        }
    }

    static func image(_ suite: Suite) throws -> Replayed {
        let models = try models(suite)
        return { one in
            let code = try models.see(try pixels(one.given))
            let labels = code.labels.map { JSON.array([.string($0.name), .number(Double($0.share))]) }
            return .object(["embedding": .floats(code.embedding), "labels": .array(labels)])
        }
    }

    static func dpe(_ suite: Suite) throws -> Replayed {
        let models = try models(suite)
        return { one in
            let out = try models.project(try models.see(try pixels(one.given)), rho: one.given["rho"]?.double)
            return .object([
                "experts": .ints(out.routing.experts), "weights": .floats(out.routing.weights), "shape": .ints(out.shape),
                "first": .floats(Array(out.prompts.prefix(8))),
            ])
        }
    }

    private static func pixels(_ given: JSON) throws -> Pixels {
        Pixels(bytes: try given.base64("rgb"), width: try given.whole("width"), height: try given.whole("height"))
    }

    static func llm(_ suite: Suite) throws -> Replayed {
        let models = try models(suite)
        return { one in
            let given = one.given, query = try given.text("query")
            if try given.text("op") == "cues" {
                guard let said = try QuotedCues.ask(models, query.scalars) else { return .null }
                return .object(["time": .string(said.time), "place": .string(said.place), "text": .string(said.text)])
            }
            let (ids, prefix) = try models.prompt(try given.text("prompt"), query: query, notes: try given.text("notes"))
            let model = try models.languageModel(), plain = given["prefix"]?.bool != true
            model.decoder.cut(0)  // so that `computed` depends on no other case
            let generated = { try model.generate(ids, maxNew: try given.whole("max_new"), stop: try given.strings("stop"), prefix: prefix, plain: plain) }
            let said = try generated()
            if case let again = try generated(), !plain && (again.ids != said.ids || again.computed != 2) {
                throw Failure.value("\(again.computed) positions computed again; '\(said.text)', then '\(again.text)'")
            }
            return .object([
                "prompt_ids": .ints(ids), "ids": .ints(said.ids), "text": .string(said.text), "ended": .string(said.ended), "computed": .int(said.computed),
            ])
        }
    }

    static func search(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch()
        let album = try Album(try scratch.copy(suite.path(try suite.shared.text("album"))))
        let engine = try Engine(try models(suite), album, rules: CueSuite.rules(suite))
        return { one in
            withExtendedLifetime(scratch) {}
            guard let now = WallClock(try one.given.text("now")) else { throw Failure.value("no day") }
            var request = SearchRequest(try one.given.text("query"), now: now)
            (request.k, request.mode, request.refinedBy) = (try one.given.whole("k"), try one.given.text("mode"), try one.given.text("refined_by"))
            request.gloss = one.given["gloss"]?.bool ?? true
            return told(one.given["wishes"]?.bool == true ? try engine.find(request) : try engine.search(request))
        }
    }

    /// Suite `asked`: questions in relation to an anchor.
    static func asked(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch(), rules = try CueSuite.rules(suite), reader = QuestionReader(try CueTables(rules))
        let album = try Album(try scratch.copy(suite.path(try suite.shared.text("album"))))
        let engine = try Engine(try models(suite), album, rules: rules), times = Set(try suite.shared.strings("times"))
        return { one in
            withExtendedLifetime(scratch) {}
            if try one.given.text("op") == "read" {
                let text = try one.given.text("text").scalars, language = try one.given.text("language")
                return .object(["read": .array(fields(try reader.read(text, language: language, isTime: { times.contains($0.lowered().string) }).wanted))])
            }
            guard let now = WallClock(try one.given.text("now")) else { throw Failure.value("no day") }
            var request = SearchRequest(try one.given.text("query"), now: now)
            request.k = 20
            let answer = try engine.ask(request)
            if try one.given.text("op") == "told" { return .object(["told": .string(answer.note?.code == .line ? answer.note!.text.string : "")]) }
            let isRelated = answer.remarks.contains { $0.code == .anchor }
            return .object(["ids": .strings(isRelated ? answer.hits.map(\.photo.id) : [])])
        }
    }

    private static func fields(_ wanted: Wanted) -> [JSON] {
        let target: [JSON] = [.string(wanted.asks), .string(wanted.target.string), .int(wanted.order), .int(wanted.number)]
        let told = target + [.bool(wanted.isOccasion), .bool(wanted.isExhaustive)]
        if wanted.anchor.isEmpty { return told }
        let anchor: [JSON] = [.string(wanted.relation), .string(wanted.unit), .string(wanted.anchor.string), .string(wanted.other.string)]
        return told + anchor + [.int(wanted.anchorOrder), .bool(wanted.withAnchor), .int(wanted.shift), .string(wanted.side)]
    }

    private static func told(_ answer: Answer) -> JSON {
        let t = answer.trace
        let hits = answer.hits.map { hit -> JSON in
            .object([
                "id": .string(hit.photo.id), "row": .int(hit.row), "taken_at": .optional(hit.photo.wall), "score": .number(hit.score),
                "probability": .number(hit.probability), "parts": .object(hit.parts.map { .init($0.name, .number($0.value)) }),
                "memory": .optional(hit.memory), "matched": .strings(hit.matched.sorted()), "copies": .strings(hit.copies),
            ])
        }
        let trace: [JSON.Member] = [
            .init("cues", .strings(t.cues)), .init("cube_lines", .strings(t.cubeLines)), .init("refined", .string(t.refined)),
            .init("refined_by", .string(t.refinedBy)), .init("delta", .number(t.delta)), .init("entities", .strings(t.entities.map(\.name).sorted())),
            .init("left", .object(t.left.map { .init($0.layer, .int($0.photos)) })), .init("linked", .int(t.linked)), .init("widened", .bool(t.widened)),
            .init("plan", .string(t.plan)), .init("mode", .string(t.mode)),
        ]
        return .object(["hits": .array(hits), "trace": .object(trace), "presence": .number(answer.presence), "count": .optional(answer.number), "note": .optional(answer.note?.line)])
    }

    /// Suite `errors`: requests that a search refuses before it opens anything, and files that are not a
    /// gazetteer.
    static func errors(_ suite: Suite) throws -> Replayed {
        { one in
            let given = one.given
            if try given.text("op") == "gazetteer" { return .string(try Gazetteer(suite.path(try given.text("file"))).path) }
            let query = given["query"]?.string ?? String(repeating: given["query"]?[0]?.string ?? "", count: given["query"]?[1]?.int ?? 0)
            var request = SearchRequest(query, now: WallClock(year: 2026, month: 11, day: 21))
            (request.refinedBy, request.mode) = (try given.text("refined_by"), try given.text("mode"))
            try request.check(k: try given.whole("k"))
            return .bool(true)
        }
    }
}
