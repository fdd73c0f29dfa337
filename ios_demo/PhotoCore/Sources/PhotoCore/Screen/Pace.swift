/// How long an indexing will still take, by the photos that it was seen to finish in the last `window` seconds. Looked at
/// again and again, so that the estimate follows a phone that becomes slower. Says nothing before `least` photos were seen.
public struct Pace: Sendable, Equatable {
    private static let window = 300.0
    private static let least = 16
    private var seen: [Mark] = []

    private struct Mark: Sendable, Equatable {
        let time: Double
        let done: Int
    }

    public init() {}

    /// `now`: seconds of a clock that does not jump. Returns the seconds left, or nil if they are not known yet.
    public mutating func left(_ now: Double, done: Int, total: Int) -> Int? {
        let isNew = seen.last?.done != done
        if let last = seen.last, done < last.done || isNew && now - last.time > Pace.window { seen = [] }  // another run, or it paused
        if isNew { seen.append(Mark(time: now, done: done)) }
        while seen.count > 2, now - seen[0].time > Pace.window { seen.removeFirst() }
        guard let first = seen.first, let last = seen.last, last.done - first.done >= Pace.least, last.time > first.time else { return nil }
        return Int((last.time - first.time) * Double(max(0, total - done)) / Double(last.done - first.done))
    }
}

/// Why indexing waits; it goes on when the reason is gone.
public enum Pause: Sendable, Equatable {
    case battery, heat

    /// `saves`: whether the phone saves its battery (Low Power Mode).
    public static func of(saves: Bool, isHot: Bool) -> Pause? { isHot ? .heat : saves ? .battery : nil }
}
