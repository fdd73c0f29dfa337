import Foundation

/// The image tower's output for a photo: embedding of length 1, patches [P, F] row by row, the likeliest
/// labels, best first.
public struct ImageCode: Sendable {
    public let embedding: [Float]
    public let patches: [Float]
    public let patchShape: [Int]
    public let labels: [(name: String, share: Float)]
}

/// The DPE's output [P, H] row by row, and the experts that ran with their weights.
public struct SoftPrompts: Sendable {
    public let prompts: [Float]
    public let shape: [Int]
    public let routing: Routing
}

/// A bundle's models on one backend. Each is opened when first needed (runtime/models/models.py). Not
/// thread-safe.
public final class Models {
    public let bundle: String
    public let manifest: Manifest
    public let backend: ModelBackend
    /// The result of the self-check of each opened component, by role.
    public private(set) var verdicts: [String: Verdict] = [:]

    private let selfCheck: SelfCheck
    private let cache: String?
    private var names: [[Float]]?
    private var sessions: [(role: String, session: ModelSession)] = []
    private var prefixes: [String: Prefix?] = [:]

    /// Opens a bundle and checks the files that are not artifacts. Raises Failure.bundle for a bundle that is
    /// not as its manifest says, Failure.runtime for one of random weights.
    ///
    /// `cache`: the folder for the results of self-checks; nil to measure at each opening. `notice`: called
    /// with lines that the user should see.
    public init(_ bundle: String, _ backend: ModelBackend, cache: String? = nil, notice: @escaping (String) -> Void = Models.say) throws {
        (self.bundle, self.backend, self.cache) = (bundle, backend, cache)
        manifest = try ManifestReader.read(bundle)
        selfCheck = SelfCheck(bundle: bundle, manifest: manifest, backend: backend, cache: cache, notice: notice)
        if !manifest.randomParts.isEmpty {
            let parts = manifest.randomParts.joined(separator: ", ")
            throw Failure.runtime("\(bundle): random weights (\(parts)), for sizes and speed: it finds nothing")
        }
        try ManifestReader.checkFiles(bundle, manifest)
        if manifest.schemaVersion == 1 {
            notice("\(bundle): of version 1, without fixtures: whether its components are right on this processor is not checked; export it again")
        }
    }

    /// Writes a notice to standard error.
    public static func say(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }

    /// The session of a component, loaded on first use. The hash of its artifact is checked first, and its
    /// fixtures are run if its parity was measured on other kernels (SelfCheck). Raises Failure.runtime if
    /// its outputs are wrong on this processor.
    public func session(_ role: String) throws -> ModelSession {
        if let at = sessions.firstIndex(where: { $0.role == role }) {
            // The session used last is the last of the list.
            sessions.append(sessions.remove(at: at))
            return sessions[sessions.count - 1].session
        }
        let (made, verdict) = try selfCheck.open(role)
        sessions.append((role, made))
        verdicts[role] = verdict
        return made
    }

    /// Closes the sessions that are not in `keep`: a phone lacks the memory for a language model beside the
    /// towers.
    public func release(keeping keep: Set<String> = []) {
        sessions.removeAll { !keep.contains($0.role) }
        if !keep.contains("text_tower") { textEncoder = nil }
        if !keep.contains(LineReader.detector) { lineReader = nil }
        if !keep.contains("llm_decoder") { model = nil }
    }

    /// The backend, arithmetic and loaded components, for a trace.
    public func described() -> String {
        let loaded = sessions.map { String(format: "%@ %.0f", $0.role, Double($0.session.artifact.file.bytes) / 1e6) }.joined(separator: ", ")
        return "\(backend.described); \(arithmetic()); in memory, MB: \(loaded.isEmpty ? "nothing" : loaded)"
    }

    /// The arithmetic of the loaded components, each kind once: "int8, VNNI; int4, VNNI".
    public func arithmetic() -> String {
        var kinds: [String] = []
        for (role, session) in sessions.sorted(by: { $0.role < $1.role }) {
            let kind = Processor.here.arithmetic(backend.target, session.artifact.quant, unfused: verdicts[role]?.units == "unfused")
            if !kinds.contains(kind) { kinds.append(kind) }
        }
        return kinds.isEmpty ? "nothing computed yet" : kinds.joined(separator: "; ")
    }

    private var textEncoder: TextEncoder?

    public func text() throws -> TextEncoder {
        if let textEncoder { return textEncoder }
        let made = TextEncoder(try session("text_tower"), try Tokenizer(try data("text_tokenizer.json")), manifest.textPrompts)
        textEncoder = made
        return made
    }

    /// What reads queries: the file `own`, if it exists, else the bundle's adapter; nil without either. An own one
    /// that does not fit the text tower is passed over, with a notice.
    func queryAdapter(own: String) throws -> QueryAdapter? {
        let artifact = try manifest.artifact("text_tower", backend.target), source = try manifest.component("text_tower").source
        if FileManager.default.fileExists(atPath: own) {
            do { return try QueryAdapter(own).fitting(artifact, source) } catch let Failure.runtime(line) { selfCheck.notice("\(line); searching without it") }
        }
        guard QueryAdapter.shape(of: artifact) != nil, manifest.files.contains(where: { $0.name == QueryAdapter.file }) else { return nil }
        return try QueryAdapter(try data(QueryAdapter.file)).fitting(artifact, source)
    }

    public private(set) lazy var gazetteer = Result { try Gazetteer(try data("gazetteer.sqlite")) }

    /// float32 [classes][D]: the vectors of `labels`, see ClassNames.
    public func labelVectors() throws -> [[Float]] {
        if let names { return names }
        let shas = [try manifest.artifact("text_tower", backend.target).file.sha256, manifest.files.first { $0.name == "labels.json" }?.file.sha256 ?? ""]
        let path = cache.map { "\($0)/names-\(shas.map { String($0.prefix(16)) }.joined(separator: "-")).f32" }
        let encoder = try text(), made = try ClassNames.vectors(try labels.get(), manifest.dim, path, encode: encoder.encode)
        names = made
        return made
    }

    /// The names of the classes that the image tower knows; none for a tower that shares the text tower's space.
    public private(set) lazy var labels = Result { () throws -> [String] in
        guard manifest.files.contains(where: { $0.name == "labels.json" }) else { return [] }
        return (try JSON.read(try data("labels.json")).array ?? []).compactMap(\.string)
    }

    public private(set) lazy var llmTokenizer = Result { try Tokenizer(try data("llm_tokenizer.json")) }
    private var vocabulary: Vocabulary?

    func llmVocabulary() throws -> Vocabulary {
        if let vocabulary { return vocabulary }
        let made = Vocabulary(try llmTokenizer.get().byteTokens())
        vocabulary = made
        return made
    }

    /// nil for a language model that no grammar can hold, because its tokens are not known bytes.
    func heldVocabulary() throws -> Vocabulary? {
        do { return try llmVocabulary() } catch Failure.runtime { return nil }
    }

    /// Whether the bundle has the networks that read text in pictures, for this backend.
    public var hasLines: Bool { has(LineReader.detector, LineReader.recogniser) }
    private var lineReader: LineReader?

    public func lines() throws -> LineReader {
        if let lineReader { return lineReader }
        let listed = try LineReader.characters(try data(LineReader.characters))
        let made = try LineReader(try session(LineReader.detector), try session(LineReader.recogniser), characters: listed)
        lineReader = made
        return made
    }

    /// Whether the bundle has the networks that find faces, for this backend.
    public var hasFaces: Bool { has(FaceReader.detector, FaceReader.encoder) }
    private var faceReader: FaceReader?

    public func faces() throws -> FaceReader {
        if let faceReader { return faceReader }
        let landmarks = try Landmarks(bundle, data), name = try manifest.component(FaceReader.encoder).source
        let made = try FaceReader(try session(FaceReader.detector), try session(FaceReader.encoder), landmarks, name: name)
        faceReader = made
        return made
    }

    private func has(_ roles: String...) -> Bool {
        roles.allSatisfy { role in manifest.artifacts.contains { $0.role == role && $0.target == backend.target } }
    }

    private var model: LanguageModel?

    public func languageModel() throws -> LanguageModel {
        if let model { return model }
        let language = try manifest.decoder()
        guard language.startId == nil else { throw Failure.runtime("an encoder-decoder is not run on this device: use --refine fast") }
        let tokenizer = try llmTokenizer.get()
        let made = LanguageModel(
            embed: try session("llm_embed"), decoder: try backend.decoder(try session("llm_decoder"), language), language: language,
            decode: { tokenizer.decode($0) })
        model = made
        return made
    }

    /// Token ids of the bundle's prompt `name` with its placeholders filled in, and the shipped cache of its
    /// fixed beginning. Raises Failure.bundle.
    public func prompt(_ name: String, query: String, notes: String = "") throws -> (ids: [Int], prefix: Prefix?) {
        let ids = try Prefix.encode(try llmTokenizer.get(), try manifest.prompt(name), query: query, notes: notes)
        if prefixes[name] == nil { prefixes[name] = .some(try Prefix.load(bundle, manifest, target: backend.target, prompt: name, ids: ids.fixed)) }
        return (ids.fixed + ids.rest, prefixes[name] ?? nil)
    }

    /// The path of a data file of the bundle, by its name in the manifest.
    public func data(_ name: String) throws -> String { try ManifestReader.inside(bundle, try manifest.file(name).file.path) }

    /// The embedding, the patches, and the five likeliest labels (first lemma of each; empty for a tower
    /// without labels).
    public func see(_ pixels: Pixels) throws -> ImageCode {
        let tower = try session("image_tower")
        let out = try tower.run(try Preprocess.towerInput(tower.artifact, pixels, try manifest.pixels())), shares = out["label_probs"]?.floats ?? []
        let names = try labels.get()
        let best = descending(shares).prefix(5).map { at in
            (name: names.indices.contains(at) ? names[at].split(separator: ",")[0].trimmingCharacters(in: .whitespaces) : "", share: shares[at])
        }
        let patches = out["patches"] ?? .float([], shape: [1, 0, 0])
        return ImageCode(
            embedding: TextEncoder.unit(out["embedding"]?.floats ?? []), patches: patches.floats, patchShape: Array(patches.shape.dropFirst()), labels: best)
    }

    /// Patches → soft prompts in the LLM's embedding space: runs the router, then only the experts that Eq. 1
    /// chooses.
    public func project(_ code: ImageCode, rho: Double? = nil) throws -> SoftPrompts {
        let patches = Tensor.float(code.patches, shape: [1] + code.patchShape)
        let weights = try session("dpe_router").run(["patches": patches])["weights"]?.floats ?? []
        let routing = try Routing.choose(weights, rho: rho ?? manifest.thresholds.rho)
        var sum: [Float] = [], shape: [Int] = []
        for (expert, weight) in zip(routing.experts, routing.weights) {
            let out = try session("dpe_expert_\(expert)").run(["patches": patches])["prompts"] ?? .float([], shape: [1])
            if sum.isEmpty { (sum, shape) = ([Float](repeating: 0, count: out.floats.count), Array(out.shape.dropFirst())) }
            for (at, value) in out.floats.enumerated() { sum[at] += weight * value }
        }
        return SoftPrompts(prompts: sum, shape: shape, routing: routing)
    }
}
