/// A frame of a video: upright, `at` so many ms from the video's begin.
public struct Frame: Sendable {
    public let at: Int
    public let pixels: Pixels

    public init(_ at: Int, _ pixels: Pixels) { (self.at, self.pixels) = (at, pixels) }
}

/// A video as the platform decodes it. Times are ms from its begin.
public protocol Footage {
    var length: Int { get }

    /// The frame nearest to a time; nil for one that cannot be decoded. `side`: pixels that its shorter side keeps, if it has
    /// them. `isRough`: another frame near it will do, which costs less to decode.
    func frame(_ at: Int, side: Int, isRough: Bool) -> Frame?
}

/// What the image encoder is shown of an item of the album: a photo's picture, or a video's frames at the times of `clip`.
/// `isSmall`: a thumbnail, since the original is in the cloud.
public struct Look: Sendable {
    public let frames: [Pixels]
    public let clip: Clip?
    public let isSmall: Bool

    public init(_ picture: Pixels, isSmall: Bool = false) { (frames, clip, self.isSmall) = ([picture], nil, isSmall) }

    init(_ frames: [Pixels], _ clip: Clip) { (self.frames, self.clip, isSmall) = (frames, clip, false) }

    /// The frame that stands for the others.
    var middle: Int { frames.count / 2 }
}

/// Which frames of a video are looked at, and where a long one is cut (index/ingest/clips/clip_frames.py). Each call takes some two
/// minutes at most, and decodes no more than it must after twenty seconds.
public enum ClipFrames {
    private static let hurry = Duration.seconds(20), limit = Duration.seconds(120)
    private static let most = 15, side = 320 // frames of an item; pixels
    private static let long = 30_000, shortest = 5_000, mostParts = 12 // ms; a longer video is cut, into parts of at least `shortest`
    private static let steps = 240, leastStep = 1_000 // frames that are compared to cut a video; ms between them
    private static let roughSide = 64
    private static let changed = 0.5 // half the pixels have other colours: a cut
    private static let bins = 8 // of each colour, in a histogram

    /// The frames of a part of a video, or of the whole; nil where none can be decoded, or `isStopped` ended it.
    static func look(_ footage: Footage, _ part: ClipPart?, isStopped: () -> Bool) -> Look? {
        let length = min(footage.length, Clip.longest), start = part?.start ?? 0, end = min(part?.end ?? length, length)
        if start >= end { return nil } // the video is another one by now
        guard let found = frames(footage, spread(start, end, most), side, isRough: false, isStopped) else { return nil }
        let frames = found.filter { $0.at <= length }
        return frames.isEmpty ? nil : Look(frames.map(\.pixels), Clip(start: start, end: end, length: length, frames: frames.map(\.at)))
    }

    /// When the frame is that stands for a part of a video, or for the whole.
    public static func middle(_ footage: Footage, _ part: ClipPart?) -> Int {
        spread(part?.start ?? 0, part?.end ?? min(footage.length, Clip.longest), 1)[0]
    }

    /// The parts into which a long video is cut where its picture changes; none for one that is not cut. Nil where most frames cannot
    /// be decoded, or `isStopped` ended it.
    static func parts(_ footage: Footage, isStopped: () -> Bool) -> [ClipPart]? {
        let length = min(footage.length, Clip.longest)
        if length <= long { return [] }
        let times = Array(stride(from: 0, to: length, by: max(leastStep, length / steps)))
        guard let found = frames(footage, times, roughSide, isRough: true, isStopped) else { return nil }
        let frames = found.map { (at: $0.at, shares: shares($0.pixels)) }
        let changes = zip(frames, frames.dropFirst()).map { (at: $1.at, change: change($0.shares, $1.shares)) }
        let bounds = [0] + cuts(changes, length) + [length]
        return bounds.count == 2 ? [] : zip(bounds, bounds.dropFirst()).map { ClipPart($0, $1) }
    }

    /// Frames at or near the times, each later than the one before; nil where most of them cannot be decoded.
    private static func frames(_ footage: Footage, _ times: [Int], _ side: Int, isRough: Bool, _ isStopped: () -> Bool) -> [Frame]? {
        let begun = ContinuousClock.now
        var frames: [Frame] = [], unread = 0
        for at in times {
            let spent = begun.duration(to: .now)
            if isStopped() || spent > limit { return nil }
            if let frame = footage.frame(at, side: side, isRough: isRough || spent > hurry) {
                if frame.at > frames.last?.at ?? -1 { frames.append(frame) }
            } else {
                unread += 1
            }
        }
        return 2 * unread <= times.count ? frames : nil
    }

    /// Where to cut, ascending: at the greatest of the changes, with at least `shortest` ms between all.
    public static func cuts(_ changes: [(at: Int, change: Double)], _ whole: Int) -> [Int] {
        var chosen: [Int] = []
        for (at, change) in changes.sorted(by: { ($1.change, $0.at) < ($0.change, $1.at) }) {
            if change < changed || chosen.count == mostParts - 1 { break }
            if (chosen + [0, whole]).allSatisfy({ abs(at - $0) >= shortest }) { chosen.append(at) }
        }
        return chosen.sorted()
    }

    /// Times evenly within a span, in ms: one a second, at least three, at most `most`; one is the middle.
    public static func spread(_ start: Int, _ end: Int, _ most: Int) -> [Int] {
        let count = min(most, max(3, (end - start + 999) / 1_000))
        return (0..<count).map { start + (2 * $0 + 1) * (end - start) / (2 * count) }
    }

    /// The share of a picture's pixels that are of each colour.
    public static func shares(_ pixels: Pixels) -> [Double] {
        var counts = [Double](repeating: 0, count: bins * bins * bins)
        let width = 256 / bins
        for at in stride(from: 0, to: pixels.bytes.count, by: 3) {
            counts[(0..<3).reduce(0) { $0 * bins + Int(pixels.bytes[at + $1]) / width }] += 1
        }
        let all = Double(pixels.width * pixels.height)
        return counts.map { $0 / all }
    }

    /// How many of a picture's pixels have another colour than the one's before, 0..1.
    public static func change(_ before: [Double], _ after: [Double]) -> Double { zip(before, after).reduce(0) { $0 + abs($1.1 - $1.0) } / 2 }
}
