/// The id of a PhotoKit asset's photo in the album. It includes the time of modification, because a picture may be
/// edited in place: then it is another photo, and the earlier one leaves the album.
public struct AssetKey: Equatable, Sendable {
    private static let scheme = "photos:"
    /// PhotoKit's local identifier.
    public let identifier: String
    /// Seconds since 1970 UTC.
    public let modified: Int

    public init(_ identifier: String, modified: Int) { (self.identifier, self.modified) = (identifier, modified) }

    /// Nil for an id of something else; of a part of a video, the whole one's.
    public init?(_ id: String) {
        let id = ClipPart.whole(id)
        guard id.hasPrefix(AssetKey.scheme), let colon = id.lastIndex(of: ":"), let modified = Int(id[id.index(after: colon)...]) else { return nil }
        let first = id.index(id.startIndex, offsetBy: AssetKey.scheme.count)
        guard first < colon else { return nil }
        self.init(String(id[first..<colon]), modified: modified)
    }

    public var id: String { "\(AssetKey.scheme)\(identifier):\(modified)" }
}
