import Foundation
import PhotoCore
import PhotoORT

// photo-runner BUNDLE ALBUM QUERY --now DATE [-k N] [--mode M] [--refine R] [--rules FILE]
//   prints the hits and the trace as JSON, in the form of `gamer search --json`.
// photo-runner check BUNDLE
//   opens every component and prints the worst cosine of each one's golden inputs.
// photo-runner bench BUNDLE ALBUM --now DATE [-n RUNS]
//   prints a measurement for `gamer bench device --import`.
// photo-runner index BUNDLE ALBUM PHOTO.rgb WIDTH HEIGHT ID --memory TEXT
//   adds a photo of raw RGB bytes.
do {
    print(try Command(Array(CommandLine.arguments.dropFirst())).run())
} catch {
    FileHandle.standardError.write(Data("photo-runner: \(error)\n".utf8))
    exit(1)
}
