import Foundation

/// The features of this processor that kernels depend on, and the arithmetic of a quantized graph on it
/// (runtime/backends/processor.py).
///
/// ONNX Runtime and Core ML choose their kernels at run time, so that the same file gives different numbers
/// on different machines. A parity figure therefore names the engine, its version and these features.
public struct Processor: Sendable, Equatable {
    /// "x86_64", "aarch64", or "unknown".
    public let architecture: String
    /// The instruction sets by which int8 and float kernels are chosen, weakest first.
    public let features: [String]

    public init(architecture: String, features: [String]) { (self.architecture, self.features) = (architecture, features) }

    /// Whether the fast product of unsigned and signed bytes may overflow its 16 bits here.
    public var saturates: Bool { architecture == "x86_64" && !features.contains("vnni") }

    /// The processor described by the text of /proc/cpuinfo.
    public init(architecture: String, cpuinfo: String) {
        let key = architecture == "x86_64" ? "flags" : "Features"
        let line = cpuinfo.split(whereSeparator: \.isNewline).first {
            $0.prefix { $0 != ":" }.trimmingCharacters(in: .whitespaces) == key
        }
        let flags = line?.drop { $0 != ":" }.dropFirst().split(whereSeparator: \.isWhitespace).map(String.init) ?? []
        self.init(architecture: architecture, flags: Set(flags))
    }

    /// The processor with these features, by Linux's names.
    private init(architecture: String, flags: Set<String>) {
        let have = (Processor.known[architecture] ?? []).filter { feature in feature.flags.contains { flags.isSuperset(of: $0) } }
        self.init(architecture: architecture, features: have.map(\.name))
    }

    /// Name here → sets of Linux's names; one of the sets is enough. "avx512" means the parts of AVX-512 that
    /// kernels require; "avx_vnni" is VNNI for 256 bits, of processors without AVX-512.
    private static let known: [String: [(name: String, flags: [Set<String>])]] = [
        "x86_64": [
            ("sse4.2", [["sse4_2"]]), ("avx2", [["avx2"]]), ("avx512", [["avx512f", "avx512bw", "avx512dq", "avx512vl"]]),
            ("vnni", [["avx512_vnni"], ["avx_vnni"]]),
        ],
        "aarch64": [("neon", [["asimd"]]), ("dotprod", [["asimddp"]]), ("sve", [["sve"]])],
    ]

    /// The processor of this process; in an emulated process, the emulated one.
    public static let here: Processor = {
        #if arch(x86_64)
            let architecture = "x86_64"
        #elseif arch(arm64)
            let architecture = "aarch64"
        #else
            let architecture = "unknown"
        #endif
        #if canImport(Darwin)
            return Processor(architecture: architecture, flags: Set(apple.filter { isSet($0.sysctl) }.map(\.flag)))
        #else
            let cpuinfo = FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data()
            return Processor(architecture: architecture, cpuinfo: String(decoding: cpuinfo, as: UTF8.self))
        #endif
    }()

    #if canImport(Darwin)
        /// Linux's name → macOS's. An Intel Mac has those of the second row.
        private static let apple: [(flag: String, sysctl: String)] = [
            ("asimd", "hw.optional.arm64"), ("asimddp", "hw.optional.arm.FEAT_DotProd"),
            ("sse4_2", "hw.optional.sse4_2"), ("avx2", "hw.optional.avx2_0"),
        ]

        private static func isSet(_ name: String) -> Bool {
            var value: Int32 = 0
            var size = MemoryLayout<Int32>.size
            return sysctlbyname(name, &value, &size, nil, 0) == 0 && value != 0
        }
    #endif

    /// Architecture and features, such as "x86_64 sse4.2 avx2", by which parity figures are compared.
    public var described: String { ([architecture] + features).joined(separator: " ") }

    /// Engine, version and processor: "onnxruntime 1.29.0, x86_64 sse4.2 avx2 avx512 vnni". A parity figure
    /// is valid for this combination only.
    public func kernels(engine: String) -> String { "\(engine), \(described)" }

    /// The arithmetic that runs a component of this quantization, for display: "int8, VNNI", "int8, precise
    /// AVX2", "int8, dot product of ARM".
    public func arithmetic(_ target: String, _ quant: String, unfused: Bool = false) -> String {
        if target != "onnx" { return "\(quant), Core ML" }
        if ["fp32", "fp16"].contains(quant) { return quant }
        return "\(quant), \(unfused ? "unfused" : integerKernels)"
    }

    private var integerKernels: String {
        if architecture == "aarch64" { return features.contains("dotprod") ? "dot product of ARM" : "NEON" }
        if features.contains("vnni") { return "VNNI" }
        let widest = [("avx512", "AVX-512"), ("avx2", "AVX2"), ("sse4.2", "SSE4.2")].first { features.contains($0.0) }?.1 ?? "SSE2"
        return architecture == "x86_64" ? "precise \(widest)" : architecture
    }
}
