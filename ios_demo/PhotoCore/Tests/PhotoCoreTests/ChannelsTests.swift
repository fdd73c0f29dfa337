import XCTest

@testable import PhotoCore

/// The channels of trained experts: read, checked, searched and indexed.
final class ChannelsTests: XCTestCase {
    private static let name = "dpe:text:96d09e25"
    private static let proven = Processor.here.kernels(engine: "onnxruntime 9.9")
    private var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "channels-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: "\(folder)/fixtures", withIntermediateDirectories: true)
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: folder) }

    func testAManifestWithoutChannelsReadsAsBefore() throws {
        let plain = try parse([])
        XCTAssertEqual(plain.channels, [])
        XCTAssertNil(plain.ranking)
    }

    func testChannelsAndTheirWeightAreRead() throws {
        let channels = [JSON.Member("channels", .array([channel()]))]
        let read = try parse(channels + [.init("ranking", .object(["dpe": .number(4.5)]))])
        XCTAssertEqual(read.channels, [Channel(name: ChannelsTests.name, query: "text", dim: 2)])
        XCTAssertEqual(read.ranking?["dpe"], 4.5)
        XCTAssertEqual(try parse(channels + [.init("ranking", .object([]))]).ranking?["dpe"], 12)
    }

    func testAChannelOutOfBoundsIsRefused() throws {
        let names = [
            "dpe:Text:96d09e25", "dpe::96d09e25", "dpe:text:96d09e2", "dpe:text:96D09E25", "dpe:text:96d09e25\n", "image", "dpe:aaaaaaaaaaaaaaaaa:96d09e25",
        ]
        let more = JSON.object((channel().members ?? []) + [.init("more", .int(1))])
        for bad in names.map({ channel($0) }) + [channel(query: "image"), channel(dim: 0), channel(dim: 65_537), more] {
            XCTAssertThrowsError(try parse([.init("channels", .array([bad]))]), bad.text) { XCTAssertTrue("\($0)".contains("channels"), "\($0)") }
        }
        XCTAssertThrowsError(try parse([.init("channels", .array([channel(dim: 0)]))])) { error in
            XCTAssertTrue("\(error)".contains("x: field channels.0.dim: 0 outside 1..65536: export the bundle again"), "\(error)")
        }
    }

    func testAPhotosVectorIsTheMeanOfTheRoutedExpertsPrompts() throws {
        let backend = Answers(Answers.all), models = try models(backend)
        // Experts 0 and 1 reach ρ, with 2/3 and 1/3: rows (2, 0) and (4, 6), whose mean is (3, 3).
        let vector = try models.photoVector(ImageCode(embedding: [1], patches: [0, 0, 0, 0], patchShape: [2, 2], labels: []))
        for value in vector { XCTAssertEqual(value, 0.7071, accuracy: 1e-4) }
        XCTAssertEqual(vector.count, 2)
        XCTAssertEqual(backend.ran, ["dpe_router", "dpe_expert_0", "dpe_expert_1"])
        XCTAssertThrowsError(try models.photoVector(ImageCode(embedding: [1], patches: [], patchShape: [0, 0], labels: [])))
    }

    func testAQuerysVectorIsTheHeadsOrElseTheTextTowers() throws {
        let head = Answers(Answers.all)
        XCTAssertEqual(try models(head).queryVector([3, 4]), [0, 1])
        XCTAssertEqual(head.ran, ["dpe_query"])
        XCTAssertEqual(try models(Answers(Answers.all.filter { $0.key != "dpe_query" })).queryVector([3, 4]), [0.6, 0.8])
        XCTAssertEqual(try models(Answers(Answers.all), channel(query: "llm")).askedChannels, [])
    }

    func testTheQueryHeadIsCheckedWithItsStates() throws {
        let models = try models(Answers(Answers.all), kernels: "elsewhere")
        _ = try models.session("dpe_query")
        XCTAssertEqual(models.verdicts["dpe_query"]?.source, .measured)
        XCTAssertEqual(models.verdicts["dpe_query"]?.cosine, 1)
    }

    func testAnAlbumsChannelsAreSearchedOnlyWhereTheQueryHasThem() throws {
        let path = "\(folder)/a.gamer", text: [Float] = [1, 0, 0]
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 3, delta: 0.5))
        let writer = try AlbumWriter(path)
        try writer.add([
            Encoded(Photo(id: "a"), vectors: [("text", [text]), (ChannelsTests.name, [[0, 1]])], mentions: []),
            Encoded(Photo(id: "b"), vectors: [("text", [text])], mentions: []),
        ])
        writer.close()
        let album = try Album(path)
        let plain = QueryVectors(plain: text, aligned: text, projected: []).by(text)
        XCTAssertEqual(try Channels.cosines(album, plain, [0, 1]).map(\.name), ["text"])
        let all = QueryVectors(plain: text, aligned: text, projected: [(ChannelsTests.name, [0, 1]), ("dpe:text:00000000", text)]).by(text)
        XCTAssertEqual(try Channels.searched(album, all).map(\.channel), ["text", ChannelsTests.name])
        let found = try Channels.cosines(album, all, [0, 1])
        XCTAssertEqual(found.map(\.name), ["text", "dpe"])
        XCTAssertEqual(found[1].values[0], 1, accuracy: 0.01)
        XCTAssertEqual(found[1].values[1], 0)
        XCTAssertEqual(try album.photo(0).id, "a")
        album.close()
    }

    func testTitlesAreRankedByAndNoChannelOfThePapersMode() throws {
        let path = "\(folder)/a.gamer"
        try AlbumWriter.create(path, AlbumMeta(textEncoder: "t", imageEncoder: "i", dim: 3, delta: 0.5))
        let writer = try AlbumWriter(path)
        try writer.add([
            Encoded(Photo(id: "a"), vectors: [("title", [[1, 0, 0]])], mentions: []), Encoded(Photo(id: "b"), vectors: [], mentions: []),
        ])
        writer.close()
        let query = QueryVectors(plain: [0, 1, 0], aligned: [1, 0, 0], projected: []), album = try Album(path)
        let found = try Channels.cosines(album, query.ranking(), [0, 1])
        XCTAssertEqual(found.map(\.name), ["title"])
        XCTAssertEqual(found[0].values[0], 1, accuracy: 0.01)
        XCTAssertEqual(found[0].values[1], 0)
        XCTAssertEqual(try Channels.searched(album, query.by(query.plain)).map(\.channel), [])
        album.close()
        XCTAssertEqual(try parse([.init("ranking", .object(["title": .number(2.5)]))]).ranking?["title"], 2.5)
        XCTAssertEqual(try parse([.init("ranking", .object([]))]).ranking?["title"], 2)
    }
}

/// The bundle of the experts.
extension ChannelsTests {
    private func channel(_ name: String = ChannelsTests.name, query: String = "text", dim: Int = 2) -> JSON {
        .object(["name": .string(name), "query": .string(query), "dim": .int(dim)])
    }

    private func parse(_ more: [JSON.Member]) throws -> Manifest { try ManifestReader.parse([UInt8](json(more).text.utf8), where: "x") }

    private func json(_ more: [JSON.Member], components: [JSON] = [], artifacts: [JSON] = [], files: [JSON] = []) -> JSON {
        let plain: [JSON.Member] = [
            .init("schema_version", .int(2)), .init("recipe", .string("r")), .init("quant", .string("int8")), .init("text_encoder", .string("t")),
            .init("image_encoder", .string("i")), .init("dim", .int(3)), .init("components", .array(components)), .init("artifacts", .array(artifacts)),
            .init("preprocessing", .null), .init("language", .null),
            .init("thresholds", .object(["delta": .number(0.5), "rho": .number(0.7), "k": .int(5), "delta_from": .string("")])),
            .init("prompts", .object([])), .init("files", .array(files)), .init("licences", .object([])), .init("tools", .object([])),
        ]
        return .object(plain + more)
    }

    /// A bundle with an artifact for each role of `backend`, proven on `kernels`, and golden arrays of the
    /// query head.
    private func models(_ backend: Answers, _ channel: JSON? = nil, kernels: String = ChannelsTests.proven) throws -> Models {
        let golden = ["fixtures/dpe_query.states.npy": [3, 4, 5, 6], "fixtures/dpe_query.want.npy": [0, 2, 0, 2]] as [String: [Float]]
        try Data("weights".utf8).write(to: URL(fileURLWithPath: "\(folder)/weights.onnx"))
        for (name, values) in golden { try ChannelsTests.npy(values).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
        func entry(_ path: String) throws -> [JSON.Member] {
            let found = try ManifestReader.digest("\(folder)/\(path)")
            return [.init("path", .string(path)), .init("bytes", .int(found.bytes)), .init("sha256", .string(found.sha256))]
        }
        func tensor(_ name: String) -> JSON { .array([.object(["name": .string(name), "shape": .array([.string("n")]), "dtype": .string("float32")])]) }
        let parity = JSON.object([
            "status": .string("passed"), "metric": .string("cosine"), "threshold": .number(0.999), "minimum": .number(1), "kernels": .string(kernels),
        ])
        let roles = backend.answers.keys.sorted()
        let artifacts = try roles.map { role -> JSON in
            let named: [JSON.Member] = [.init("role", .string(role)), .init("target", .string("onnx")), .init("quant", .string("int8"))]
            let specs: [JSON.Member] = [
                .init("inputs", tensor(role == "dpe_query" ? "state" : "patches")), .init("outputs", tensor(backend.answers[role]!.output)),
                .init("parity", parity), .init("export_seconds", .int(1)),
            ]
            return .object(named + (try entry("weights.onnx")) + specs)
        }
        let components = roles.map { role in
            JSON.object([
                "role": .string(role), "architecture": .string("a"), "source": .string("s"), "trained": .bool(true), "parameters": .int(1), "macs": .int(1),
                "macs_per": .string("x"),
            ])
        }
        let files = try golden.keys.sorted().map { JSON.object([.init("name", .string($0))] + (try entry($0))) }
        let whole = json([.init("channels", .array([channel ?? self.channel()]))], components: components, artifacts: artifacts, files: files)
        try Data(whole.text.utf8).write(to: URL(fileURLWithPath: "\(folder)/manifest.json"))
        return try Models(folder, backend)
    }

    private static func npy(_ values: [Float]) -> Data {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n"
        return Data([0x93] + Array("NUMPY".utf8) + [1, 0] + littleEndian(UInt16(header.utf8.count)) + Array(header.utf8))
            + values.withUnsafeBytes { Data($0) }
    }
}

/// A backend that gives the same answers to any input, by role, and records which roles ran.
private final class Answers: ModelBackend, @unchecked Sendable {
    typealias Answer = (output: String, tensor: Tensor)

    static let all: [String: Answer] = [
        "dpe_router": ("weights", .float([0.6, 0.3, 0.1], shape: [1, 3])), "dpe_expert_0": ("prompts", .float([3, 0, 3, 9], shape: [1, 2, 2])),
        "dpe_expert_1": ("prompts", .float([0, 0, 6, 0], shape: [1, 2, 2])), "dpe_expert_2": ("prompts", .float([9, 9, 9, 9], shape: [1, 2, 2])),
        "dpe_query": ("vector", .float([0, 2], shape: [1, 2])),
    ]
    let target = "onnx"
    let described = "a test"
    let engine = "onnxruntime 9.9"
    let units = "fused"
    let answers: [String: Answer]
    fileprivate(set) var ran: [String] = []

    init(_ answers: [String: Answer]) { self.answers = answers }

    func open(_ path: String, _ artifact: Artifact, units: String) throws -> ModelSession { Answering(artifact, self) }

    func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder { throw Failure.runtime("no decoder") }

    private final class Answering: ModelSession {
        let artifact: Artifact
        private let backend: Answers

        init(_ artifact: Artifact, _ backend: Answers) { (self.artifact, self.backend) = (artifact, backend) }

        func run(_ inputs: [String: Tensor]) throws -> [String: Tensor] {
            if let state = inputs["state"] { XCTAssertEqual(state.shape, [1, 2]) }
            backend.ran.append(artifact.role)
            let answer = backend.answers[artifact.role]!
            return [answer.output: answer.tensor]
        }
    }
}
