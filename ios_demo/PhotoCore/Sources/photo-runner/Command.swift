import Foundation
import PhotoCore
import PhotoORT

/// The runner's arguments: words, and options with one value each.
struct Command {
    private var words: [String] = []
    private var options: [String: String] = [:]

    init(_ arguments: [String]) throws {
        var at = 0
        while at < arguments.count {
            if arguments[at].hasPrefix("-") && arguments[at].count > 1 {
                guard at + 1 < arguments.count else { throw Failure.runtime("\(arguments[at]) needs a value") }
                options[arguments[at]] = arguments[at + 1]
                at += 2
            } else {
                words.append(arguments[at])
                at += 1
            }
        }
    }

    func run() throws -> String {
        switch (words.first, words.count) {
        case ("check", 2): return try checked(words[1])
        case ("bench", 3):
            let engine = try engine(words[1], words[2])
            return try Benchmark(engine.models, engine: engine, now: now(), runs: number("-n", 20)).measure().text
        case ("index", 7): return try index()
        case ("finish", 2): return try finished(words[1])
        case ("searches", 5...): return try searches()
        case (_, 3):
            var request = SearchRequest(words[2], now: try now())
            request.k = try options["-k"].map { _ in try number("-k", 5) }
            (request.mode, request.refinedBy) = (options["--mode"] ?? "fused", options["--refine"] ?? "fast")
            return try engine(words[0], words[1]).search(request).json.text
        default: throw Failure.runtime("give BUNDLE ALBUM QUERY, or check BUNDLE, or finish ALBUM, or bench BUNDLE ALBUM, or index BUNDLE ALBUM FILE WIDTH HEIGHT ID")
        }
    }

    private func checked(_ bundle: String) throws -> String {
        let models = try Models(bundle, OrtBackend())
        let roles = models.manifest.artifacts.filter { $0.target == models.backend.target }.map(\.role)
        for role in roles { _ = try models.session(role) }
        let found = roles.compactMap { role in models.verdicts[role] }.map { verdict in
            JSON.Member(verdict.role, .object([.init("cosine", verdict.cosine.map(JSON.number) ?? .null), .init("source", .string(verdict.source.rawValue))]))
        }
        return JSON.object(found).text
    }

    /// Builds the segments that are due, for an album whose entities have their vectors.
    private func finished(_ album: String) throws -> String {
        let writer = try AlbumWriter(album), begun = ContinuousClock.now
        defer { writer.close() }
        try writer.finish { names in throw Failure.runtime("no encoder for \(names[0])") }
        let (seconds, attoseconds) = (ContinuousClock.now - begun).components
        return JSON.object([.init("ms", .number(Double(seconds) * 1e3 + Double(attoseconds) / 1e15))]).text
    }

    /// What tools/phone_search.py measures of searches: the first one, which opens the bundle and the album, and ROUNDS of all queries
    /// after one that does not count; milliseconds of the searching thread's processor but for `first_ms`.
    private func searches() throws -> String {
        func cpu() -> UInt64 {
            var spent = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent)
            return UInt64(spent.tv_sec) * 1_000_000_000 + UInt64(spent.tv_nsec)
        }
        let queries = words.dropFirst(4), now = try now(), begin = DispatchTime.now().uptimeNanoseconds, beginCPU = cpu()
        let rules = ProcessInfo.processInfo.environment["PHOTO_RULES"] ?? "runtime/cues/cue_rules.json"
        let engine = try Engine(try Models(words[1], OrtBackend(), cache: NSTemporaryDirectory()), try Album(words[2]), rules: rules)
        engine.clock = cpu
        var ids: [JSON] = []
        func spent(_ query: String) throws -> JSON {
            var request = SearchRequest(query, now: now)
            request.k = try number("-k", 60)
            let begin = cpu(), answer = try engine.search(request), all = Double(cpu() - begin) / 1e6
            ids.append(.array(answer.hits.map { .string($0.photo.id) }))
            return .object((answer.trace.milliseconds.map { ($0.layer, $0.spent) } + [("all", all)]).map { JSON.Member($0.0, .number($0.1)) })
        }
        _ = try spent(queries.first!)
        let first = Double(DispatchTime.now().uptimeNanoseconds - begin) / 1e6, firstCPU = Double(cpu() - beginCPU) / 1e6
        ids = []
        for query in queries { _ = try spent(query) }
        let found = try (0..<(Int(words[3]) ?? 1)).flatMap { _ in try queries.map(spent) }
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""  // Linux alone has it
        let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM") }.flatMap { Int($0.filter(\.isNumber)) } ?? 0
        return JSON.object([
            .init("first_ms", .number(first)), .init("first_cpu_ms", .number(firstCPU)), .init("peak_mb", .int(peak / 1024)),
            .init("ids", .array(Array(ids.prefix(queries.count)))), .init("searches", .array(found)),
        ]).text
    }

    private func number(_ name: String, _ otherwise: Int) throws -> Int {
        guard let text = options[name] else { return otherwise }
        guard let value = Int(text) else { throw Failure.runtime("\(name) \(text): a number is wanted") }
        return value
    }

    private func now() throws -> WallClock {
        if let text = options["--now"] {
            guard let found = WallClock(text) else { throw Failure.runtime("--now \(text): a date such as 2026-11-21 is wanted") }
            return found
        }
        let parts = Calendar(identifier: .gregorian).dateComponents([.year, .month, .day, .hour, .minute, .second], from: Date())
        return WallClock(
            year: parts.year ?? 1970, month: parts.month ?? 1, day: parts.day ?? 1, hour: parts.hour ?? 0, minute: parts.minute ?? 0, second: parts.second ?? 0)
    }

    private func engine(_ bundle: String, _ album: String) throws -> Engine {
        let rules = options["--rules"] ?? ProcessInfo.processInfo.environment["PHOTO_RULES"] ?? "runtime/cues/cue_rules.json"
        return try Engine(try Models(bundle, OrtBackend()), try Album(album), rules: rules)
    }

    private func index() throws -> String {
        guard let width = Int(words[4]), let height = Int(words[5]), let bytes = FileManager.default.contents(atPath: words[3]) else {
            throw Failure.runtime("index: FILE of WIDTH x HEIGHT x 3 bytes is wanted")
        }
        let models = try Models(words[1], OrtBackend()), encoder = PhotoEncoder(models)
        var photo = Photo(id: words[6])
        photo.memories = options["--memory"].map { [Memory("note", $0)] } ?? []
        if let place = options["--at"]?.split(separator: ",").compactMap({ Double($0) }), place.count == 2 { (photo.lat, photo.lon) = (place[0], place[1]) }
        photo.takenAt = try options["--taken"].map { _ in try number("--taken", 0) }
        let m = models.manifest
        if !FileManager.default.fileExists(atPath: words[2]) {
            let meta = AlbumMeta(textEncoder: m.textEncoder, imageEncoder: m.imageEncoder, dim: m.dim, delta: m.thresholds.delta)
            try AlbumWriter.create(words[2], meta)
        }
        let writer = try AlbumWriter(words[2])
        let made = try encoder.encode(photo, Look(Pixels(bytes: [UInt8](bytes), width: width, height: height)))
        try writer.add(made.map { [$0] } ?? [])
        try writer.finish(encoder.names)
        return "\(words[2]): \(photo.id) added"
    }
}
