import Foundation

/// A part of a video: its begin and end, in ms. The id of a photo that is one names it: `beach.mp4#t=12.5,30` (index/clips.py).
public struct ClipPart: Sendable, Equatable {
    private static let mark = "#t="
    public let start: Int, end: Int

    public init(_ start: Int, _ end: Int) { (self.start, self.end) = (start, end) }

    /// The part that an id names; nil if it names none.
    public init?(named id: String) {
        guard let mark = id.range(of: ClipPart.mark, options: .backwards) else { return nil }
        let times = id[mark.upperBound...].split(separator: ",", omittingEmptySubsequences: false).map(ClipPart.ms)
        guard times.count == 2, let start = times[0], let end = times[1], start < end else { return nil }
        self.init(start, end)
    }

    /// An id without the part that it names.
    public static func whole(_ id: String) -> String {
        guard ClipPart(named: id) != nil, let mark = id.range(of: mark, options: .backwards) else { return id }
        return String(id[..<mark.lowerBound])
    }

    /// What the part is in the album, taken when it begins. `photo`: the whole video.
    public func of(_ photo: Photo) -> Photo {
        var out = photo
        out.id = "\(ClipPart.whole(photo.id))\(ClipPart.mark)\(ClipPart.seconds(start)),\(ClipPart.seconds(end))"
        out.takenAt = photo.takenAt.map { $0 + start }
        return out
    }

    /// Of seconds with at most three decimals.
    private static func ms(_ seconds: Substring) -> Int? {
        let parts = seconds.split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = number(parts[0], most: 7), parts.count < 3 else { return nil }
        if parts.count == 1 { return 1_000 * whole }
        return number(parts[1], most: 3).map { 1_000 * whole + [100, 10, 1][parts[1].count - 1] * $0 }
    }

    private static func number(_ digits: Substring, most: Int) -> Int? {
        1...most ~= digits.utf8.count && digits.utf8.allSatisfy { (48...57).contains($0) } ? Int(digits) : nil
    }

    private static func seconds(_ ms: Int) -> String {
        var out = String(format: "%d.%03d", ms / 1_000, ms % 1_000)
        while out.hasSuffix("0") { out.removeLast() }
        if out.hasSuffix(".") { out.removeLast() }
        return out
    }
}
