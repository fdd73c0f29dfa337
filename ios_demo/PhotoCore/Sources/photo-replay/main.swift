import Conformance
import Foundation

// photo-replay DIR...: replays every fixture in the folders and prints one line per case; the exit status is
// 1 if any failed or was skipped.
var bad = 0
for folder in CommandLine.arguments.dropFirst() {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.filter { $0.hasSuffix(".json") }.sorted() ?? []
    if names.isEmpty {
        FileHandle.standardError.write(Data("photo-replay: no fixtures in \(folder)\n".utf8))
        bad += 1
    }
    for name in names {
        do {
            let suite = try Suite("\(folder)/\(name)")
            Replay.run(suite) { one, outcome, why in
                if outcome != .pass { bad += 1 }
                let line = why.split(whereSeparator: \.isNewline).joined(separator: " ").replacingOccurrences(of: "\t", with: " ")
                print("\(suite.name)\t\(one.id)\t\(outcome.rawValue)\t\(line)")
            }
        } catch {
            bad += 1
            print("\(name)\t-\tfail\t\(error)")
        }
    }
}
exit(bad == 0 ? 0 : 1)
