// swift-tools-version: 6.0
// The core of the iOS app, without Apple's frameworks, so that it can be built and tested on Linux too.
// PhotoCore needs nothing but SQLite. PhotoORT needs ONNX Runtime: on Linux, and wherever GAMER_ORT names a folder of it, a C header
// and a library whose paths swift_env.sh passes; else onnxruntime.xcframework, which ios_demo/xcframework.sh fetches.
import PackageDescription

#if os(Linux)
    let isInstalled = true
#else
    let isInstalled = Context.environment["GAMER_ORT"] != nil
#endif

let runtime: [Target] =
    isInstalled
    ? [.systemLibrary(name: "COnnxRuntime")]
    : [
        .binaryTarget(name: "onnxruntime", path: "onnxruntime.xcframework"),
        // The library in the framework is a static one: what it needs itself is linked here.
        .target(
            name: "COnnxRuntime", dependencies: ["onnxruntime"], path: "Sources/COnnxRuntimeApple",
            linkerSettings: [.linkedLibrary("c++"), .linkedFramework("Foundation"), .linkedFramework("CoreML"), .linkedFramework("Accelerate")]),
    ]

let package = Package(
    name: "PhotoCore",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .library(name: "PhotoCore", targets: ["PhotoCore"]),
        .library(name: "PhotoORT", targets: ["PhotoORT"]),
    ],
    targets: runtime + [
        .systemLibrary(name: "CSQLite"),
        .target(name: "PhotoCore", dependencies: ["CSQLite"]),
        .target(name: "PhotoORT", dependencies: ["PhotoCore", "COnnxRuntime"]),
        .target(name: "Conformance", dependencies: ["PhotoCore", "PhotoORT"]),
        .executableTarget(name: "photo-replay", dependencies: ["Conformance"]),
        .executableTarget(name: "photo-runner", dependencies: ["PhotoCore", "PhotoORT"]),
        .executableTarget(name: "rank-example", dependencies: ["PhotoCore", "PhotoORT"]),  // examples/swift
        .testTarget(name: "PhotoCoreTests", dependencies: ["PhotoCore"]),
    ]
)
