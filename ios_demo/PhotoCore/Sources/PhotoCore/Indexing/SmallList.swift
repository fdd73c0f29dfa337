import Foundation

/// The photos that were indexed by a thumbnail because their originals are in the cloud; the one that was tried longest ago is
/// first. The file has a key a line; without it these photos stay as they are.
public final class SmallList {
    private let path: String
    private var keys: [String]

    public init(_ path: String) {
        self.path = path
        keys = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// The first `count` of those of which `isKnown` says that they are still in the album.
    func first(_ count: Int, where isKnown: (String) -> Bool) -> [String] { Array(keys.lazy.filter(isKnown).prefix(count)) }

    /// `small`: what was tried and is small still, or for the first time; all else that was `tried` is whole now, or gone.
    func put(tried: [String], small: [String]) {
        if tried.isEmpty && small.isEmpty { return }
        let tried = Set(tried)
        keys = keys.filter { !tried.contains($0) } + small
        try? keys.map { $0 + "\n" }.joined().write(toFile: path, atomically: true, encoding: .utf8)
    }
}
