import XCTest

@testable import PhotoCore

final class SelfCheckTests: XCTestCase {
    private static let role = "dpe_router"
    private static let (right, wrong, none): ([Float], [Float], [Float]) = ([0.2, 0.3, 0.5], [0.5, 0.3, 0.2], [.nan, .nan, .nan])
    private static let proven = Processor.here.kernels(engine: "onnxruntime 9.9")
    private var root = ""
    private var folder: String { "\(root)/bundle" }
    private var cache: String?
    private var notices: [String] = []

    override func setUpWithError() throws {
        root = NSTemporaryDirectory() + "self-check-\(UUID().uuidString)"
        (cache, notices) = ("\(root)/cache", [])
    }

    override func tearDown() { try? FileManager.default.removeItem(atPath: root) }

    func testKernelsThatTheManifestNamesAreTrustedWithoutARun() throws {
        let kernels = Kernels(SelfCheckTests.wrong)
        try write(kernels: SelfCheckTests.proven)
        XCTAssertEqual(try verdict(kernels), said("fused", 0.9995, .export))
        XCTAssertEqual(kernels.runs, 0)
    }

    func testOtherKernelsRunTheFixturesOnceAndRemember() throws {
        let kernels = Kernels(SelfCheckTests.right)
        try write()
        XCTAssertEqual(try verdict(kernels), said("fused", 1, .measured))
        XCTAssertEqual(try verdict(kernels).source, .remembered)
        XCTAssertEqual(kernels.runs, 1)
        XCTAssertEqual(try notes().count, 1)
        XCTAssertEqual(notices, [])
    }

    func testWithoutAFolderNothingIsRemembered() throws {
        let kernels = Kernels(SelfCheckTests.right)
        try write()
        try Data().write(to: URL(fileURLWithPath: "\(root)/file"))
        // In the second case a file has the name of the folder.
        for place in [nil, "\(root)/file"] {
            cache = place
            for _ in 0..<2 { XCTAssertEqual(try verdict(kernels).source, .measured) }
        }
        XCTAssertEqual(kernels.runs, 4)
    }

    func testADamagedMemoryIsMeasuredAgain() throws {
        let kernels = Kernels(SelfCheckTests.right)
        try write()
        _ = try verdict(kernels)
        let note = try notes()[0]
        let damages = ["", "{", "[]", #"{"units": 5, "cosine": 1.0}"#, #"{"units": "quantum", "cosine": 1.0}"#, #"{"units": "fused", "cosine": 7}"#]
        for (at, damage) in (damages + [#"{"units": "fused", "cosine": NaN}"#]).enumerated() {
            try Data(damage.utf8).write(to: URL(fileURLWithPath: note))
            XCTAssertEqual(try verdict(kernels).source, .measured, damage)
            XCTAssertEqual(kernels.runs, at + 2)
            XCTAssertEqual(try JSON.read(note)["units"]?.string, "fused")
        }
    }

    func testWrongFusedKernelsAreLeftForExactOnesWithOneLine() throws {
        let kernels = Kernels(SelfCheckTests.wrong, unfused: SelfCheckTests.right)
        try write()
        XCTAssertEqual(try verdict(kernels), said("unfused", 1, .measured))
        XCTAssertEqual(kernels.opened, ["fused", "unfused"])
        XCTAssertEqual(notices.count, 1)
        let wanted = "wrong on this processor (worst cosine 0.7632 fused, 0.999 is wanted): running it unfused, slower"
        XCTAssertTrue(notices[0].hasSuffix(wanted), notices[0])
        let models = try models(kernels)
        _ = try models.session(SelfCheckTests.role)
        XCTAssertEqual(models.verdicts[SelfCheckTests.role]?.source, .remembered)
        XCTAssertEqual(models.described(), "a test; int8, unfused; in memory, MB: dpe_router 0")
        XCTAssertEqual(kernels.opened.last, "unfused")
        XCTAssertEqual(notices.count, 1)
    }

    func testWhereBothFormsAreWrongTheFigureIsSaid() throws {
        for (bad, figure) in [(SelfCheckTests.wrong, "0.7632"), (SelfCheckTests.none, "nan")] {
            try write()
            XCTAssertThrowsError(try verdict(Kernels(bad))) { error in
                let wanted = "worst cosine \(figure) fused, \(figure) unfused on \(SelfCheckTests.proven), below 0.999: export with --quant none"
                XCTAssertTrue("\(error)".contains(wanted), "\(error)")
            }
            XCTAssertEqual(try notes(), [])
        }
        XCTAssertEqual(notices, [])
    }

    func testAFormThatWasAskedForIsCheckedAndHasNoOtherBehindIt() throws {
        let kernels = Kernels(SelfCheckTests.right, units: "unfused")
        try write(kernels: SelfCheckTests.proven)
        XCTAssertEqual(try verdict(kernels).source, .measured)
        cache = nil
        XCTAssertThrowsError(try verdict(Kernels(SelfCheckTests.wrong, units: "unfused")))
        XCTAssertEqual(kernels.opened, ["unfused"])
    }

    func testAGoldenFileThatWasChangedFailsItsHash() throws {
        try write()
        let models = try models(Kernels(SelfCheckTests.right))
        try SelfCheckTests.npy([1, 3], [1, 1, 1]).write(to: URL(fileURLWithPath: "\(folder)/fixtures/dpe_router.want.npy"))
        XCTAssertThrowsError(try models.session(SelfCheckTests.role)) { error in
            XCTAssertTrue("\(error)".contains("dpe_router.want.npy: ") && "\(error)".hasSuffix("it changed since export, export again"), "\(error)")
        }
    }

    func testFixturesOfAnotherShapeAreNamed() throws {
        try write()
        for answer in [[1, 2], [], [0.2, 0.3, 0.5, 0.2, 0.3, 0.5]] as [[Float]] {
            XCTAssertThrowsError(try verdict(Kernels(answer))) { XCTAssertTrue("\($0)".contains("golden fixtures do not fit"), "\($0)") }
        }
    }

    func testABundleOfVersion1IsUsedWithANotice() throws {
        let kernels = Kernels(SelfCheckTests.wrong)
        try write(version: 1)
        XCTAssertEqual(try verdict(kernels), said("fused", nil, .noFixtures))
        XCTAssertEqual(notices.map { $0.hasPrefix("\(folder): of version 1, without fixtures") }, [true])
        XCTAssertEqual(kernels.runs, 0)
    }

    func testAnotherVersionIsRefused() throws {
        try write(version: 99)
        XCTAssertThrowsError(try models(Kernels([]))) { error in
            XCTAssertTrue("\(error)".hasSuffix("schema version 99, this program reads 1 to 3: update it, or export again"), "\(error)")
        }
    }

    func testGoldenArraysAreAComponentsOwnAndItsFamilys() throws {
        try write()
        let golden = try models(Kernels([])).manifest.golden(SelfCheckTests.role)
        XCTAssertEqual(golden.mapValues(\.name), ["patches": "fixtures/dpe.patches.npy", "want": "fixtures/dpe_router.want.npy"])
    }

    func testArraysOfIntegersAndBytesAreRead() throws {
        XCTAssertEqual(try NumpyFile([UInt8](SelfCheckTests.npy([2], [Int64(-3), 1 << 40], "<i8"))).integers, [-3, 1 << 40])
        let pixels = try NumpyFile([UInt8](SelfCheckTests.npy([1, 2], [UInt8(7), 255], "|u1")))
        XCTAssertEqual(pixels.bytes, [7, 255])
        XCTAssertEqual(pixels.values, [])
    }

    func testAProcessorIsReadFromItsFlags() {
        let server = "processor\t: 0\nflags\t\t: fpu sse4_2 avx2 avx512f avx512bw avx512dq avx512vl avx512_vnni\n\nflags\t: sse4_2\n"
        XCTAssertEqual(Processor(architecture: "x86_64", cpuinfo: server).described, "x86_64 sse4.2 avx2 avx512 vnni")
        XCTAssertEqual(Processor(architecture: "x86_64", cpuinfo: "flags : sse4_2 avx2 avx_vnni avx512f").described, "x86_64 sse4.2 avx2 vnni")
        XCTAssertEqual(Processor(architecture: "aarch64", cpuinfo: "Features\t: fp asimd asimddp sve").described, "aarch64 neon dotprod sve")
        XCTAssertEqual(Processor(architecture: "aarch64", cpuinfo: "").described, "aarch64")
        let old = Processor(architecture: "x86_64", features: ["sse4.2"])
        XCTAssertEqual(old.kernels(engine: "onnxruntime 1.29.0"), "onnxruntime 1.29.0, x86_64 sse4.2")
        XCTAssertTrue(old.saturates)
        XCTAssertTrue(Processor.here.described.hasPrefix(Processor.here.architecture) && !Processor.here.features.isEmpty)
    }

    func testTheArithmeticIsNamedByWhatTheProcessorHas() {
        let cases: [(String, [String], String)] = [
            ("x86_64", ["sse4.2", "avx2", "avx512", "vnni"], "int8, VNNI"), ("x86_64", ["sse4.2", "avx2", "vnni"], "int8, VNNI"),
            ("x86_64", ["sse4.2", "avx2", "avx512"], "int8, precise AVX-512"), ("x86_64", ["sse4.2", "avx2"], "int8, precise AVX2"),
            ("x86_64", ["sse4.2"], "int8, precise SSE4.2"), ("x86_64", [], "int8, precise SSE2"),
            ("aarch64", ["neon", "dotprod"], "int8, dot product of ARM"), ("aarch64", ["neon"], "int8, NEON"), ("riscv64", [], "int8, riscv64"),
        ]
        for (architecture, features, says) in cases {
            let one = Processor(architecture: architecture, features: features)
            XCTAssertEqual(one.arithmetic("onnx", "int8"), says)
            XCTAssertEqual(one.arithmetic("onnx", "int8", unfused: true), "int8, unfused")
            XCTAssertEqual(one.arithmetic("onnx", "fp32"), "fp32")
            XCTAssertEqual(one.arithmetic("coreml", "int8"), "int8, Core ML")
        }
    }
}

/// The bundle of one component, and the calls that a check makes.
extension SelfCheckTests {
    private func models(_ kernels: Kernels) throws -> Models { try Models(folder, kernels, cache: cache) { self.notices.append($0) } }

    private func verdict(_ kernels: Kernels) throws -> Verdict {
        let models = try models(kernels)
        _ = try models.session(SelfCheckTests.role)
        return try XCTUnwrap(models.verdicts[SelfCheckTests.role])
    }

    private func said(_ units: String, _ cosine: Double?, _ source: Verdict.Source) -> Verdict {
        Verdict(role: SelfCheckTests.role, units: units, cosine: cosine, threshold: 0.999, source: source)
    }

    private func notes() throws -> [String] {
        let place = "\(root)/cache/selfcheck"
        guard FileManager.default.fileExists(atPath: place) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: place).map { "\(place)/\($0)" }
    }

    /// `kernels`: those on which the component's parity was measured.
    private func write(kernels: String = "elsewhere", version: Int = 2) throws {
        try? FileManager.default.removeItem(atPath: root)
        try FileManager.default.createDirectory(atPath: "\(folder)/fixtures", withIntermediateDirectories: true)
        try Data("weights".utf8).write(to: URL(fileURLWithPath: "\(folder)/router.onnx"))
        let golden = [
            ("fixtures/dpe.patches.npy", SelfCheckTests.npy([1, 4, 3], Kernels.patches)),
            ("fixtures/dpe_router.want.npy", SelfCheckTests.npy([1, 3], SelfCheckTests.right)),
        ]
        for (name, data) in golden { try data.write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
        func entry(_ path: String) throws -> [JSON.Member] {
            let found = try ManifestReader.digest("\(folder)/\(path)")
            return [.init("path", .string(path)), .init("bytes", .int(found.bytes)), .init("sha256", .string(found.sha256))]
        }
        func tensor(_ name: String, _ shape: [Int]) -> JSON {
            .array([.object(["name": .string(name), "shape": .array(shape.map(JSON.int)), "dtype": .string("float32")])])
        }
        let parity: JSON = .object([
            "status": .string("passed"), "metric": .string("cosine"), "threshold": .number(0.999), "minimum": .number(0.9995),
            "kernels": .string(kernels),
        ])
        let artifact = [.init("role", .string(SelfCheckTests.role)), .init("target", .string("onnx")), .init("quant", .string("int8"))]
            + (try entry("router.onnx")) + [
                .init("inputs", tensor("patches", [1, 4, 3])), .init("outputs", tensor("weights", [1, 3])), .init("parity", parity),
                .init("export_seconds", .int(1)),
            ] as [JSON.Member]
        let files = try version == 1 ? [] : golden.map { name, _ in JSON.object([.init("name", .string(name))] + (try entry(name))) }
        let manifest: JSON = .object([
            "schema_version": .int(version), "recipe": .string("r"), "quant": .string("int8"), "text_encoder": .string("t"),
            "image_encoder": .string("i"), "dim": .int(3), "components": .array([]), "artifacts": .array([.object(artifact)]),
            "preprocessing": .null, "language": .null,
            "thresholds": .object(["delta": .number(0.5), "rho": .number(0.7), "k": .int(5), "delta_from": .string("")]),
            "prompts": .object([]), "files": .array(files), "licences": .object([]), "tools": .object([]),
        ])
        try Data(manifest.text.utf8).write(to: URL(fileURLWithPath: "\(folder)/manifest.json"))
    }

    private static func npy<T>(_ shape: [Int], _ values: [T], _ type: String = "<f4") -> Data {
        let sides = shape.map { "\($0)," }.joined(separator: " "), header = "{'descr': '\(type)', 'fortran_order': False, 'shape': (\(sides)), }\n"
        return Data([0x93] + Array("NUMPY".utf8) + [1, 0] + littleEndian(UInt16(header.utf8.count)) + Array(header.utf8))
            + values.withUnsafeBytes { Data($0) }
    }
}

/// A backend whose fused form returns one output and whose unfused form another. It counts the calls.
private final class Kernels: ModelBackend, @unchecked Sendable {
    static let patches = (0..<12).map(Float.init)
    let target = "onnx"
    let described = "a test"
    let engine = "onnxruntime 9.9"
    let units: String
    private let answers: [String: [Float]]
    private(set) var opened: [String] = []
    fileprivate(set) var runs = 0

    init(_ fused: [Float], unfused: [Float]? = nil, units: String = "fused") {
        (answers, self.units) = (["fused": fused, "unfused": unfused ?? fused], units)
    }

    func open(_ path: String, _ artifact: Artifact, units: String) throws -> ModelSession {
        opened.append(units)
        return Answering(artifact, self, answers[units] ?? [])
    }

    func decoder(_ session: ModelSession, _ language: LanguageSpec) throws -> Decoder { throw Failure.runtime("no decoder") }

    private final class Answering: ModelSession {
        let artifact: Artifact
        private let kernels: Kernels
        private let answer: [Float]

        init(_ artifact: Artifact, _ kernels: Kernels, _ answer: [Float]) { (self.artifact, self.kernels, self.answer) = (artifact, kernels, answer) }

        func run(_ inputs: [String: Tensor]) throws -> [String: Tensor] {
            XCTAssertEqual(inputs["patches"]?.floats, Kernels.patches)
            XCTAssertEqual(inputs["patches"]?.shape, [1, 4, 3])
            kernels.runs += 1
            return ["weights": .float(answer, shape: [1, answer.count])]
        }
    }
}
