// swift-tools-version: 6.0
// The core of the iOS app, without Apple's frameworks, so that it can be built and tested on Linux too.
// PhotoORT needs ONNX Runtime's C header and library (swift_env.sh passes their paths); PhotoCore needs neither.
import PackageDescription

let package = Package(
    name: "PhotoCore",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .library(name: "PhotoCore", targets: ["PhotoCore"]),
        .library(name: "PhotoORT", targets: ["PhotoORT"]),
    ],
    targets: [
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "COnnxRuntime"),
        .target(name: "PhotoCore", dependencies: ["CSQLite"]),
        .target(name: "PhotoORT", dependencies: ["PhotoCore", "COnnxRuntime"]),
        .target(name: "Conformance", dependencies: ["PhotoCore", "PhotoORT"]),
        .executableTarget(name: "photo-replay", dependencies: ["Conformance"]),
        .executableTarget(name: "photo-runner", dependencies: ["PhotoCore", "PhotoORT"]),
        .executableTarget(name: "rank-example", dependencies: ["PhotoCore", "PhotoORT"]),  // examples/swift
        .testTarget(name: "PhotoCoreTests", dependencies: ["PhotoCore"]),
    ]
)
