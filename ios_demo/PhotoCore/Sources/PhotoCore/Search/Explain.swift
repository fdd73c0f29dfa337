import Foundation

/// Cues and cubes as lines of text, for the trace (runtime/search/explain.py).
public enum Explain {
    /// "2011-04-25", or "…" for an open end.
    public static func day(_ ms: Int?) -> String {
        guard let ms, let date = try? CueCalendar.date(floorDiv(ms, CueCalendar.dayMs) + CueCalendar.epoch) else { return "…" }
        return String(format: "%04d-%02d-%02d", date.year, date.month, date.day)
    }

    public static func cueLines(_ cues: Cues) -> [String] {
        func quoted(_ text: String) -> String { text.scalars.quoted }
        var lines = cues.times.map { "time \(quoted($0.text))" } + cues.places.map { "place \(quoted($0.text)) = \($0.name)" }
        lines += cues.recurring.map { "often \(quoted($0.text))" } + cues.anchors.map { "event not found \(quoted($0.text))" }
        return lines + cues.negatedTimes.map { "not \(quoted($0.text))" } + cues.negatedPlaces.map { "not \(quoted($0.text))" }
    }

    public static func cubeLines(_ cues: Cues) -> [String] {
        var out = cues.cubes.prefix(4).map { cube -> String in
            let when = cube.hasTime ? "\(day(cube.start)) to \(day(cube.end))" : "any time"
            let place = cube.hasPlace
                ? String(format: "%.2f…%.2f N, %.2f…%.2f E", cube.south ?? 0, cube.north ?? 0, cube.west ?? 0, cube.east ?? 0) : "anywhere"
            return "\(when), \(place)"
        }
        if cues.cubes.count > 4 { out.append("and \(cues.cubes.count - 4) more") }
        return out
    }
}
