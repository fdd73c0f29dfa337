import Foundation

/// Reads and checks a bundle's manifest and files, as runtime/bundle/manifest.py does.
public enum ManifestReader {
    /// The schema versions that can be read. Version 1 has fixtures for some components only, and its parity
    /// does not name the kernels.
    public static let readable = [1, 2, 3]
    public static let name = "manifest.json"

    /// The manifest of a bundle folder, parsed, without checking any other file. Raises Failure.bundle.
    public static func read(_ bundle: String) throws -> Manifest {
        let path = "\(bundle)/\(name)"
        guard FileManager.default.fileExists(atPath: path) else {
            throw Failure.bundle("\(bundle): no \(name) here: give the directory that `gamer export` wrote")
        }
        guard let data = FileManager.default.contents(atPath: path) else { throw Failure.bundle("\(path): cannot be read") }
        return try parse([UInt8](data), where: path)
    }

    /// Parses a manifest. Raises Failure.bundle naming the first field that does not fit.
    public static func parse(_ text: [UInt8], where place: String) throws -> Manifest {
        let raw: JSON
        do { raw = try JSON.parse(text) } catch { throw Failure.bundle("\(place): not JSON (\("\(error)".prefix(80)))") }
        guard let version = raw["schema_version"]?.int else { throw Failure.bundle("\(place): no schema_version: this is not a bundle manifest") }
        guard readable.contains(version) else {
            let known = "\(readable[0]) to \(readable[readable.count - 1])"
            throw Failure.bundle("\(place): schema version \(version), this program reads \(known): update it, or export again")
        }
        do {
            try Shape.manifest.check(raw, at: "manifest")
            let manifest = typed(raw)
            try within(manifest, raw)
            return manifest
        } catch Failure.value(let line) {
            throw Failure.bundle("\(place): field \(line): export the bundle again")
        }
    }

    /// The path of a file of the bundle. Manifests are untrusted: raises Failure.bundle for a path that
    /// leaves the bundle.
    public static func inside(_ bundle: String, _ relative: String) throws -> String {
        let parts = relative.split(separator: "/", omittingEmptySubsequences: true)
        let path = ([bundle] + parts.map(String.init)).joined(separator: "/")
        let root = URL(fileURLWithPath: bundle).resolvingSymlinksInPath().path
        let real = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        guard !relative.contains("\0"), !relative.hasPrefix("/"), !parts.contains(".."), real == root || real.hasPrefix(root + "/") else {
            throw Failure.bundle("\(bundle)/\(name): path \(relative.scalars.quoted) leaves the bundle")
        }
        return path
    }

    /// Bytes and SHA-256 of a file; of a folder, over its files' relative names and contents in sorted order.
    public static func digest(_ path: String) throws -> (bytes: Int, sha256: String) {
        var sha = SHA256(), total = 0
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        for file in isFolder.boolValue ? try files(in: path) : [path] {
            if isFolder.boolValue { sha.update(Array(file.dropFirst(path.count + 1).utf8) + [0]) }
            guard let handle = FileHandle(forReadingAtPath: file) else { throw Failure.bundle("\(file): cannot be read") }
            defer { try? handle.close() }
            while let block = try handle.read(upToCount: 1 << 20), !block.isEmpty {
                block.withUnsafeBytes { sha.update($0) }
                total += block.count
            }
        }
        return (total, sha.hexDigest())
    }

    private static func files(in folder: String) throws -> [String] {
        let found = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        let whole = found.filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder) && !isFolder.boolValue
        }
        // Sorted path by path, as the Python reference does: "a/b" before "a-b".
        return whole.map { $0.split(separator: "/").map { Array($0.utf8) } }
            .sorted { $0.lexicographicallyPrecedes($1) { $0.lexicographicallyPrecedes($1) } }
            .map { ([folder] + $0.map { String(decoding: $0, as: UTF8.self) }).joined(separator: "/") }
    }

    /// The path of one file, after its size and hash were checked. Raises Failure.bundle.
    @discardableResult
    public static func checkOne(_ bundle: String, _ entry: FileEntry) throws -> String {
        let path = try inside(bundle, entry.path)
        guard FileManager.default.fileExists(atPath: path) else {
            throw Failure.bundle("\(path): missing, though the manifest names it: copy the whole bundle, or export it again")
        }
        let found = try digest(path)
        guard found.bytes == entry.bytes, found.sha256 == entry.sha256 else {
            let promised = "\(entry.bytes) and \(entry.sha256.prefix(12))…"
            let have = "\(found.bytes) bytes, SHA-256 \(found.sha256.prefix(12))…"
            throw Failure.bundle("\(path): \(have); the manifest promises \(promised): it changed since export, export again")
        }
        return path
    }

    /// Checks the files that are not artifacts. Raises Failure.bundle.
    public static func checkFiles(_ bundle: String, _ manifest: Manifest) throws {
        for entry in manifest.files { try checkOne(bundle, entry.file) }
    }

    /// Checks every file that the manifest names.
    public static func check(_ bundle: String, _ manifest: Manifest) throws {
        for entry in manifest.entries { try checkOne(bundle, entry) }
    }

    /// Bounds on the sizes by which a reader allocates memory. Raises Failure.value naming the field.
    private static func within(_ m: Manifest, _ raw: JSON) throws {
        var bounds: [(String, Int, Int, Int)] = [("thresholds.k", m.thresholds.k, 1, 1000), ("dim", m.dim, 1, 65_536)]
        bounds += m.channels.enumerated().map { ("channels.\($0).dim", $1.dim, 1, 65_536) }
        if let p = m.preprocessing { bounds += [("preprocessing.crop", p.crop, 1, 2048), ("preprocessing.resize", p.resize, p.crop, 4096)] }
        if let s = m.language {
            func extra(_ name: String) -> Int { raw["language"]?[name]?.int ?? 0 }
            bounds += [
                ("language.layers", s.layers, 1, 512), ("language.kv_heads", s.kvHeads, 1, 512), ("language.head_dim", s.headDim, 2, 1024),
                ("language.hidden", s.hidden, 1, 65_536), ("language.max_seq", s.maxSeq, 1, 1 << 17), ("language.window", extra("window"), 0, 1 << 20),
                ("language.buckets", extra("buckets"), 0, 1024), ("language.distance", extra("distance"), 0, 1 << 20),
            ]
        }
        for (name, value, least, most) in bounds where !(least <= value && value <= most) {
            throw Failure.value("\(name): \(value) outside \(least)..\(most)")
        }
        let means = raw["preprocessing"]?["channel_mean"]?.array ?? [], deviations = raw["preprocessing"]?["channel_std"]?.array ?? []
        if [means, deviations].contains(where: { $0.count != 0 && $0.count != 3 }) || deviations.contains(where: { ($0.double ?? 0) <= 0 }) {
            throw Failure.value("preprocessing.channel_mean, channel_std: three numbers each are wanted, deviations above zero")
        }
        if m.language != nil && m.prompts["refine"] == nil { throw Failure.value("prompts: refine missing") }
        if !m.channels.isEmpty, let untrained = m.components.first(where: { $0.role.hasPrefix("dpe_") && !$0.trained }) {
            throw Failure.value("channels: \(untrained.role) is not trained: its vectors would find nothing")
        }
        if let bad = m.channels.first(where: { !$0.isKnown }) {
            throw Failure.value("channels: \(Array(bad.name.scalars.prefix(60)).quoted) of queries by \(Array(bad.query.scalars.prefix(20)).quoted)")
        }
        if m.artifacts.contains(where: { ($0.inputs + $0.outputs).contains { $0.shape.isEmpty } }) {
            throw Failure.value("artifacts: a tensor without a shape")
        }
    }
}

/// Builds the typed manifest from JSON whose shape was checked.
extension ManifestReader {
    private static func typed(_ raw: JSON) -> Manifest {
        Manifest(
            schemaVersion: number(raw, "schema_version"), recipe: text(raw, "recipe"), quant: text(raw, "quant"),
            textEncoder: text(raw, "text_encoder"), imageEncoder: text(raw, "image_encoder"), dim: number(raw, "dim"),
            components: list(raw, "components").map {
                Component(role: text($0, "role"), source: text($0, "source"), trained: $0["trained"]?.bool ?? true, macs: number($0, "macs"))
            },
            artifacts: list(raw, "artifacts").map(artifact), preprocessing: raw["preprocessing"].flatMap(preprocessing), language: raw["language"].flatMap(language),
            thresholds: thresholds(raw["thresholds"]!), prompts: texts(raw, "prompts"), files: list(raw, "files").map { DataFile(name: text($0, "name"), file: entry($0)) },
            prefixes: list(raw, "prefixes").map(prefix), ranking: ranking(raw["ranking"]), licences: texts(raw, "licences"),
            randomParts: list(raw, "random_parts").compactMap(\.string),
            channels: list(raw, "channels").map { Channel(name: text($0, "name"), query: text($0, "query"), dim: number($0, "dim")) },
            textPrompts: TextPrompts(query: raw["text_prompts"].map { text($0, "query") } ?? "", memory: raw["text_prompts"].map { text($0, "memory") } ?? ""))
    }

    private static func text(_ raw: JSON, _ name: String) -> String { raw[name]?.string ?? "" }
    private static func number(_ raw: JSON, _ name: String) -> Int { raw[name]?.int ?? 0 }
    private static func real(_ raw: JSON, _ name: String) -> Double { raw[name]?.double ?? 0 }
    private static func list(_ raw: JSON, _ name: String) -> [JSON] { raw[name]?.array ?? [] }
    private static func entry(_ raw: JSON) -> FileEntry { FileEntry(path: text(raw, "path"), bytes: number(raw, "bytes"), sha256: text(raw, "sha256")) }

    private static func tensor(_ raw: JSON) -> TensorSpec {
        TensorSpec(name: text(raw, "name"), shape: list(raw, "shape").map { $0.int.map(TensorSize.fixed) ?? .named($0.string ?? "") }, dtype: text(raw, "dtype"))
    }

    private static func artifact(_ raw: JSON) -> Artifact {
        Artifact(
            role: text(raw, "role"), target: text(raw, "target"), quant: text(raw, "quant"), file: entry(raw), inputs: list(raw, "inputs").map(tensor),
            outputs: list(raw, "outputs").map(tensor), parity: parity(raw["parity"] ?? .null))
    }

    private static func parity(_ raw: JSON) -> Parity {
        Parity(threshold: real(raw, "threshold"), minimum: raw["minimum"]?.double, kernels: text(raw, "kernels"))
    }

    private static func preprocessing(_ raw: JSON) -> Preprocessing? {
        raw.isNull ? nil : Preprocessing(
            resize: number(raw, "resize"), crop: number(raw, "crop"), interpolation: text(raw, "interpolation"), fit: raw["fit"]?.string ?? "cut")
    }

    private static func language(_ raw: JSON) -> LanguageSpec? {
        raw.isNull ? nil : LanguageSpec(
            layers: number(raw, "layers"), kvHeads: number(raw, "kv_heads"), headDim: number(raw, "head_dim"), hidden: number(raw, "hidden"),
            maxSeq: number(raw, "max_seq"), ropeTheta: real(raw, "rope_theta"), eosIds: list(raw, "eos_ids").compactMap(\.int), startId: raw["start_id"]?.int)
    }

    private static func thresholds(_ raw: JSON) -> Thresholds {
        Thresholds(delta: real(raw, "delta"), rho: real(raw, "rho"), k: number(raw, "k"), deltaFrom: text(raw, "delta_from"), paperDelta: raw["paper_delta"]?.double)
    }

    private static func texts(_ raw: JSON, _ name: String) -> [String: String] {
        Dictionary((raw[name]?.members ?? []).map { ($0.name, $0.value.string ?? "") }, uniquingKeysWith: { $1 })
    }

    private static func prefix(_ raw: JSON) -> PrefixFile {
        PrefixFile(
            prompt: text(raw, "prompt"), target: text(raw, "target"), tokens: number(raw, "tokens"), madeFrom: text(raw, "made_from"), file: entry(raw))
    }

    static func ranking(_ raw: JSON?) -> RankingWeights? {
        guard let raw, case .object = raw else { return nil }
        var out = RankingWeights()
        for (name, path) in RankingWeights.names { if let value = raw[name]?.double { out[keyPath: path] = value } }
        return out
    }
}
