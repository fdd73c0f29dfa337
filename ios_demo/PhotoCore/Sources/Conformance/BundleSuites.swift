import Foundation
import PhotoCore

/// Suites `manifest` (old, new and malformed ones) and `prefix` (a prompt's fixed beginning and its cache).
enum BundleSuites {
    static func manifest(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch()
        return { one in
            let given = one.given
            switch try given.text("op") {
            case "read": return told(try ManifestReader.parse(try text(suite, given), where: "x"))
            case "artifact":
                let found = try ManifestReader.parse(try text(suite, given), where: "x").artifact(try given.text("role"), try given.text("target"))
                return .object(["path": .string(found.file.path)])
            case "file": return .string(try ManifestReader.parse(try text(suite, given), where: "x").file(try given.text("name")).file.path)
            case "path":
                _ = try ManifestReader.inside(try scratch.place(), try given.text("path"))
                return .object(["inside": .bool(true)])
            case "check":
                let bundle = try folder(scratch, given["files"]?.members ?? [], manifest: Array(try given.text("text").utf8))
                try ManifestReader.check(bundle, try ManifestReader.read(bundle))
                return .object(["whole": .bool(true)])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    static func prefix(_ suite: Suite) throws -> Replayed {
        let scratch = try Scratch(), tokenizer = try Tokenizer(suite.path(try suite.shared.text("tokenizer")))
        let golden = try JSON.read(suite.path("../manifest_v1.json"))
        return { one in
            let given = one.given
            switch try given.text("op") {
            case "split":
                let (fixed, rest) = try Prefix.split(try given.text("prompt"))
                return .object(["fixed": .string(fixed.string), "rest": .string(rest.string)])
            case "fill":
                let ids = try Prefix.encode(tokenizer, try given.text("prompt"), query: try given.text("query"), notes: try given.text("notes"))
                return .object(["fixed": .ints(ids.fixed), "rest": .ints(ids.rest)])
            case "drafts":
                let text = try given.integers("text")
                var drafts = Drafts(try given.integers("prompt")), guesses: [JSON] = [], at = 0, told = 0
                while at < text.count {
                    at += 1
                    let guess = drafts.guess(Array(text[told..<at]), most: Drafts.most), right = common(guess, Array(text[at...]))
                    if !guess.isEmpty { drafts.judge(guessed: guess.count, right: right) }
                    guesses.append(.ints(guess))
                    (told, at) = (at, at + right)
                }
                return .object(["guesses": .array(guesses)])
            case "made_from":
                let sha = Prefix.madeFrom(decoder: try given.text("decoder"), embed: try given.text("embed"), ids: try given.integers("ids"))
                return .object(["sha256": .string(sha)])
            case "load":
                let raw = golden.with("artifacts", try given.need("artifacts")).with("language", try given.need("language"))
                    .with("prefixes", .array([try given.need("entry")]))
                let bundle = try folder(scratch, [.init("prefixes/onnx-refine.npy", try given.need("npy"))], manifest: Array(raw.text.utf8))
                let manifest = try ManifestReader.read(bundle)
                guard let found = try Prefix.load(bundle, manifest, target: "onnx", prompt: "refine", ids: try given.integers("ids")) else { return .null }
                return .object(["shape": .ints(found.shape), "last": .floats(Array(found.cache.suffix(4)))])
            case let other: throw Failure.value("an operation \(other)")
            }
        }
    }

    /// The manifest of a case: its text, or that of a file with one value set or one key dropped.
    private static func text(_ suite: Suite, _ given: JSON) throws -> [UInt8] {
        if let text = given["text"]?.string { return Array(text.utf8) }
        let raw = try JSON.read(suite.path(try given.text("file")))
        if let key = given["drop"]?.string { return Array(JSON.object((raw.members ?? []).filter { $0.name != key }).text.utf8) }
        guard let set = given["set"] else { return Array(raw.text.utf8) }
        return Array(raw.setting(set[0]?.array ?? [], set[1] ?? .null).text.utf8)
    }

    private static func folder(_ scratch: Scratch, _ files: [JSON.Member], manifest: [UInt8]) throws -> String {
        let bundle = try scratch.place()
        for file in files {
            let path = "\(bundle)/\(file.name)"
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
            try (Data(base64Encoded: file.value.string ?? "") ?? Data()).write(to: URL(fileURLWithPath: path))
        }
        try Data(manifest).write(to: URL(fileURLWithPath: "\(bundle)/manifest.json"))
        return bundle
    }

    private static func told(_ m: Manifest) -> JSON {
        func texts(_ found: [String: String]) -> JSON { .object(found.map { .init($0.key, .string($0.value)) }) }
        func size(_ size: TensorSize) -> JSON {
            switch size {
            case .fixed(let number): return .int(number)
            case .named(let name): return .string(name)
            }
        }
        let artifacts = m.artifacts.map { a -> JSON in
            let inputs = a.inputs.map { JSON.array([.string($0.name), .array($0.shape.map(size)), .string($0.dtype)]) }
            return .array([.string(a.role), .string(a.target), .string(a.file.path), .int(a.file.bytes), .string(a.file.sha256), .array(inputs)])
        }
        let weights = m.ranking ?? RankingWeights()
        return .object([
            "recipe": .string(m.recipe), "quant": .string(m.quant), "text_encoder": .string(m.textEncoder), "image_encoder": .string(m.imageEncoder),
            "dim": .int(m.dim), "prompts": texts(m.prompts), "text_prompts": .array([.string(m.textPrompts.query), .string(m.textPrompts.memory)]), "licences": texts(m.licences),
            "components": .array(m.components.map { .array([.string($0.role), .bool($0.trained), .int($0.macs)]) }), "artifacts": .array(artifacts),
            "files": .array(m.files.map { .array([.string($0.name), .string($0.file.path), .int($0.file.bytes), .string($0.file.sha256)]) }),
            "prefixes": .array(m.prefixes.map { .array([.string($0.prompt), .string($0.target), .int($0.tokens), .string($0.file.path)]) }),
            "preprocessing": m.preprocessing.map { .array([.int($0.resize), .int($0.crop), .string($0.interpolation), .string($0.fit), .int($0.least)]) } ?? .null,
            "language": m.language.map { .array([.int($0.layers), .int($0.kvHeads), .int($0.headDim), .int($0.maxSeq), .ints($0.eosIds)]) } ?? .null,
            "thresholds": .array([.number(m.thresholds.delta), .number(m.thresholds.rho), .int(m.thresholds.k), m.thresholds.paperDelta.map(JSON.number) ?? .null]),
            "ranking": .object(RankingWeights.names.map { .init($0.key, .number(weights[keyPath: $0.value])) }),
        ])
    }
}

extension JSON {
    /// This object with one member set.
    func with(_ name: String, _ value: JSON) -> JSON { .object((members ?? []).filter { $0.name != name } + [.init(name, value)]) }

    /// A copy with the value at the path `steps` (names and indices) set.
    func setting(_ steps: [JSON], _ value: JSON) -> JSON {
        guard let step = steps.first else { return value }
        let rest = Array(steps.dropFirst())
        if let name = step.string { return with(name, (self[name] ?? .null).setting(rest, value)) }
        guard var items = array, let at = step.int, items.indices.contains(at) else { return self }
        items[at] = items[at].setting(rest, value)
        return .array(items)
    }
}
