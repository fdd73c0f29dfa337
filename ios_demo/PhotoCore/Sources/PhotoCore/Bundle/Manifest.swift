import Foundation

/// One side of a tensor's shape: a number, or a name for a dimension that may vary.
public enum TensorSize: Sendable, Equatable {
    case fixed(Int)
    case named(String)

    public var fixed: Int? { if case .fixed(let size) = self { return size } else { return nil } }
}

/// One input or output of an artifact. `dtype` is numpy's name.
public struct TensorSpec: Sendable {
    public let name: String
    public let shape: [TensorSize]
    public let dtype: String
}

/// How close an artifact's outputs are to those of the fp32 torch model on the same inputs.
///
/// `minimum`: the worst cosine; nil where the artifact was not run. `kernels`: the engine, version and
/// processor features (Processor) that the figure holds for; elsewhere the bundle's fixtures are run before
/// the artifact is used (SelfCheck). "" in bundles from before it was recorded.
public struct Parity: Sendable {
    public let threshold: Double
    public let minimum: Double?
    public let kernels: String
}

/// One file (or one .mlpackage folder) for one component and one target.
public struct Artifact: Sendable {
    public let role: String
    public let target: String
    public let quant: String
    public let file: FileEntry
    public let inputs: [TensorSpec]
    public let outputs: [TensorSpec]
    public let parity: Parity
}

/// A file named in the manifest, with its size and SHA-256.
public struct FileEntry: Sendable {
    public let path: String
    public let bytes: Int
    public let sha256: String
}

/// A file of the bundle that is not an artifact: tokenizer, labels, gazetteer, fixture, notice.
public struct DataFile: Sendable {
    public let name: String
    public let file: FileEntry
}

/// Pixels → tensor: shorter side to `resize` (antialiased), centre crop `crop`; (x - mean) / std is computed
/// inside the graph.
///
/// `fit`: "cut", the picture's centre is cut out at pixel borders and resized; "crop", exactly the centre of
/// the resized picture; "squash", both sides become `crop`, whatever the picture's shape.
public struct Preprocessing: Sendable {
    public let resize: Int
    public let crop: Int
    public let interpolation: String
    public let fit: String

    /// Pixels that a picture's shorter side keeps when it is decoded: twice those of the input, to leave detail for the
    /// antialiased resize.
    public var least: Int { 2 * max(resize, crop) }

    public init(resize: Int, crop: Int, interpolation: String, fit: String = "cut") {
        (self.resize, self.crop, self.interpolation, self.fit) = (resize, crop, interpolation, fit)
    }
}

/// The parameters of the decoder that its graph does not hold: sizes of the KV cache, rotary base, and the
/// ids that stop generation.
public struct LanguageSpec: Sendable {
    public let layers: Int
    public let kvHeads: Int
    public let headDim: Int
    public let hidden: Int
    public let maxSeq: Int
    public let ropeTheta: Double
    public let eosIds: [Int]
    /// The id that an encoder-decoder's answer begins with; nil for a decoder alone.
    public let startId: Int?
}

/// The threshold δ of layer 2, ρ of the router (paper Eq. 1), and the number K of hits.
public struct Thresholds: Sendable {
    public let delta: Double
    public let rho: Double
    public let k: Int
    public let deltaFrom: String
    /// δ of mode "paper", if it has one of its own.
    public let paperDelta: Double?
}

/// Vectors of photos from trained experts (paper section 3.3), for layer 3.
///
/// `name`: in the album; the part before the first ":" names its weight in RankingWeights, the last is a
/// digest of the experts, so that no vector is compared with another bundle's. `query`: whose state becomes
/// v_Q, "text" (the text tower's vector) or "llm" (the decoder's state). `dim`: of the vectors.
public struct Channel: Sendable, Equatable {
    public let name: String
    public let query: String
    public let dim: Int

    /// Whether this is a channel that a manifest may name.
    var isKnown: Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual("dpe".utf8), (1...16).contains(parts[1].count), parts[2].count == 8 else { return false }
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z"), digits = Set("0123456789abcdef".utf8)
        return parts[1].allSatisfy(letters.contains) && parts[2].allSatisfy(digits.contains) && ["text", "llm"].contains(query)
    }
}

/// The decoder's cache of a prompt's fixed beginning (.npy). `madeFrom`: see Prefix.
public struct PrefixFile: Sendable {
    public let prompt: String
    public let target: String
    public let tokens: Int
    public let madeFrom: String
    public let file: FileEntry
}

/// One network of the recipe. `macs`: multiply-adds of the fp32 module.
public struct Component: Sendable {
    public let role: String
    public let source: String
    public let trained: Bool
    public let macs: Int
}

/// Words that the text tower was trained to get before a text: before a query, and before a memory or a name.
public struct TextPrompts: Sendable, Equatable {
    public var query = ""
    public var memory = ""

    public init(query: String = "", memory: String = "") { (self.query, self.memory) = (query, memory) }
}

/// The content of a bundle's manifest.json, typed (runtime/bundle/manifest.py).
public struct Manifest: Sendable {
    public let schemaVersion: Int
    public let recipe: String
    public let quant: String
    public let textEncoder: String
    public let imageEncoder: String
    public let dim: Int
    public let components: [Component]
    public let artifacts: [Artifact]
    /// nil without an image tower.
    public let preprocessing: Preprocessing?
    /// nil without a language model.
    public let language: LanguageSpec?
    public let thresholds: Thresholds
    public let prompts: [String: String]
    public let files: [DataFile]
    public let prefixes: [PrefixFile]
    public let ranking: RankingWeights?
    public let licences: [String: String]
    /// The parts that were filled with random numbers on request; searches refuse such a bundle.
    public let randomParts: [String]
    /// Those that trained experts add to "text" and "image".
    public let channels: [Channel]
    public let textPrompts: TextPrompts

    /// Everything that has a path, a size and a hash: a file, or a folder of files.
    public var entries: [FileEntry] { files.map(\.file) + artifacts.map(\.file) + prefixes.map(\.file) }

    /// Whether there is a language model that the core runs: one without an encoder, for ONNX Runtime.
    public var hasLanguage: Bool {
        guard let language, language.startId == nil else { return false }
        return ["llm_embed", "llm_decoder"].allSatisfy { role in artifacts.contains { $0.role == role && $0.target == "onnx" } }
    }

    /// The decoder's parameters. Raises Failure.bundle for a bundle without a language model.
    public func decoder() throws -> LanguageSpec {
        guard let language else { throw Failure.bundle("bundle \(recipe) has no language model: use --refine fast, or export a recipe that has one") }
        return language
    }

    /// How photos become the image tower's input. Raises Failure.bundle for a bundle without one.
    public func pixels() throws -> Preprocessing {
        guard let preprocessing else { throw Failure.bundle("bundle \(recipe) has no image tower: export a recipe that has one") }
        return preprocessing
    }

    public func component(_ role: String) throws -> Component { try only(components.filter { $0.role == role }, "component \(role.scalars.quoted)") }

    /// The artifact of `role` for `target`. Raises Failure.bundle, naming the targets that the bundle has.
    public func artifact(_ role: String, _ target: String) throws -> Artifact {
        if let found = artifacts.first(where: { $0.role == role && $0.target == target }) { return found }
        let have = Set(artifacts.map(\.target)).sorted().joined(separator: ", ")
        throw Failure.bundle("bundle has no \(target) artifact for \(role); it holds \(have): export again with --targets \(target)")
    }

    /// The prompt template called `name`. Raises Failure.bundle for a bundle that has none.
    public func prompt(_ name: String) throws -> String {
        if let found = prompts[name] { return found }
        throw Failure.bundle("bundle has no prompt \(name.scalars.quoted); it holds \(prompts.keys.sorted().joined(separator: ", ")): export it again")
    }

    /// The golden arrays of a component by name (`want` is the output of fp32 torch): fixtures/ROLE.NAME.npy,
    /// or those of its family.
    public func golden(_ role: String) -> [String: DataFile] {
        let mine = ["fixtures/\(role).", "fixtures/\(role.prefix { $0 != "_" })."]
        let found = files.filter { file in mine.contains { file.name.utf8.starts(with: $0.utf8) } && file.name.hasSuffix(".npy") }
        func called(_ file: DataFile) -> String { String(file.name.split(separator: ".", omittingEmptySubsequences: false).dropLast().last ?? "") }
        return Dictionary(found.map { (called($0), $0) }, uniquingKeysWith: { $1 })
    }

    public func file(_ name: String) throws -> DataFile { try only(files.filter { $0.name == name }, "file \(name.scalars.quoted)") }

    private func only<T>(_ found: [T], _ what: String) throws -> T {
        guard found.count == 1 else { throw Failure.bundle("bundle manifest names no \(what): export it again") }
        return found[0]
    }
}
