import Foundation

/// A value that is opened once and kept until its version changes; a version of nil is never kept.
public struct Kept<Value, Version: Equatable> {
    private var kept: (value: Value, version: Version?)?

    public init() {}

    public mutating func get(_ version: Version?, _ open: () throws -> Value) rethrows -> Value {
        if let kept, version != nil, kept.version == version { return kept.value }
        kept = nil
        let made = try open()
        kept = (made, version)
        return made
    }
}

/// An engine that stays open between searches: the models, with their verified hashes and sessions, until another
/// bundle is copied over theirs or another backend is chosen; the album, with its arrays, until something is
/// committed to it. Searches may come from any thread; they run one at a time.
public final class WarmEngine: @unchecked Sendable {
    private let bundle: @Sendable () -> String, album: String, rules: String, cache: String?
    private let lock = NSLock()
    private let watch: AlbumWatch
    private var models = Kept<Models, String>()
    private var engine = Kept<Engine, String>()

    /// `bundle`: the folder of the models for the next search; `rules`: the path of cue_rules.json; `cache`: the folder for the
    /// results of self-checks.
    public init(bundle: @escaping @Sendable () -> String, album: String, rules: String, cache: String? = nil) {
        (self.bundle, self.album, self.rules, self.cache) = (bundle, album, rules, cache)
        watch = AlbumWatch(album)
    }

    /// As `Engine.ask`; refined by rules where there is no language model for the backend. Raises what opening the
    /// bundle or the album raises, and what the search does.
    public func search(_ request: SearchRequest, _ backend: ModelBackend) throws -> Answer {
        try lock.withLock {
            let bundle = bundle()
            let stamp = "\(backend.described) \(bundle) \(stamp(bundle))"
            let models = try models.get(stamp) { try Models(bundle, backend, cache: cache) }
            let engine = try engine.get(watch.version().map { "\(stamp) \($0)" }) { try Engine(models, try Album(album), rules: rules) }
            var asked = request
            if request.refinedBy == "llm", !models.manifest.hasLanguage || backend.target != "onnx" { asked.refinedBy = "fast" }
            return try engine.ask(asked)
        }
    }

    /// Closes the album, and keeps the models: while a reader is open the writer's log grows, and no copy takes the album's
    /// place.
    public func rest() {
        lock.withLock {
            engine = Kept()
            watch.close()
        }
    }

    /// What tells a bundle from another one at its place.
    private func stamp(_ bundle: String) -> String {
        let found = try? FileManager.default.attributesOfItem(atPath: bundle + "/manifest.json")
        return "\(found?[.modificationDate] ?? "") \(found?[.size] ?? "")"
    }
}
