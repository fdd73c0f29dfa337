import Foundation

/// Keys of the photos that the library had marked as favourites when it was last indexed, a line each: a mark that came from
/// elsewhere stays. Without the file no mark is taken off.
public struct MarkList {
    private let path: String

    public init(_ path: String) { self.path = path }

    func keys() -> Set<String> { Set(((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)) }

    func put(_ keys: Set<String>) { try? keys.sorted().map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8) }
}
