import PhotoCore

/// Replays a case of one suite; the files in the suite's `shared` part are already open.
public typealias Replayed = (Case) throws -> JSON

/// Replays fixtures with this port.
public enum Replay {
    public enum Outcome: String { case pass, fail, skip }

    /// The function that replays a suite's cases, with the shared files opened. nil for a suite that this
    /// port does not know; its cases are skipped, which counts as failed.
    private static func ready(_ suite: Suite) throws -> Replayed? {
        switch suite.name {
        case "wordpiece", "bpe_bytelevel", "bpe_clip", "unigram", "unigram_bytes": return try Tokens.ready(suite)
        case "resize": return try PixelSuites.resize(suite)
        case "routing": return try PixelSuites.routing(suite)
        case "clips": return PixelSuites.clips
        case "printed": return try PrintedSuites.printed(suite)
        case "lines": return try PrintedSuites.lines(suite)
        case "faces": return try PrintedSuites.faces(suite)
        case "kdtree": return try TreeSuite.ready(suite)
        case "graph": return try GraphSuites.graph(suite)
        case "entities": return try GraphSuites.entities(suite)
        case "vectors": return try GraphSuites.vectors(suite)
        case "hnsw": return try GraphSuites.hnsw(suite)
        case "album": return try AlbumSuite.ready(suite)
        case "lexical": return try LexicalSuite.ready(suite)
        case "ranking": return try RankingSuite.ready(suite)
        case "manifest": return try BundleSuites.manifest(suite)
        case "prefix": return try BundleSuites.prefix(suite)
        case "cues": return try CueSuite.ready(suite)
        case "questions": return try CueSuite.questions(suite)
        case "glosses": return try GlossSuite.ready(suite)
        case "errors": return try ModelSuites.errors(suite)
        case "embed_text": return try ModelSuites.text(suite)
        case "embed_image": return try ModelSuites.image(suite)
        case "dpe": return try ModelSuites.dpe(suite)
        case "llm": return try ModelSuites.llm(suite)
        case "search", "search_glossed", "search_found": return try ModelSuites.search(suite)
        case "asked": return try ModelSuites.asked(suite)
        default: return nil
        }
    }

    /// Replays every case. `report`: called with the outcome and, unless the case passed, the reason.
    public static func run(_ suite: Suite, _ report: (Case, Outcome, String) -> Void) {
        let replay: Replayed
        do {
            guard let found = try ready(suite) else { return suite.cases.forEach { report($0, .skip, "this port does not know the suite") } }
            replay = found
        } catch {
            return suite.cases.forEach { report($0, .fail, "\(error)") }
        }
        for one in suite.cases {
            let (outcome, why) = verdict(one, suite.tolerance, replay)
            report(one, outcome, why)
        }
    }

    private static func verdict(_ one: Case, _ tolerance: Double, _ replay: Replayed) -> (Outcome, String) {
        do {
            let got = try replay(one)
            if let wanted = one.error { return (.fail, "no error, though one with \"\(wanted)\" is wanted: \(got.text.prefix(160))") }
            guard let out = one.out else { return (.fail, "the case has neither out nor error") }
            return Comparison.difference(got, out, tolerance).map { (.fail, $0) } ?? (.pass, "")
        } catch {
            let said = "\(error)"
            guard let wanted = one.error else { return (.fail, said) }
            return said.contains(wanted) ? (.pass, "") : (.fail, "the error \"\(said)\" does not say \"\(wanted)\"")
        }
    }
}
